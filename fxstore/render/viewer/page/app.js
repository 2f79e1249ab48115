// The page: bars, panels and panes around one compare.

import { AnswerPanel } from "../panels/answer.js";
import { Colorings } from "../paint/colorings.js";
import { PaneCompare } from "../panes/compare.js";
import { DetailsPanel } from "../panels/details.js";
import { builder, visible, whenIdle } from "./dom.js";
import { ExportMenu, SLOTS, ViewMenu } from "../panels/menus.js";
import { actionOf, helpDialog, openHelp } from "../panels/help.js";
import { layerLegend, legend } from "../panels/legend.js";
import { Minimap } from "../panes/minimap.js";
import { PaneRow } from "../panes/panes.js";
import { SampleSlider } from "../panes/samples.js";
import { ScatterPlot } from "../panels/scatter.js";
import { SearchBox } from "../panels/searchbox.js";
import { splitter } from "../panes/sizes.js";
import { Strip } from "../panes/strip.js";
import { ThemeSwitch } from "../panels/themeswitch.js";
import { verdictBar } from "../panels/verdict.js";
import { Tooltip } from "../panels/tooltip.js";
import { PaneViewer } from "../panes/viewer.js";

const PREPARE_AFTER_MS = 400;
const LEAST_PART_PX = 60;
const MOST_PART = 0.75;

export class PageApp {
  /**
   * @param {HTMLElement} root @param {import("../scene/scene.js").Scene} scene
   * @param {boolean} [alone] whether keys pressed anywhere on the page are meant for it, not only those within `root`
   * @param {{colorings?: any, tools?: (app: PageApp) => HTMLElement[]}} [parts] colourings other than the scene's own;
   *   what else stands in the top bar
   */
  constructor(root, scene, alone = false, { colorings = new Colorings(scene), tools = () => [] } = {}) {
    Object.assign(this, {
      root,
      scene,
      alone,
      colorings,
      tools,
      document: root.ownerDocument,
      window: root.ownerDocument.defaultView,
    });
    const h = (this.h = builder(this.document));
    this.themes = new ThemeSwitch(h, root, (theme) => this.setTheme(theme));
    this.panes = new PaneRow(h, scene, {
      fit: (pane) => this.compare.viewers[pane].zoomToFit(),
      changed: () => {
        this.showDetails();
        this.compare?.showPanes();
        this.compare?.emit("panechange", {});
      },
    });
    const coloring = this.colorings.at(0);
    const viewers = scene.panes.map((_, pane) =>
      PaneViewer.create({ scene, pane, mount: this.panes.boxes[pane].mount, theme: this.themes.theme, coloring }),
    );
    const compare = (this.compare = PaneCompare.create({ scene, viewers, colorings: this.colorings }));
    compare.shown = () => this.panes.shown();
    this.details = new DetailsPanel(h, scene, compare);
    this.strips = viewers.map((viewer, pane) => this.furnish(viewer, this.panes.boxes[pane]));
    this.scatter = new ScatterPlot(h, compare);
    this.views = new ViewMenu(h, compare, { scatter: () => this.scatter.open() });
    const rows = () => this.answer?.order ?? [];
    this.exports = new ExportMenu(h, compare, { shown: () => this.panes.shown(), rows });
    this.answer =
      scene.header.answer && new AnswerPanel(h, scene.header.answer, compare.rows, (row) => compare.selectRow(row));
    this.search = new SearchBox(h, compare);
    this.tooltip = new Tooltip(h, compare);
    this.help = helpDialog(h);
    this.live = h("div", { class: "fx-live", role: "status", "aria-live": "polite" });
    this.legend = h("div", { class: "fx-legend-slot" });
    this.sample = new SampleSlider(h, (name) => this.compare.setSample(name));
    this.build();
    this.listen();
    this.showColor();
    this.prepared = this.window.setTimeout(
      () => (this.stopPreparing = whenIdle(this.window, this.preparations())),
      PREPARE_AFTER_MS,
    );
  }

  /** What the first click, key stroke or other colour would have to wait for. */
  preparations() {
    const { colorings, compare, scene } = this;
    return [
      () => scene.adjacency,
      () => scene.nodeOf(0),
      () => compare.searchIndex.prepare(),
      ...colorings.names.map((_, index) => () => colorings.at(index)),
    ];
  }

