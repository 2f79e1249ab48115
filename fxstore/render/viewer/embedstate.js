// The state of an embedded viewer as a host sees it, and who is told when it changes.

import { merged } from "./embedlayout.js";

const WATCHED = [
  ...["selectedNodeId", "theme", "activeExtensions", "colorBy", "searchQuery", "highlightAncestors"],
  ...["uiVisibility", "highlightGroups"],
];

/** @param {import("./embedviewer.js").FXGraphViewer} viewer @returns {any} a copy */
export function stateOf(viewer) {
  const { core, shell, layers, model, theme } = viewer;
  const { view } = shell.pane;
  const idOf = (node) => model.nodes[node]?.id ?? null;
  return {
    selectedNodeId: core.selection ? idOf(core.selection.node) : null,
    hoveredNodeId: viewer.hovered ?? null,
    theme: theme.name,
    themeName: theme.name,
    activeExtensions: [...layers.active],
    colorBy: viewer.colorBy,
    highlightAncestors: viewer.highlights,
    searchQuery: viewer.query ?? "",
    searchCandidates: core.found.nodes.map(idOf),
    camera: view && { x: -view.x * view.scale, y: -view.y * view.scale, k: view.scale },
    uiVisibility: { ...viewer.controls },
    highlightGroups: Object.fromEntries(viewer.getHighlightGroups()),
    layout: merged(viewer.layout, {}),
    layoutState: shell.sizes(),
  };
}

/** Tells what has changed since it was told last; changes made together are told as one. */
export class ChangeTeller {
  #depth = 0;
  #last = null;

  /** @param {{state: () => any, changed: (next: any) => void, tell: (event: string, detail: any) => void}} viewer */
  constructor(viewer) {
    this.viewer = viewer;
  }

  /** @param {string} source `api`, `ui`, `sync` or `system` @param {() => void} changes */
  during(source, changes) {
    this.#depth++;
    try {
      changes();
    } finally {
      this.#depth--;
      this.settle(source);
    }
  }

  /** @param {string} source */
  settle(source) {
    if (this.#depth) return;
    const [prev, next] = [this.#last, this.viewer.state()];
    this.#last = next;
    this.viewer.changed(next);
    if (!prev || WATCHED.every((key) => JSON.stringify(prev[key]) === JSON.stringify(next[key]))) return;
    const states = { prevState: prev, nextState: next, source };
    const { tell } = this.viewer;
    tell("statechange", states);
    const [was, is] = [prev.selectedNodeId, next.selectedNodeId];
    const selection = { nodeId: is, prevNodeId: was, prevSelection: was, nextSelection: is };
    if (was !== is) tell("selectionchange", { ...selection, ...states });
    if (prev.theme !== next.theme) tell("themechange", { prevTheme: prev.theme, nextTheme: next.theme, ...states });
  }
}
