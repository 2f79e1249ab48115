// Panes of a host's own making, beside graphs in a compare: a list, a table, a chart of the same nodes.

import { builder } from "./dom.js";
import { HostEvents } from "./embedevents.js";
import { themeNamed } from "./embedthemes.js";
import { GraphModel } from "./graphjson.js";
import { sceneOf } from "./jsonscene.js";
import { BASE, LayerSet } from "./layers.js";
import { selectionOf } from "./selection.js";

/**
 * @typedef {{root: HTMLElement, payload: any, select: (id: string|null) => void}} PaneSite root: where to build; select: to
 *   be called when the user chooses a node there
 * @typedef {{show: (ids: string[], primary: string|null) => void, setState?: (patch: any) => void, zoomToFit?: () => void,
 *   destroy?: () => void}} OwnPane show: which of its nodes are selected, and the one that stands for all; none: nothing
 */

/** @type {Map<string, (site: PaneSite) => OwnPane>} */
const PANE_TYPES = new Map();

/** @param {string} type @param {(site: PaneSite) => OwnPane} create */
export function registerPaneType(type, create) {
  if (typeof type !== "string" || !type || typeof create !== "function")
    throw new TypeError("registerPaneType needs a name and a function that builds a pane");
  PANE_TYPES.set(type, create);
}

/** What a compare needs of a viewer, around a pane of a host's own. */
export class HostPane {
  #events = new HostEvents();

  /** @param {{type: string, name?: string, payload: any}} config @param {Document} document */
  constructor({ type, name = "", payload }, document) {
    const create = PANE_TYPES.get(type);
    if (!create)
      throw new RangeError(`no pane type ${type}; registered are: ${[...PANE_TYPES.keys()].join(", ") || "none"}`);
    const h = builder(document);
    this.title = name;
    this.model = new GraphModel(payload);
    this.layers = new LayerSet([this.model]);
    this.scene = Object.assign(sceneOf([{ name, model: this.model }]), { layers: this.layers });
    this.core = { selection: null };
    Object.assign(this, { theme: themeNamed("light"), colorBy: BASE, controls: {} });
    this.layout = { panels: { minimap: { visible: false } } };
    this.shell = { main: h("div", { class: "fx-embed-own" }), map: h("div"), own: null, apply() {} };
    const select = (id) => this.#use(id === null ? null : this.model.place(id), "ui");
    this.pane = create({ root: this.shell.main, payload, select });
  }

  getState() {
    const { selection } = this.core;
    return { selectedNodeId: selection ? this.model.nodes[selection.node].id : null };
  }

  #use(place, source, matches = null) {
    const prevNodeId = this.getState().selectedNodeId;
    const chosen = place !== null && place >= 0;
    this.core.selection = chosen ? selectionOf(this.scene, place) : null;
    const { selectedNodeId: nodeId } = this.getState();
    const ids = matches?.map((match) => this.model.nodes[match.place].id) ?? (chosen ? [nodeId] : []);
    this.pane.show(ids, nodeId);
    if (nodeId !== prevNodeId) this.#events.tell("selectionchange", { nodeId, prevNodeId, source });
  }

  /** @param {import("./sync.js").Match[]} matches */
  showMatches(matches) {
    const primary = matches.find((match) => match.primary) ?? matches[0];
    this.#use(primary ? primary.place : null, "sync", matches);
  }

  /** @param {string} id */
  selectNode(id) {
    this.#use(this.model.place(id), "api");
  }

  setState(patch) {
    this.pane.setState?.(patch);
  }

  setTheme(name) {
    this.theme = themeNamed(name) ?? this.theme;
    this.pane.setState?.({ theme: name });
  }

  zoomToFit() {
    this.pane.zoomToFit?.();
  }

  on(event, listener) {
    return this.#events.on(event, listener);
  }

  destroy() {
    this.destroyed = true;
    this.pane.destroy?.();
  }
}