  /** Puts the minimap beside a graph and the strip under it. */
  furnish(viewer, box) {
    const title = viewer.pane.title || `pane ${viewer.pane.number + 1}`;
    const strip = new Strip(this.h, viewer, title, (node) => this.compare.selectNode(node));
    box.view.append(new Minimap(this.h, viewer, title).canvas);
    box.foot.append(strip.root);
    return strip;
  }

  build() {
    const { h } = this;
    this.dock = h("div", { class: "fx-dock fx-idle" }, this.details.root);
    const height = this.bar("Height of the details", false, this.dock, -1);
    const main = h("div", { class: "fx-main" }, this.panes.root, height, this.dock);
    const { verdict } = this.scene.header;
    this.verdict = verdict ? verdictBar(h, verdict, (node) => this.compare.selectNode(node)) : "";
    const side = this.answer ? [this.answer.root, this.bar("Width of the answer", true, this.answer.root, 1)] : [];
    this.root.replaceChildren(
      this.topBar(),
      this.verdict,
      h("div", { class: "fx-body" }, ...side, main),
      this.tooltip.root,
      this.help,
      this.scatter.root,
      this.live,
    );
  }

  topBar() {
    const { h, scene } = this;
    const title = scene.header.title || "fxstore";
    const options = this.colorings.names.map((name, i) => h("option", { value: i }, name));
    this.select = h(
      "select",
      { "aria-label": "Colour nodes by", onchange: () => this.compare.setColorBy(Number(this.select.value)) },
      ...options,
    );
    return h(
      "header",
      { class: "fx-top" },
      h("h1", { title }, title),
      this.trailButtons(),
      this.search.root,
      h("label", { class: "fx-by" }, h("span", { class: "fx-muted" }, "Colour"), this.select),
      this.sample.root,
      this.legend,
      h("span", { class: "fx-grow" }),
      this.panes.switches,
      h(
        "span",
        { class: "fx-commands" },
        ...this.tools(this),
        h("button", { title: "Fit every pane (f)", onclick: () => this.compare.zoomToFit() }, "Fit"),
        this.views.root,
        this.exports.root,
        this.themes.button,
        h("button", { title: "Keys (?)", "aria-label": "Keys", onclick: () => openHelp(this.h, this.help) }, "?"),
      ),
    );
  }

  trailButtons() {
    const button = (sign, label, key, step) =>
      this.h(
        "button",
        {
          title: `${label} (${key})`,
          "aria-label": label,
          disabled: true,
          onclick: () => this.compare.stepTrail(step),
        },
        sign,
      );
    this.back = button("←", "Back to what was selected before", "b", -1);
    this.forward = button("→", "Forward again", "B", 1);
    return this.h("span", { class: "fx-trail" }, this.back, this.forward);
  }

  listen() {
    const { compare } = this;
    compare.on("selectionchange", (selection) => this.showSelection(selection));
    compare.on("searchchange", ({ query, counts }) => this.panes.showCounts(query, counts));
    compare.on("colorchange", () => this.showColor());
    compare.on("foldchange", () => compare.module && this.showDetails());
    compare.on("searchchange", () => compare.listed && this.showDetails());
    compare.on(
      "reachchange",
      ({ up, down }) => (this.live.textContent = `${up.size} nodes before, ${down.size} after`),
    );
    this.onkey = (event) => this.key(event);
    this.document.addEventListener("keydown", this.onkey);
  }

  setTheme(theme) {
    this.compare?.setTheme(theme);
    if (this.themes?.paper) for (const viewer of this.compare.viewers) viewer.drawNow();
    if (this.select) this.showColor();
  }

  showColor() {
    const { names } = this.colorings;
    for (let i = this.select.options.length; i < names.length; i++)
      this.select.append(this.h("option", { value: i }, names[i]));
    this.select.value = String(this.compare.color);
    this.select.title = visible(this.colorings.names[this.compare.color]);
    const { compare, colorings } = this;
    this.sample.show(compare.coloring);
    const find = (query) => compare.list(query);
    const range = (ends) => compare.setRange(ends);
    const relative = (on) => compare.setRelative(on);
    const layers = Object.entries(compare.layers).filter(([, index]) => index >= 0);
    this.legend.replaceChildren(
      legend(this.h, compare.coloring, this.themes.theme, { find, range, relative }),
      ...layers.map(([slot, index]) => layerLegend(this.h, SLOTS[slot], colorings.at(index), this.themes.theme)),
    );
    for (const strip of this.strips) strip.fold();
  }

