// The toolbar that the viewers of a compare share.

import { themeNames } from "./embedthemes.js";
import { fillSelect, LayerMenu } from "./layermenu.js";
import { BASE } from "./layers.js";
import { SyncSelect } from "./syncselect.js";

export class CompareBar {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {import("./embedcompare.js").FXGraphCompare} compare
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
