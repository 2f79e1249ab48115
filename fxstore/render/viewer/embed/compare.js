// Several embedded viewers side by side, with one selection. It borrows their canvases and minimaps, and gives them back.

import { applyTheme, themeNames } from "./themes.js";
import { fillSelect, LayerMenu, SyncSelect } from "../panels/layermenu.js";
import { BASE } from "./layers.js";
import { builder, visible } from "../page/dom.js";
import { elementOf, merged } from "./layout.js";
import { island } from "../page/island.js";
import { mergedTable } from "../panels/facts.js";
import { HostPane, Matcher, registerPaneType, SetMatcher, syncMode } from "./sync.js";

// The toolbar that the viewers of a compare share.


export class CompareBar {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("./compare.js").FXGraphCompare} compare
   * @param {Record<string, boolean>} controls `theme`, `layers`, `zoomFit`, `syncMode`, `fullscreen`: false hides one
   */
  constructor(h, compare, controls) {
    Object.assign(this, { h, compare });
    const all = (patch) => {
      for (const viewer of compare.viewers) viewer.setState(patch, { source: "ui" });
    };
    this.theme = h("select", { "aria-label": "Theme", onchange: () => all({ theme: this.theme.value }) });
    this.colorBy = h("select", { "aria-label": "Colour by", onchange: () => all({ colorBy: this.colorBy.value }) });
    this.layers = new LayerMenu(h, {
      names: () => this.#names(),
      active: () => [...new Set(compare.viewers.flatMap(({ layers }) => layers.active))],
      change: (ids) => all({ activeExtensions: ids }),
    });
    this.sync = new SyncSelect(
      h,
      () => compare.viewers.flatMap(({ layers }) => layers.syncKeys()).filter(isFirst),
      (sync) => compare.setSync(sync),
    );
    const colors = h("label", { class: "fx-by" }, h("span", { class: "fx-muted" }, "Colour"), this.colorBy);
    const fit = h("button", { title: "Fit every graph", onclick: () => compare.zoomToFit() }, "Fit");
    const full = h("button", { title: "Full screen", onclick: () => compare.toggleFullscreen() }, "Full");
    const shown = (name, ...parts) => (controls[name] === false ? [] : parts);
    this.root = h(
      "div",
      { class: "fx-embed-bar", role: "toolbar", "aria-label": "Compare" },
      ...shown("layers", this.layers.root, colors),
      ...shown("syncMode", this.sync.root),
      ...shown("zoomFit", fit),
      ...shown("theme", this.theme),
      ...shown("fullscreen", full),
    );
    this.refresh();
  }

  #names() {
    return new Map(this.compare.viewers.flatMap(({ layers }) => [...layers.names()]));
  }

  refresh() {
    const { h, compare } = this;
    const [first] = compare.viewers;
    const names = [[BASE, BASE], ...this.#names()];
    const key = JSON.stringify([
      names,
      compare.viewers.map(({ layers, colorBy, theme }) => [layers.active, colorBy, theme.name]),
      compare.sync,
    ]);
    if (key === this.shown) return;
    this.shown = key;
    fillSelect(h, this.colorBy, names, compare.viewers.find(({ colorBy }) => colorBy !== BASE)?.colorBy ?? BASE);
    fillSelect(
      h,
      this.theme,
      themeNames().map((name) => [name, name]),
      first.theme.name,
    );
    this.layers.refresh();
    this.sync.show(compare.sync);
  }
}

function isFirst({ layer, field }, i, all) {
  return all.findIndex((other) => other.layer === layer && other.field === field) === i;
}

const LAYOUT = { columns: 2, minimapHeight: 180, infoHeight: 200 };
const SHARED_OFF = ["layers", "colorBy", "theme", "zoomButtons", "fullscreenButton", "highlightButton"];

/**
 * @typedef {import("./viewer.js").FXGraphViewer} FXGraphViewer
 * @typedef {{element: HTMLElement, parent: Node, next: Node|null, style: string|null}} Loan where a borrowed element belongs
 */

export class FXGraphCompare {
  /** @type {Loan[]} */
  #loans = [];
  #offs = [];
  #guarded = false;

  /** @param {any} config `{viewers, layout, sync, sharedTaskbar}` */
  static create(config) {
    return new FXGraphCompare(config);
  }

  /** @param {string} type @param {(site: import("./sync.js").PaneSite) => import("./sync.js").OwnPane} create */
  static registerPaneType(type, create) {
    registerPaneType(type, create);
  }