  showDetails() {
    this.details?.show(this.panes.shown());
  }

  showSelection(selection) {
    const { compare } = this;
    this.dock.classList.toggle("fx-idle", !selection && compare.edge < 0 && !compare.module && !compare.listed);
    this.back.disabled = !compare.trail.can(-1);
    this.forward.disabled = !compare.trail.can(1);
    this.answer?.mark(this.compare.row);
    this.panes.showSelection(selection);
    if (selection) this.panes.scrollTo(this.scene.paneOf(selection.node).number);
    this.showDetails();
    const count = selection ? selection.shares.filter((share) => share.lead >= 0).length : 0;
    const name = selection ? visible(this.scene.text("name", selection.node) ?? "node") : "";
    this.live.textContent = selection ? `${name} selected, in ${count} of ${this.scene.panes.length} panes` : "";
  }

  /** A bar that changes the size of a part of the page. */
  bar(label, vertical, part, sign) {
    const side = vertical ? "width" : "height";
    const size = (element) => element.getBoundingClientRect()[side];
    const write = (px) =>
      (part.style[side] = `${Math.min(size(this.root) * MOST_PART, Math.max(LEAST_PART_PX, px))}px`);
    return splitter(this.h, { label, vertical, read: () => size(part), write, sign });
  }

  key(event) {
    const [target] = event.composedPath();
    if (!this.alone && !this.root.contains(target)) return;
    const typing = target.closest?.("input, select, textarea, dialog[open]") != null;
    const focused = this.compare.viewers.findIndex((viewer) => viewer.canvas === target);
    const action = actionOf(event, { typing, onCanvas: focused >= 0 });
    if (!action || event.defaultPrevented || (action[0] === "clear" && this.help.open)) return;
    if (action[0] !== "clear") event.preventDefault();
    const [name, ...args] = action;
    this.actions(focused)[name](...args);
  }

  /** @param {number} focused the pane whose canvas has the focus, or -1 */
  actions(focused) {
    const { compare } = this;
    const targets = focused >= 0 ? [compare.viewers[focused]] : compare.viewers.filter((viewer) => viewer.view);
    return {
      stepRow: (step) => this.answer && compare.selectRow(this.answer.next(compare.row, step)),
      stepNode: (step) => compare.stepNode(focused >= 0 ? focused : this.homePane(), step),
      search: () => this.search.input.select(),
      fit: () => compare.zoomToFit(),
      zoom: (factor) => targets.forEach((viewer) => viewer.zoomBy(factor)),
      pan: (dx, dy) => targets.forEach((viewer) => viewer.panBy(dx, dy)),
      pane: (pane) => this.panes.toggle(pane),
      answer: () => this.answer?.toggle(),
      theme: () => this.themes.next(),
      trail: (step) => compare.stepTrail(step),
      reach: (direction, hops) => compare.showReach(direction, compare.hops[direction] + hops),
      foldMore: (step) => this.foldMore(step),
      beside: () => compare.toggleBeside(),
      copy: () => this.details.copy(),
      columns: () => compare.setInColumns(!this.scene.inColumns),
      follow: () => this.views.setFollowing(!compare.following),
      clear: () => this.search.clear() || compare.clearSelection(),
      help: () => openHelp(this.h, this.help),
    };
  }

  /** Closes modules of one level further out, or opens one level. @param {1|-1} step */
  foldMore(step) {
    const { compare } = this;
    const deepest = compare.depths - 1;
    const from = Number.isFinite(compare.depth) ? compare.depth : deepest + 1;
    const depth = from - step;
    compare.foldTo(depth > deepest ? Infinity : Math.max(0, depth));
  }

  homePane() {
    const { selection } = this.compare;
    return selection ? this.scene.paneOf(selection.node).number : (this.panes.shown()[0] ?? 0);
  }

  destroy() {
    this.document.removeEventListener("keydown", this.onkey);
    this.window.clearTimeout(this.prepared);
    this.stopPreparing?.();
    this.themes.destroy();
    this.compare.destroy();
    this.root.replaceChildren();
  }
}
