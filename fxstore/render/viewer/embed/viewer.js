// One graph in someone else's page, with the API of the fx_viewer RFC.

import { centred, opening } from "../paint/viewport.js";
import { PaneCompare } from "../panes/compare.js";
import { colorReader } from "../paint/themes.js";
import { builder } from "../page/dom.js";
import {
  ChangeTeller,
  controlsOf,
  HostEvents,
  layoutOf,
  merged,
  placesOf,
  stateOf,
} from "./layout.js";
import { EmbedShell } from "./shell.js";
import { registerTheme, themeNamed, themeNames } from "./themes.js";
import { GraphModel, isObject } from "./graphjson.js";
import { HighlightGroups } from "../paint/marks.js";
import { sceneOf } from "./jsonscene.js";
import { LayerColorings } from "./layercolors.js";
import { BASE, LayerSet } from "./layers.js";
import { selectionOf } from "../scene/selection.js";

// Where an embedded viewer looks, in the terms of its host: pixels that the picture is moved by, and its scale.


/**
 * @typedef {import("../panes/viewer.js").PaneViewer} Pane
 */

/** @param {Pane} pane @param {{x?: number, y?: number, k?: number}} camera what it does not say stays */
export function useCamera(pane, { x, y, k }) {
  if (!pane.view) return;
  const scale = Number.isFinite(k) && k > 0 ? k : pane.view.scale;
  const at = (given, own) => (Number.isFinite(given) ? -given / scale : own);
  pane.setView({ x: at(x, pane.view.x), y: at(y, pane.view.y), scale });
}

/** @param {Pane} pane @param {number} node @param {number|undefined} k the present scale where it is none @param {boolean} animate */
export function centerOn(pane, node, k, animate) {
  if (!pane.view) return void pane.reveal(node, { least: k ?? 0 });
  const scale = Number.isFinite(k) && k > 0 ? k : pane.view.scale;
  pane.goTo(centred(pane.scene.x[node], pane.scene.y[node], scale, pane.size), animate);
}

/** Takes the canvas's size as it is, without waiting for the browser to tell it. @param {Pane} pane */
export function takeSize(pane) {
  pane.resize({ width: pane.canvas.clientWidth, height: pane.canvas.clientHeight });
}

/** @type {WeakMap<Element, FXGraphViewer>} */
const MOUNTED = new WeakMap();
const NEUTRAL = {
  ...{ theme: "light", activeExtensions: [], colorBy: BASE, highlightAncestors: true },
  ...{ selectedNodeId: null, searchQuery: "" },
};

