// The toolbar of an embedded viewer. It only shows the viewer's state and asks the viewer to change it.

import { themeNames } from "./embedthemes.js";
import { fillSelect, LayerMenu } from "./layermenu.js";
import { BASE } from "./layers.js";
import { SearchBox } from "./searchbox.js";

export class EmbedBar {
  /** @param {ReturnType<import("./dom.js").builder>} h @param {import("./embedviewer.js").FXGraphViewer} viewer */
  constructor(h, viewer) {
    Object.assign(this, { h, viewer });
    const ask = (patch) => viewer.setState(patch, { source: "ui" });
    this.search = new SearchBox(h, viewer.core);
    this.layers = new LayerMenu(h, {
      names: () => viewer.layers.names(),
      active: () => viewer.layers.active,
      change: (ids) => ask({ activeExtensions: ids }),
    });
    this.colorBy = h("select", { "aria-label": "Colour by", onchange: () => ask({ colorBy: this.colorBy.value }) });
    this.theme = h("select", { "aria-label": "Theme", onchange: () => ask({ theme: this.theme.value }) });
    this.highlight = h(
      "button",
      {
        title: "Show what the selected node depends on, and what depends on it",
        onclick: () => ask({ highlightAncestors: !viewer.highlights }),
      },
      "⇅",
    );
    const button = (text, title, onclick) => h("button", { title, "aria-label": title, onclick }, text);
    this.clear = button("✕", "Clear the selection (Esc)", () => ask({ selectedNodeId: null }));
    this.minimap = button("▤", "Show or hide the overview", () => viewer.toggleMinimap());
    this.fit = button("Fit", "Fit the graph (f)", () => viewer.zoomToFit());
    this.full = button("Full", "Full screen", () => viewer.toggleFullscreen());
    this.colorLabel = h("label", { class: "fx-by" }, h("span", { class: "fx-muted" }, "Colour"), this.colorBy);
    this.root = h(
      "div",
      { class: "fx-embed-bar", role: "toolbar", "aria-label": "Graph" },
      this.search.root,
      this.layers.root,
      this.colorLabel,
      this.highlight,
      this.clear,
      this.fit,
      this.minimap,
      this.theme,
      this.full,
    );
    viewer.core.on("selectionchange", (selection) => (this.clear.disabled = !selection));
    this.clear.disabled = true;
  }

  /** Shows the viewer's state. */
  refresh() {
    const { h, viewer } = this;
    const names = [[BASE, BASE], ...viewer.layers.names()];
    const shown = viewer.layers.names().has(viewer.colorBy) ? viewer.colorBy : BASE;
    fillSelect(h, this.colorBy, names, shown);
    fillSelect(
      h,
      this.theme,
      themeNames().map((name) => [name, name]),
      viewer.theme.name,
    );
    this.highlight.setAttribute("aria-pressed", String(viewer.highlights));
    this.layers.refresh();
    this.show(viewer.controls);
  }

  /** @param {import("./embedlayout.js").Controls} controls */
  show(controls) {
    this.root.hidden = !controls.toolbar;
    this.search.root.hidden = !controls.search;
    this.layers.root.hidden = !controls.layers || !this.viewer.layers.names().size;
    this.colorLabel.hidden = !controls.colorBy || !this.viewer.layers.names().size;
    this.theme.hidden = !controls.theme;
    this.fit.hidden = !controls.zoomButtons;
    this.highlight.hidden = !controls.highlightButton;
    this.clear.hidden = !controls.clearSelection;
    this.minimap.hidden = !controls.minimapToggle;
    this.full.hidden = !controls.fullscreenButton;
  }
}
