// The parts of an embedded viewer: toolbar, canvas, legend, details and minimap, in its own frame or in a host's slots.

import { applyTheme, themeNames } from "./themes.js";
import { fillSelect, LayerMenu } from "../panels/layermenu.js";
import { BASE } from "./layers.js";
import { SearchBox } from "../panels/searchbox.js";
import { DetailsPanel } from "../panels/details.js";
import { island } from "../page/island.js";
import { actionOf } from "../panels/help.js";
import { legend } from "../panels/legend.js";
import { Minimap } from "../panes/minimap.js";
import { splitter } from "../panes/sizes.js";
import { Tooltip } from "../panels/tooltip.js";
import { PaneViewer } from "../panes/viewer.js";

// The toolbar of an embedded viewer. It only shows the viewer's state and asks the viewer to change it.


export class EmbedBar {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("./viewer.js").FXGraphViewer} viewer */
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

  /** @param {import("./layout.js").Controls} controls */
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

const LEAST_SIDE_PX = 120;
const LEAST_MAP_PX = 40;
const SLOT_PX = { canvas: 480, info: 240, minimap: 160 };

class EmbedDetails extends DetailsPanel {
  facts() {
    const { h, scene } = this;
    return h(
      "div",
      { class: "fx-about" },
      h("p", {}, "Click a node to see what is known of it."),
      scene.header.leftOut && h("p", { class: "fx-left-out" }, scene.header.leftOut),
    );
  }
}

