// What an embedding page asks for, completed: a slot decides where a part stands, `layout` what is shown, the preset
// fills in what neither says.

import { isObject } from "./graphjson.js";

export const PRESETS = ["split", "compact", "headless", "custom"];
export const SLOT_NAMES = ["canvas", "toolbar", "info", "minimap", "legend"];
const PANELS = {
  sidebar: { visible: true, width: 500, resizable: true, collapsible: true },
  info: { visible: true },
  minimap: { visible: true, height: 240, resizable: true },
  legend: { visible: true },
};
const CONTROLS = {
  ...{ toolbar: true, search: true, layers: true, colorBy: true, theme: true, legend: true, zoomButtons: true },
  ...{ fullscreenButton: false, highlightButton: true, clearSelection: true, minimapToggle: false },
};
const HEADLESS_OFF = ["toolbar", "search", "layers", "colorBy", "theme", "legend"];

/**
 * @typedef {{preset: string, panels: Record<"sidebar"|"info"|"minimap"|"legend", Record<string, any>>,
 *   fullscreen: {enabled: boolean, button: boolean}}} Layout
 * @typedef {Record<string, boolean>} Controls
 */

/**
 * @param {any} layout as the host gives it @param {string[]} slots names of those that are given
 * @returns {Layout} @throws {RangeError} where the preset is unknown
 */
export function layoutOf(layout, slots) {
  const given = isObject(layout) ? layout : {};
  const preset = String(given.preset ?? "split").toLowerCase();
  if (!PRESETS.includes(preset)) throw new RangeError(`no preset ${preset}; there are ${PRESETS.join(", ")}`);
  const shown = preset === "split";
  const asked = ["info", "minimap"].some((name) => given.panels?.[name]?.visible === true && !slots.includes(name));
  const panels = merged(PANELS, {
    sidebar: { visible: shown || asked },
    info: { visible: shown || slots.includes("info") },
    minimap: { visible: shown || slots.includes("minimap") },
    legend: { visible: preset !== "headless" || slots.includes("legend") },
  });
  const out = merged({ preset, panels, fullscreen: { enabled: true, button: false } }, { ...given, preset });
  useSize(out.panels, "sidebar", "width");
  useSize(out.panels, "minimap", "height");
  return out;
}

/** Gives a panel its default size where it has none that can be. */
function useSize(panels, name, side) {
  const panel = panels[name];
  if (!Number.isFinite(panel[side]) || panel[side] <= 0) panel[side] = PANELS[name][side];
}

/** @param {any} ui as the host gives it @param {Layout} layout @param {string[]} slots @returns {Controls} */
export function controlsOf(ui, layout, slots) {
  const off = layout.preset === "headless" ? HEADLESS_OFF : [];
  const byPreset = Object.fromEntries(off.map((name) => [name, false]));
  if (slots.includes("toolbar")) for (const name of off) if (name !== "legend") byPreset[name] = true;
  if (layout.panels.legend.visible) delete byPreset.legend;
  return merged({ ...CONTROLS, ...byPreset, fullscreenButton: layout.fullscreen.button === true }, ui?.controls);
}

/**
 * @param {Record<string, any>} base @param {any} patch @returns {any} a new object; lists and plain values are replaced,
 *   objects by objects alone; `undefined` says nothing
 */
export function merged(base, patch) {
  const out = { ...base };
  for (const [key, value] of Object.entries(isObject(patch) ? patch : {})) {
    if (value === undefined || key === "__proto__") continue;
    if (!isObject(base[key])) out[key] = value;
    else if (isObject(value)) out[key] = merged(base[key], value);
  }
  return out;
}

/**
 * @param {any} mount as the host gives it @param {Document} document
 * @returns {{place: Element|null, slots: Record<string, Element>}} where the viewer stands, and the parts that stand elsewhere
 */
export function placesOf(mount, document) {
  const given = Object.entries(mount?.slots ?? {}).filter(([name, ref]) => SLOT_NAMES.includes(name) && ref);
  const slots = Object.fromEntries(given.map(([name, ref]) => [name, elementOf(ref, document)]));
  const place = elementOf(mount?.root, document);
  if (!place && !slots.canvas) throw new TypeError("FXGraphViewer needs mount.root, or a slot for its canvas");
  return { place, slots };
}

/**
 * @param {any} ref an element, a selector, or an id @param {Document} document
 * @returns {Element|null} null where nothing was asked for @throws {RangeError} where there is no such element
 */
export function elementOf(ref, document) {
  if (ref === null || ref === undefined) return null;
  if (typeof ref !== "string") {
    if (ref.nodeType === 1) return ref;
    throw new TypeError("a place on the page is an element, a selector or an id");
  }
  const found = document.getElementById(ref) ?? selected(ref, document);
  if (!found) throw new RangeError(`no element ${ref} on this page`);
  return found;
}

function selected(selector, document) {
  try {
    return document.querySelector(selector);
  } catch {
    return null;
  }
}

// The state of an embedded viewer as a host sees it, and who is told when it changes.


const WATCHED = [
  ...["selectedNodeId", "theme", "activeExtensions", "colorBy", "searchQuery", "highlightAncestors"],
  ...["uiVisibility", "highlightGroups"],
];

/** @param {import("./viewer.js").FXGraphViewer} viewer @returns {any} a copy */
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

// Events for a host: each carries its name and time, and a listener that fails disturbs neither the viewer nor the others.

export class HostEvents {
  #byName = new Map();

  /** @param {string} event @param {(detail: any) => void} listener @returns {() => void} takes it off again */
  on(event, listener) {
    if (typeof listener !== "function") throw new TypeError(`the listener of ${event} is no function`);
    if (!this.#byName.has(event)) this.#byName.set(event, new Set());
    this.#byName.get(event).add(listener);
    return () => this.off(event, listener);
  }

  /** @param {string} event @param {(detail: any) => void} listener */
  off(event, listener) {
    this.#byName.get(event)?.delete(listener);
  }

  /** @param {string} event @param {Record<string, any>} detail */
  tell(event, detail) {
    for (const listener of [...(this.#byName.get(event) ?? [])]) {
      try {
        listener({ type: event, timestamp: Date.now(), ...detail });
      } catch (error) {
        globalThis.reportError?.(error);
      }
    }
  }

  silence() {
    this.#byName.clear();
  }
}
