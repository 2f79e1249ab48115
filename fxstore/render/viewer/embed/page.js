// A page, or a part of one, made from a JSON payload: the compare view with the payload's layers.

import { PageApp } from "../page/app.js";
import { colorReader } from "../paint/themes.js";
import { builder } from "../page/dom.js";
import { GraphModel, isCompare, readCompare } from "./graphjson.js";
import { sceneOf } from "./jsonscene.js";
import { LayerColorings } from "./layercolors.js";
import { LayerMenu, SyncSelect } from "../panels/layermenu.js";
import { LayerSet } from "./layers.js";
import { Matcher, SceneSync, syncMode } from "./sync.js";

export class PayloadPage {
  /**
   * @param {HTMLElement} root @param {any} payload of a graph or several @param {{alone?: boolean, title?: string}} [options]
   *   alone: whether the page is its own; title: where the payload has none
   */
  constructor(root, payload, { alone = false, title = "" } = {}) {
    const document = root.ownerDocument;
    this.several = isCompare(payload);
    const read = this.several ? readCompare(payload) : single(payload, title);
    this.given = { ...read, title: read.title || title };
    this.sync = syncMode(read.sync);
    this.models = read.viewers.map(({ model }) => model);
    this.layers = new LayerSet(this.models);
    this.layers.colorOf = colorReader(document.createElement("canvas").getContext("2d"));
    this.layers.setActive(read.state.activeExtensions);
    this.scene = sceneOf(read.viewers, this.given);
    this.scene.layers = this.layers;
    this.#useSync();
    this.colorings = new LayerColorings(this.scene, this.layers);
    const h = builder(document);
    this.menu = new LayerMenu(h, {
      names: () => this.layers.names(),
      active: () => this.layers.active,
      change: (ids) => this.setLayers(ids),
    });
    this.select = new SyncSelect(
      h,
      () => this.layers.syncKeys(),
      (sync) => this.setSync(sync),
    );
    this.select.root.hidden = this.models.length < 2;
    this.select.show(this.sync);
    const { colorings } = this;
    this.app = new PageApp(root, this.scene, alone, { colorings, tools: () => [this.menu.root, this.select.root] });
    this.setColorBy(read.state.colorBy);
  }

  #useSync() {
    const own = this.sync.mode === "auto" && this.given.sets.length;
    this.scene.sync = own ? null : new SceneSync(this.layers.parts, new Matcher(this.models, this.sync));
  }

  /** @param {string[]} ids */
  setLayers(ids) {
    this.layers.setActive(ids);
    this.menu.refresh();
    for (const viewer of this.app.compare.viewers) viewer.relayout();
    this.app.showDetails();
  }

  /** @param {string|null} id a layer's, or `base` */
  setColorBy(id) {
    this.app.compare.setColorBy(this.colorings.indexOf(id));
  }

  /** @param {any} patch `{mode, layer, field}` */
  setSync(patch) {
    this.sync = syncMode({ ...this.sync, ...patch });
    this.#useSync();
    this.select.show(this.sync);
    const { selection } = this.app.compare;
    if (selection) this.app.compare.selectNode(selection.node);
  }

  /** @param {number} pane @param {string} id */
  selectNode(pane, id) {
    const place = this.models[pane]?.place(id) ?? -1;
    if (place < 0) throw new RangeError(`no node ${JSON.stringify(id)} in pane ${pane}`);
    this.app.compare.selectNode(this.layers.parts[pane].first + place);
  }

  /** @returns {{pane: number, id: string}[]} the selected node and what corresponds to it */
  selected() {
    const { selection } = this.app.compare;
    if (!selection) return [];
    return selection.shares.flatMap(({ pane, members }) =>
      members.map(({ node }) => ({ pane, id: this.layers.at(node)[1].id })),
    );
  }

  destroy() {
    this.app.destroy();
  }
}

function single(payload, title) {
  const model = new GraphModel(payload);
  return {
    title,
    viewers: [{ name: title, model }],
    sync: { mode: "none" },
    sets: [],
    focus: [],
    state: startState(payload),
  };
}

/** @param {any} payload of one graph @returns {any} every layer active, and the first one that has colours colours */
export function startState(payload) {
  const layers = Object.entries(payload?.extensions ?? {});
  const colored = layers.find(([, layer]) => Object.values(layer?.nodes ?? {}).some((said) => said?.fill_color));
  return { activeExtensions: layers.map(([id]) => id), colorBy: colored?.[0] ?? null };
}