export class FXGraphViewer {
  #events = new HostEvents();
  #teller = new ChangeTeller({
    state: () => this.getState(),
    changed: (state) => this.#showControls(state),
    tell: (event, detail) => this.#events.tell(event, detail),
  });

  /** @param {any} config `{payload, mount, layout, ui, state}` */
  static create(config) {
    return new FXGraphViewer(config);
  }

  /** @param {string} name @param {any} tokens */
  static registerTheme(name, tokens) {
    registerTheme(name, tokens);
  }

  /** @param {any} config as `create` takes it, or the place to mount at @param {any} [payload] in the second case */
  constructor(config, payload) {
    const given = isObject(config) && "payload" in config ? config : { payload, mount: { root: config } };
    if (!given.payload) throw new TypeError("FXGraphViewer needs a payload");
    const { document } = globalThis;
    Object.assign(this, placesOf(given.mount, document));
    this.givenLayout = given.layout ?? {};
    this.layout = layoutOf(this.givenLayout, Object.keys(this.slots));
    this.controls = controlsOf(given.ui, this.layout, Object.keys(this.slots));
    this.title = String(given.title ?? "");
    this.#read(given.payload, document);
    MOUNTED.get(this.place)?.destroy();
    if (this.place) MOUNTED.set(this.place, this);
    this.theme = themeNamed("light");
    this.highlights = true;
    this.colorBy = BASE;
    this.shell = new EmbedShell(builder(document), this);
    this.core = PaneCompare.create({ scene: this.scene, viewers: [this.shell.pane], colorings: this.colorings });
    this.groups = new HighlightGroups(this.shell.pane, this.model);
    this.shell.furnish();
    this.#listen();
    try {
      this.#change("system", () => this.#replace(given.state));
    } catch (error) {
      this.destroy();
      throw error;
    }
    this.shell.apply();
  }

  #read(payload, document) {
    this.model = new GraphModel(payload);
    this.layers = new LayerSet([this.model]);
    this.layers.colorOf = colorReader(document.createElement("canvas").getContext("2d"));
    this.scene = sceneOf([{ name: this.title, model: this.model }]);
    this.scene.layers = this.layers;
    this.colorings = new LayerColorings(this.scene, this.layers);
  }

  #listen() {
    const { core } = this;
    core.on("selectionchange", (selection) => {
      if (selection && this.highlights) this.#reach(Infinity);
      this.#teller.settle("ui");
    });
    core.on("searchchange", ({ query }) => {
      this.query = query;
      this.#teller.settle("ui");
    });
    core.on("hover", ({ node }) => {
      const id = this.#idOf(node);
      if (id === this.hovered) return;
      this.hovered = id;
      this.#events.tell("hover", { nodeId: id, source: "ui" });
    });
  }

  #idOf(node) {
    return this.model.nodes[node]?.id ?? null;
  }

  #reach(hops) {
    this.core.showReach("up", hops);
    this.core.showReach("down", hops);
  }

  /** @returns {any} a copy: what is selected, found, shown and how */
  getState() {
    return stateOf(this);
  }

  /** @param {any} patch what of the state changes @param {{source?: string}} [options] */
  setState(patch, { source = "api" } = {}) {
    if (isObject(patch)) this.#change(source, () => this.#apply(patch));
  }

  /** @param {any} next what it does not say gets its default @param {{source?: string}} [options] */
  replaceState(next, { source = "api" } = {}) {
    this.#change(source, () => this.#replace(next));
  }

  #replace(next) {
    this.#apply(NEUTRAL);
    if (isObject(next)) this.#apply(next);
  }

  /** Runs changes that are told to listeners as one. @param {() => void} changes */
  batch(changes) {
    this.#change("api", changes);
  }

  #change(source, changes) {
    if (!this.destroyed) this.#teller.during(source, changes);
  }

  /** Brings the toolbar up to what it shows of the state, where that has changed. */
  #showControls({ theme, activeExtensions, colorBy, highlightAncestors, uiVisibility }) {
    const shown = [theme, activeExtensions, colorBy, highlightAncestors, uiVisibility, this.layers.version];
    const key = JSON.stringify(shown);
    if (key !== this.shownControls) this.shell.refresh();
    this.shownControls = key;
  }

  #apply(patch) {
    const theme = patch.theme ?? patch.themeName;
    if (theme !== undefined) this.#useTheme(theme);
    if (patch.activeExtensions !== undefined) this.layers.setActive(patch.activeExtensions);
    if (patch.colorBy !== undefined) this.colorBy = String(patch.colorBy ?? BASE);
    if (patch.activeExtensions !== undefined || patch.colorBy !== undefined) this.#repaint();
    if (patch.highlightAncestors !== undefined) this.#useHighlight(patch.highlightAncestors !== false);
    if (typeof patch.searchQuery === "string") this.core.search(patch.searchQuery);
    if (patch.selectedNodeId === null) this.core.clearSelection();
    else if (patch.selectedNodeId !== undefined) this.#select(patch.selectedNodeId, {});
    if (isObject(patch.camera)) useCamera(this.shell.pane, patch.camera);
    if (isObject(patch.uiVisibility)) this.controls = merged(this.controls, patch.uiVisibility);
  }

  #useTheme(name) {
    const theme = themeNamed(name);
    if (!theme) throw this.#fail(new RangeError(`no theme ${name}; there are ${themeNames().join(", ")}`));
    this.theme = theme;
    this.shell.setTheme(theme);
    this.core.setTheme(theme);
    this.shell.showLegend();
  }

  #useHighlight(on) {
    this.highlights = on;
    if (this.core.selection) this.#reach(on ? Infinity : 0);
  }

  /** Shows layers as they are now. */
  #repaint() {
    this.colorings.refresh();
    this.core.setColorBy(this.colorings.indexOf(this.colorBy));
    this.shell.pane.relayout();
    this.shell.showDetails();
    this.shell.showLegend();
  }

  /** @returns {Error} the error, after the host has been told */
  #fail(error) {
    this.#events.tell("error", { error, source: "api" });
    return error;
  }

  /** @returns {number} the node's place, or -1 after the host has been told that there is none */
  #known(id) {
    const place = this.model.place(id);
    if (place < 0) this.#fail(new RangeError(`no node ${JSON.stringify(id)} in this graph`));
    return place;
  }

  /** @param {string} id @param {{animate?: boolean, center?: boolean, k?: number}} [options] */
  selectNode(id, options = {}) {
    this.#change("api", () => this.#select(id, options));
  }

  #select(id, { animate = false, center = true, k }) {
    const place = this.#known(id);
    if (place < 0) return;
    this.core.select(selectionOf(this.scene, place), { reveal: false });
    if (center) centerOn(this.shell.pane, place, k, animate);
  }

  /**
   * Shows what corresponds to a node of another viewer, as a compare view has found out.
   * @param {import("./sync.js").Match[]} matches
   */
  showMatches(matches) {
    this.#change("sync", () => {
      if (!matches.length) return this.core.clearSelection();
      const members = matches.map(({ place, primary }) => ({ node: place, primary }));
      members.sort((a, b) => Number(b.primary) - Number(a.primary) || a.node - b.node);
      const node = members[0].node;
      const all = new Map(members.map((member) => [member.node, member.primary]));
      const selection = { node, members: all, shares: [{ pane: 0, members, lead: node, reason: null }] };
      this.core.select(selection, { marks: { ...selection, node: -1 } });
    });
  }

  clearSelection() {
    this.#change("api", () => this.core.clearSelection());
  }

  /** @param {string} query @returns {string[]} ids of what was found, in order */
  search(query) {
    this.#change("api", () => this.core.search(String(query ?? "")));
    return this.core.found.nodes.map((node) => this.#idOf(node));
  }

  /** @param {string} id */
  panToNode(id) {
    const place = this.#known(id);
    if (place >= 0) centerOn(this.shell.pane, place, undefined, false);
  }

  /** @param {string} id @param {{k?: number}} [options] */
  animateToNode(id, { k } = {}) {
    const place = this.#known(id);
    if (place >= 0) centerOn(this.shell.pane, place, k, true);
  }

  zoomToFit() {
    if (this.shell.pane.view) this.shell.pane.zoomToFit();
  }

  /** Moves to where a graph opens: all of it, or its top where all of it would be too small. */
  init() {
    const { pane } = this.shell;
    takeSize(pane);
    if (pane.view && !this.core.selection) pane.setView(opening(pane.pane.extent, pane.size));
    this.renderAll();
    return this;
  }

  renderAll() {
    takeSize(this.shell.pane);
    this.shell.pane.relayout();
  }

  /** @param {string} name */
  setTheme(name) {
    this.setState({ theme: name });
  }

  /** @param {string[]} ids */
  setLayers(ids) {
    this.setState({ activeExtensions: ids ?? [] });
  }

  /** @param {string} id a layer's, or `base` */
  setColorBy(id) {
    this.setState({ colorBy: id || BASE });
  }

  /** @param {Partial<import("./layout.js").Controls>} flags */
  setUIVisibility(flags) {
    this.setState({ uiVisibility: flags ?? {} });
    this.shell.apply();
  }

  /** @param {any} patch of the layout as `create` takes it @param {{source?: string}} [options] */
  setLayout(patch, { source = "api" } = {}) {
    if (this.destroyed) return;
    const prevState = this.getState();
    const given = merged(this.givenLayout, patch);
    this.layout = layoutOf(given, Object.keys(this.slots));
    this.givenLayout = given;
    if (isObject(patch?.fullscreen) && "button" in patch.fullscreen)
      this.controls = { ...this.controls, fullscreenButton: patch.fullscreen.button === true };
    this.shell.apply();
    this.#events.tell("layoutchange", { prevState, nextState: this.getState(), source });
  }

  toggleMinimap() {
    this.setLayout({ panels: { minimap: { visible: !this.layout.panels.minimap.visible } } }, { source: "ui" });
  }

  /** @returns {Promise<void>} */
  enterFullscreen() {
    const { host } = this.shell;
    return this.layout.fullscreen.enabled && host.isConnected ? host.requestFullscreen() : Promise.resolve();
  }

  /** @returns {Promise<void>} */
  exitFullscreen() {
    const { document } = globalThis;
    return document.fullscreenElement ? document.exitFullscreen() : Promise.resolve();
  }

  toggleFullscreen() {
    const change = globalThis.document.fullscreenElement ? this.exitFullscreen() : this.enterFullscreen();
    change.catch((error) => this.#fail(error));
  }

  /** @param {string} id @param {any} layer `{name, legend, nodes}` */
  upsertLayer(id, layer) {
    this.#mutate(() => this.layers.upsert(id, layer));
  }

  /** @param {string} id */
  removeLayer(id) {
    this.#mutate(() => {
      this.layers.remove(id);
      if (this.colorBy === id) this.colorBy = BASE;
    });
  }

  /** @param {string} id @param {Record<string, any>} patch node id to what is new of `info`, `tooltip`, `label_append`, `fill_color` */
  patchLayerNodes(id, patch) {
    this.#mutate(() => this.layers.patch(id, patch));
  }

  /** @param {string} id @param {string} label */
  setLayerLabel(id, label) {
    this.#mutate(() => this.layers.rename(id, label));
  }

  /** @param {string} id @param {any} rule `(said, nodeId) => colour`, or `{type: "threshold", field, thresholds}` */
  setColorRule(id, rule) {
    this.#mutate(() => this.layers.recolor(id, rule));
  }

  #mutate(changes) {
    this.#change("api", () => {
      changes();
      this.#repaint();
    });
  }

  /** @param {string} id @param {Iterable<string>} ids of nodes; unknown ones are left out @param {string} [color] */
  addHighlightGroup(id, ids, color) {
    this.#change("api", () => this.groups.add(id, ids, this.layers.colorOf(color)));
  }

  /** @param {string} id */
  removeHighlightGroup(id) {
    this.#change("api", () => this.groups.remove(id));
  }

  clearAllHighlightGroups() {
    this.#change("api", () => this.groups.clear());
  }

  /** @returns {Map<string, {nodeIds: string[], color: string}>} */
  getHighlightGroups() {
    return this.groups.all();
  }

  /** @param {string} event @param {(event: any) => void} listener @returns {() => void} takes it off again */
  on(event, listener) {
    return this.#events.on(event, listener);
  }

  /** @param {string} event @param {(event: any) => void} listener */
  off(event, listener) {
    this.#events.off(event, listener);
  }

  destroy() {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#events.silence();
    this.core.destroy();
    this.shell.destroy();
    if (MOUNTED.get(this.place) === this) MOUNTED.delete(this.place);
  }
}