export class EmbedShell {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("./viewer.js").FXGraphViewer} viewer */
  constructor(h, viewer) {
    Object.assign(this, { h, viewer });
    const { scene, theme, colorings } = viewer;
    this.mount = h("div", { class: "fx-mount" });
    this.pane = PaneViewer.create({ scene, pane: 0, mount: this.mount, theme, coloring: colorings.at(0) });
    this.pane.canvas.setAttribute("aria-label", viewer.title || `graph, ${scene.nodeCount} nodes`);
  }

  /** Builds what needs the viewer's core. */
  furnish() {
    const { h, viewer } = this;
    const { core, scene } = viewer;
    this.bar = new EmbedBar(h, viewer);
    this.details = new EmbedDetails(h, scene, core);
    this.minimap = new Minimap(h, this.pane, viewer.title || "the graph");
    this.tooltip = new Tooltip(h, core);
    this.legend = h("div", { class: "fx-embed-legend" });
    this.map = h("div", { class: "fx-embed-map" }, this.minimap.canvas);
    this.stage = h("div", { class: "fx-embed-stage" }, this.mount, this.tooltip.root);
    this.main = h("div", { class: "fx-embed-main" }, this.stage);
    this.side = h("div", { class: "fx-embed-side" });
    this.#place();
    core.on("selectionchange", () => this.showDetails());
    core.on("foldchange", () => core.module && this.showDetails());
    const slotted = { toolbar: this.bar.root, info: this.details.root, minimap: this.map };
    const parts = Object.entries(slotted).flatMap(([name, part]) => (viewer.slots[name] ? [part] : []));
    for (const part of [this.main, this.side, ...parts]) part.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Puts every part into its slot, or into the viewer's own frame. */
  #place() {
    const { slots, place } = this.viewer;
    const islands = new Map();
    if (place) islands.set("viewer", island(place, "viewer"));
    for (const [name, element] of Object.entries(slots)) islands.set(name, island(element, name, SLOT_PX[name]));
    this.islands = [...islands.values()];
    const into = (name, part, own, first = false) => {
      const target = islands.get(name)?.root ?? own;
      if (first) target.prepend(part);
      else target.append(part);
    };
    this.frame = this.h("div", { class: "fx-embed-frame" });
    this.sideBar = this.#splitter("Width of the details", true, this.side, LEAST_SIDE_PX, "sidebar", "width");
    this.mapBar = this.#splitter("Height of the overview", false, this.map, LEAST_MAP_PX, "minimap", "height");
    islands.get("viewer")?.root.append(this.frame);
    into("canvas", this.main, this.frame);
    if (islands.has("viewer")) this.frame.append(this.sideBar, this.side);
    into("toolbar", this.bar.root, this.main, true);
    into("legend", this.legend, this.stage);
    into("info", this.details.root, this.side);
    if (!islands.has("minimap")) this.side.append(this.mapBar);
    into("minimap", this.map, this.side);
    this.own = islands.get("viewer") ?? null;
    this.host = (this.own ?? islands.get("canvas")).host;
  }

  #splitter(label, vertical, part, least, panel, side) {
    const read = () => part.getBoundingClientRect()[side];
    const write = (px) => {
      const most = 0.75 * this.frame.getBoundingClientRect()[side];
      const size = Math.round(Math.min(most, Math.max(least, px)));
      this.viewer.setLayout({ panels: { [panel]: { [side]: size } } }, { source: "ui" });
    };
    const bar = splitter(this.h, { label, vertical, read, write, sign: -1 });
    if (panel === "sidebar") bar.addEventListener("dblclick", () => this.#collapse());
    return bar;
  }

  #collapse() {
    if (this.viewer.layout.panels.sidebar.collapsible === false) return;
    this.collapsed = !this.collapsed;
    this.viewer.setLayout({}, { source: "ui" });
  }

  /** Shows what the layout and the controls say. */
  apply() {
    const { layout, controls, slots } = this.viewer;
    const { sidebar, info, minimap, legend: legendPanel } = layout.panels;
    const inside = (name, panel) => !slots[name] && panel.visible !== false;
    const hasSide = sidebar.visible !== false && (inside("info", info) || inside("minimap", minimap));
    this.side.hidden = !hasSide || this.collapsed === true;
    this.sideBar.hidden = !hasSide || sidebar.resizable === false;
    this.details.root.hidden = info.visible === false;
    this.map.hidden = minimap.visible === false;
    this.mapBar.hidden = this.map.hidden || minimap.resizable === false || !inside("info", info);
    this.legend.hidden = legendPanel.visible === false || !controls.legend;
    if (Number.isFinite(sidebar.width)) this.side.style.width = `${Math.max(LEAST_SIDE_PX, sidebar.width)}px`;
    if (Number.isFinite(minimap.height) && !slots.minimap && !this.away)
      this.map.style.height = `${Math.max(LEAST_MAP_PX, minimap.height)}px`;
    this.own?.setShown(
      !this.away && (!slots.canvas || hasSide || (!slots.toolbar && controls.toolbar && !slots.canvas)),
    );
    this.bar.show(controls);
  }

  refresh() {
    this.bar?.refresh();
  }

  sizes() {
    const { sidebar, minimap } = this.viewer.layout.panels;
    return {
      sidebarWidth: sidebar.width,
      minimapHeight: minimap.height,
      sidebarCollapsed: this.collapsed === true,
      sidebarVisible: this.side ? !this.side.hidden : false,
    };
  }

  setTheme(theme) {
    for (const { root } of this.islands) applyTheme(root, theme);
  }

  showLegend() {
    const { core, theme } = this.viewer;
    this.legend.replaceChildren(legend(this.h, core.coloring, theme, null));
  }

  showDetails() {
    this.details.show([0]);
  }

  #key(event) {
    const [target] = event.composedPath();
    const typing = target.closest?.("input, select, textarea") != null;
    const action = actionOf(event, { typing, onCanvas: target === this.pane.canvas });
    const run = action && !event.defaultPrevented && this.#actions()[action[0]];
    if (!run) return;
    if (action[0] !== "clear") event.preventDefault();
    run(...action.slice(1));
  }

  #actions() {
    const { core } = this.viewer;
    return {
      stepNode: (step) => core.stepNode(0, step),
      search: () => this.bar.search.input.select(),
      fit: () => this.pane.view && this.pane.zoomToFit(),
      zoom: (factor) => this.pane.view && this.pane.zoomBy(factor),
      pan: (dx, dy) => this.pane.view && this.pane.panBy(dx, dy),
      trail: (step) => core.stepTrail(step),
      reach: (direction, hops) => core.showReach(direction, core.hops[direction] + hops),
      copy: () => this.details.copy(),
      clear: () => this.bar.search.clear() || core.clearSelection(),
    };
  }

  destroy() {
    for (const { remove } of this.islands) remove();
    this.main.remove();
    this.map.remove();
    this.minimap.unwatch?.();
  }
}