  constructor({ viewers, layout, sync, sharedTaskbar } = {}) {
    const named =
      viewers instanceof Map
        ? [...viewers]
        : [...(viewers ?? [])].map((viewer) => [viewer.title ?? viewer.name, viewer]);
    if (!named.length) throw new TypeError("FXGraphCompare needs viewers: a list, or a Map of name to viewer");
    /** @type {FXGraphViewer[]} */
    const { document } = globalThis;
    this.own = [];
    this.viewers = named.map(([, viewer]) =>
      typeof viewer?.type === "string" ? this.#make(viewer, document) : viewer,
    );
    this.names = named.map(([name], i) => String(name || `Graph ${i + 1}`));
    const taken = this.viewers.find((viewer, i) => isTaken(viewer) || this.viewers.indexOf(viewer) !== i);
    if (taken) throw new TypeError("a viewer stands in one compare at a time, once, and is not destroyed");
    const container = elementOf(layout?.container, document);
    if (!container) throw new TypeError("FXGraphCompare needs layout.container");
    this.layout = merged(LAYOUT, layout);
    this.sync = syncMode(sync);
    this.sets = { sets: sync?.sync_sets, focus: sync?.focus ?? [] };
    this.#match();
    this.h = builder(document);
    this.island = island(container, "compare", Math.round(0.85 * document.defaultView.innerHeight));
    this.bar = sharedTaskbar?.enabled ? new CompareBar(this.h, this, sharedTaskbar.controls ?? {}) : null;
    this.controls = this.viewers.map((viewer) => viewer.controls);
    this.#build();
    this.#listen();
    this.#showTheme();
  }

