// Which nodes of other graphs a selected node corresponds to, for graphs that bring no sync sets of their own.

import { plainText, sceneOf } from "./jsonscene.js";
import { builder } from "../page/dom.js";
import { HostEvents } from "./layout.js";
import { themeNamed } from "./themes.js";
import { GraphModel } from "./graphjson.js";
import { BASE, LayerSet } from "./layers.js";
import { selectionOf } from "../scene/selection.js";

const MODES = ["auto", "id", "layer", "none"];
const QUANTIZE = [/dequantize/i, /quantize|activation_post_process/i];

/**
 * @typedef {{mode: "auto"|"id"|"layer"|"none", layer?: string, field?: string}} SyncMode
 * @typedef {{place: number, primary: boolean}} Match place: in its model's nodes
 */

/** @param {any} given @returns {SyncMode} @throws {RangeError} where it is none, or a layer's without layer and field */
export function syncMode(given) {
  const { mode = "auto", layer = "", field = "" } = given ?? {};
  if (!MODES.includes(mode)) throw new RangeError(`no sync mode ${mode}; there are ${MODES.join(", ")}`);
  if (mode === "layer" && (!layer || !field)) throw new RangeError("sync mode layer needs layer and field");
  return { mode, layer, field };
}

export class Matcher {
  #indexes = new Map();

  /** @param {import("./graphjson.js").GraphModel[]} models @param {SyncMode} sync */
  constructor(models, sync) {
    Object.assign(this, { models, sync });
  }

  /** After layers have changed. */
  forget() {
    this.#indexes.clear();
  }

  /** @param {number} from model @param {number} place of a node in it @param {number} to another model @returns {Match[]} */
  matches(from, place, to) {
    for (const keysOf of this.#ways()) {
      const keys = keysOf(this.models[from], place);
      const index = keys.length ? this.#index(to, keysOf) : null;
      const found = [...new Set(keys.flatMap((key) => index.get(key) ?? []))];
      if (found.length) return this.#ranked(from, place, to, found);
    }
    return [];
  }

  /** What two nodes must share a key of; the first that finds something counts. */
  #ways() {
    const { mode } = this.sync;
    if (mode === "auto") return [rootKeys, handleKeys, idKeys];
    if (mode === "id") return [idKeys];
    return mode === "layer" ? [this.#layerKeys] : [];
  }

  #layerKeys = (model, place) => valueKeys(model.said(this.sync.layer, place)?.info?.[this.sync.field]);

  /** @returns {Map<string, number[]>} places by key */
  #index(number, keysOf) {
    const indexes = this.#indexes.get(keysOf) ?? this.#indexes.set(keysOf, new Map()).get(keysOf);
    if (indexes.has(number)) return indexes.get(number);
    const out = new Map();
    for (let place = 0; place < this.models[number].nodes.length; place++)
      for (const key of keysOf(this.models[number], place)) {
        if (!out.has(key)) out.set(key, []);
        out.get(key).push(place);
      }
    indexes.set(number, out);
    return out;
  }

  /** The last in order is primary; of quantisers and others, the last of the selected node's own kind. */
  #ranked(from, place, to, found) {
    const { nodes } = this.models[to];
    const kind = kindOf(this.models[from].nodes[place]);
    const sorted = found.sort((a, b) => nodes[a].topo - nodes[b].topo || a - b);
    const primary = sorted.findLast((one) => kindOf(nodes[one]) === kind) ?? sorted.at(-1);
    return sorted.map((one) => ({ place: one, primary: one === primary }));
  }
}

function kindOf({ info }) {
  return QUANTIZE.findIndex((pattern) => pattern.test(String(info.target ?? "")));
}

function rootKeys(model, place) {
  return valueKeys(model.nodes[place].info.from_node_root);
}

function handleKeys(model, place) {
  const handle = model.nodes[place].info.debug_handle;
  return (Array.isArray(handle) ? handle : [handle]).filter((one) => Number.isInteger(one) && one !== 0).map(String);
}

function idKeys(model, place) {
  return [model.nodes[place].id];
}

/** @returns {string[]} of a list one per item, so that lists match by what they share */
function valueKeys(value) {
  if (value === null || value === undefined || value === "") return [];
  return (Array.isArray(value) ? value : [value]).map((one) => `${typeof one} ${plainText(one)}`);
}

/** Follows sync sets: what a click on a node shows is one of them. */
export class SetMatcher {
  /**
   * @param {import("./graphjson.js").GraphModel[]} models @param {any[]} sets lists of `[number of the model, id, primary]`
   * @param {any[]} focus by model: id to the number of its set
   */
  constructor(models, sets, focus) {
    this.models = models;
    this.sets = sets.map((set) => (Array.isArray(set) ? set : []).flatMap((member) => memberOf(models, member)));
    /** @type {Map<number, number>[]} */
    this.focus = models.map(() => new Map());
    for (const [number, set] of this.sets.entries())
      for (const { model, place } of set) if (!this.focus[model].has(place)) this.focus[model].set(place, number);
    for (const [model, shown] of focus.entries())
      for (const [id, number] of Object.entries(models[model] ? (shown ?? {}) : {})) {
        const place = models[model].place(id);
        if (place >= 0 && Number.isInteger(number) && this.sets[number]) this.focus[model].set(place, number);
      }
  }

  forget() {}

  /** @param {number} from model @param {number} place of a node in it @param {number} to another model @returns {Match[]} */
  matches(from, place, to) {
    const set = this.sets[this.focus[from].get(place)] ?? [];
    return set.filter(({ model }) => model === to).map(({ place: at, primary }) => ({ place: at, primary }));
  }
}

function memberOf(models, member) {
  const [model, id, primary] = Array.isArray(member) ? member : [];
  const place = Number.isInteger(model) ? (models[model]?.place(id) ?? -1) : -1;
  return place < 0 ? [] : [{ model, place, primary: primary === true }];
}

/** Counterparts of a scene's nodes by a matcher, in the scene's numbers. */
export class SceneSync {
  /** @param {import("./layers.js").Part[]} parts @param {Matcher} matcher */
  constructor(parts, matcher) {
    Object.assign(this, { parts, matcher });
  }

  /** @param {number} node @returns {{node: number, primary: boolean}[]} all but itself */
  membersOf(node) {
    const from = this.parts.findIndex(({ end }) => node < end);
    const place = node - this.parts[from].first;
    return this.parts.flatMap(({ first }, to) =>
      to === from
        ? []
        : this.matcher.matches(from, place, to).map((match) => ({ node: first + match.place, primary: match.primary })),
    );
  }
}

// Panes of a host's own making, beside graphs in a compare: a list, a table, a chart of the same nodes.


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