  /** A pane of a registered type; it lives as long as this compare. */
  #make(config, document) {
    const pane = new HostPane(config, document);
    this.own.push(pane);
    return pane;
  }

  #match() {
    const models = this.viewers.map(({ model }) => model);
    const { sets, focus } = this.sets;
    const follows = this.sync.mode === "auto" && Array.isArray(sets);
    this.matcher = follows ? new SetMatcher(models, sets, focus) : new Matcher(models, this.sync);
  }

  #build() {
    const { h } = this;
    this.info = h("section", { class: "fx-details fx-cmp-info", "aria-label": "Details", tabindex: 0 });
    this.info.style.maxHeight = `${this.layout.infoHeight}px`;
    this.status = this.viewers.map(() => h("span", { class: "fx-muted" }));
    this.grid = h("div", { class: "fx-cmp-grid" }, ...this.viewers.map((viewer, i) => this.#column(viewer, i)));
    this.island.root.append(h("div", { class: "fx-cmp" }, this.bar?.root, this.grid, this.info));
    this.setColumns(this.layout.columns);
    if (this.bar) for (const viewer of this.viewers) this.#hideShared(viewer);
    this.#showInfo(-1);
  }

  #column(viewer, i) {
    const { h } = this;
    const map = h("div", { class: "fx-cmp-map" });
    map.style.height = `${this.layout.minimapHeight}px`;
    const view = h("div", { class: "fx-cmp-view" });
    map.hidden = viewer.layout.panels.minimap.visible === false;
    this.#borrow(viewer.shell.map, map);
    this.#borrow(viewer.shell.main, view);
    viewer.shell.away = true;
    viewer.shell.own?.setShown(false);
    const head = h(
      "header",
      { class: "fx-cmp-head" },
      h("strong", { title: this.names[i] }, this.names[i]),
      this.status[i],
    );
    return h("section", { class: "fx-cmp-col", "aria-label": this.names[i] }, head, map, view);
  }

  #borrow(element, into) {
    const { parentNode: parent, nextSibling: next } = element;
    this.#loans.push({ element, parent, next, style: element.getAttribute("style") });
    element.style.height = "";
    into.append(element);
  }

  #hideShared(viewer) {
    viewer.controls = { ...viewer.controls, ...Object.fromEntries(SHARED_OFF.map((name) => [name, false])) };
    viewer.shell.apply();
  }

  #listen() {
    for (const [i, viewer] of this.viewers.entries()) {
      this.#offs.push(
        viewer.on("selectionchange", ({ nodeId, source }) => source !== "sync" && this.#spread(i, nodeId)),
        viewer.on("themechange", ({ nextTheme }) => this.#spreadTheme(viewer, nextTheme)),
        viewer.on("statechange", () => {
          this.#forgetOld();
          if (!this.#guarded) this.#showInfo(this.origin ?? -1);
          this.bar?.refresh();
        }),
      );
    }
  }

  /** What layers say may have changed. */
  #forgetOld() {
    const version = this.viewers.reduce((sum, { layers }) => sum + layers.version, 0);
    if (version !== this.version) this.matcher.forget();
    this.version = version;
  }

  /** Selects in all other viewers what corresponds to a node of one. */
  #spread(from, id) {
    if (this.#guarded) return;
    this.#guarded = true;
    try {
      const place = id === null ? -1 : this.viewers[from].model.place(id);
      this.origin = place < 0 ? null : from;
      for (const [to, viewer] of this.viewers.entries()) {
        if (to === from || (this.sync.mode === "none" && place >= 0)) continue;
        viewer.showMatches(place < 0 ? [] : this.matcher.matches(from, place, to));
      }
    } finally {
      this.#guarded = false;
    }
    this.#showInfo(this.origin ?? -1);
  }

  #spreadTheme(from, name) {
    for (const viewer of this.viewers) if (viewer !== from && viewer.theme.name !== name) viewer.setTheme(name);
    this.#showTheme();
  }

  #showTheme() {
    applyTheme(this.island.root, this.viewers[0].theme);
    this.bar?.refresh();
  }

  #showInfo(origin) {
    this.info.replaceChildren(mergedTable(this.h, this.viewers, this.names, origin));
    for (const [i, { core, scene }] of this.viewers.entries()) {
      const lead = core.selection?.node ?? -1;
      const more = (core.selection?.shares[0].members.length ?? 1) - 1;
      const name = lead < 0 ? "" : `${scene.text("name", lead)}${more > 0 ? ` +${more}` : ""}`;
      this.status[i].textContent = visible(name || this.#noCounterpart(origin));
    }
  }

  /** Why a pane shows nothing. */
  #noCounterpart(origin) {
    if (origin < 0 || this.sync.mode === "none") return "";
    const { core, scene } = this.viewers[origin];
    const reason = core.selection ? scene.text("unmatched", core.selection.node) : null;
    return reason ? `no counterpart: ${reason}` : "no counterpart";
  }

  /** @param {number} count of viewers side by side */
  setColumns(count) {
    const columns = Math.max(1, Math.floor(Number(count)) || 1);
    this.layout = { ...this.layout, columns };
    this.grid.style.gridTemplateColumns = `repeat(${Math.min(columns, this.viewers.length)}, minmax(0, 1fr))`;
  }

  /** @param {any} patch `{mode, layer, field}`, and `{sync_sets, focus}` for mode `auto` */
  setSync(patch) {
    const sync = syncMode({ ...this.sync, ...patch });
    if (patch?.sync_sets) this.sets = { sets: patch.sync_sets, focus: patch.focus ?? [] };
    this.sync = sync;
    this.#match();
    this.bar?.refresh();
    const from = this.origin ?? -1;
    if (from >= 0) this.#spread(from, this.viewers[from].getState().selectedNodeId);
  }

  /** @returns {import("./sync.js").SyncMode} */
  getSync() {
    return { ...this.sync };
  }

  /** Kept from the RFC: a compare is always tiled. */
  setTiled() {}

  /** Kept from the RFC: a compare is always tiled. */
  setCompact() {}

  zoomToFit() {
    for (const viewer of this.viewers) viewer.zoomToFit();
  }

  /** @returns {Promise<void>} */
  toggleFullscreen() {
    const { document } = globalThis;
    return document.fullscreenElement ? document.exitFullscreen() : this.island.host.requestFullscreen();
  }

  /** Gives every viewer its parts back and takes its own away. */
  destroy() {
    if (this.destroyed) return;
    this.destroyed = true;
    for (const off of this.#offs) off();
    for (const { element, parent, next, style } of this.#loans.reverse()) {
      if (parent) parent.insertBefore(element, next);
      if (style === null) element.removeAttribute("style");
      else element.style.cssText = style;
    }
    for (const [i, viewer] of this.viewers.entries()) {
      viewer.shell.away = false;
      viewer.controls = this.controls[i];
      if (!viewer.destroyed) viewer.shell.apply();
    }
    for (const pane of this.own) pane.destroy();
    this.island.remove();
  }
}

function isTaken(viewer) {
  return viewer?.shell === undefined || viewer.destroyed === true || viewer.shell.away === true;
}
