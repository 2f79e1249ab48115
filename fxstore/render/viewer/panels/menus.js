// A button that opens a small panel: what is not needed all the time.

import { csvOf } from "./answer.js";
import { partsInView, partsOfSelection, pngOf, svgPicture } from "../paint/picture.js";

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {string} label @param {string} title
 * @param {...(Node|string|null)} content
 * @returns {HTMLDetailsElement} closes on Escape, on a click elsewhere, and when another one opens
 */
export function menu(h, label, title, ...content) {
  const root = /** @type {HTMLDetailsElement} */ (
    h("details", { class: "fx-menu" }, h("summary", { title }, label), h("div", { class: "fx-pop" }, ...content))
  );
  const document = root.ownerDocument;
  const away = (event) => {
    if (!event.composedPath().includes(root)) root.open = false;
  };
  root.addEventListener("toggle", () => {
    const change = root.open ? "addEventListener" : "removeEventListener";
    document[change]("pointerdown", away);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    root.open = false;
    root.querySelector("summary").focus();
    event.stopPropagation();
  });
  return root;
}

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {string} label @param {[string, string|number][]} options text, value
 * @param {(value: string) => void} changed @returns {HTMLElement & {select: HTMLSelectElement}}
 */
export function choice(h, label, options, changed) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { onchange: () => changed(select.value) },
      ...options.map(([text, value]) => h("option", { value }, text)),
    )
  );
  return Object.assign(h("label", { class: "fx-choice" }, h("span", {}, label), select), { select });
}

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {string} label @param {(on: boolean) => void} changed
 * @returns {HTMLElement & {box: HTMLInputElement}}
 */
export function tick(h, label, changed) {
  const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", onchange: () => changed(box.checked) }));
  return Object.assign(h("label", { class: "fx-tick" }, box, h("span", {}, label)), { box });
}

// How the graphs are shown: modules closed by level, panes that follow each other, further overlays.


/** Where overlays beside the one that fills the boxes are shown. */
export const SLOTS = { border: "Border", badge: "Dot", label: "Second line" };

export class ViewMenu {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare @param {{scatter: () => void}} actions */
  constructor(h, compare, { scatter }) {
    this.compare = compare;
    this.levels = choice(h, "Modules", [["all open", "Infinity"]], (value) => compare.foldTo(Number(value)));
    this.follow = tick(h, "Panes follow each other", (on) => this.setFollowing(on));
    this.columns = tick(h, "Deep graphs in columns", (on) => compare.setInColumns(on));
    this.columns.box.checked = compare.scene.inColumns;
    compare.on("arrangechange", ({ inColumns }) => (this.columns.box.checked = inColumns));
    const overlays = [["none", -1], ...compare.colorings.names.map((name, i) => [name, i])];
    this.slots = Object.entries(SLOTS).map(([slot, label]) =>
      Object.assign(
        choice(h, label, overlays, (value) => compare.setLayer(slot, Number(value))),
        { slot },
      ),
    );
    const metrics = compare.scene.header.colors.some(({ categories }) => !categories);
    const plot = () => {
      this.root.open = false;
      scatter();
    };
    this.root = menu(
      h,
      "View",
      "Modules, further overlays, panes that follow each other",
      this.levels,
      this.columns,
      this.follow,
      h("h3", {}, "More overlays"),
      ...this.slots,
      ...this.differences(h),
      metrics && compare.scene.panes.length > 1 && h("button", { onclick: plot }, "Scatter of two panes…"),
    );
    this.root.addEventListener("toggle", () => this.root.open && this.refresh(h));
    compare.on("colorchange", () => {
      for (const { slot, select } of this.slots) select.value = String(compare.layers[slot]);
    });
  }

  /** What changed from one pane to another. */
  differences(h) {
    const { compare } = this;
    const { panes } = compare.scene;
    if (panes.length < 2) return [];
    const name = ({ title, run }) => (panes.some((other) => other.run !== run) ? `${title} (${run})` : title);
    const options = panes.map((pane) => [name(pane), pane.number]);
    const [from, to] = [choice(h, "From", options, () => {}), choice(h, "To", options, () => {})];
    to.select.value = "1";
    const show = (how) => () => compare[how](Number(from.select.value), Number(to.select.value));
    const metrics = compare.scene.header.colors.some(({ categories }) => !categories);
    return [
      h("h3", {}, "What changed"),
      from,
      to,
      h("button", { onclick: show("diffPanes") }, "Colour what changed"),
      metrics && h("button", { onclick: show("diffMetric") }, "Colour by how much the metric differs"),
    ];
  }

  /** Finds out how deep modules go only when someone looks. */
  refresh(h) {
    const { select } = this.levels;
    const level = (depth) => h("option", { value: depth }, depth ? `open to level ${depth}` : "all closed");
    if (select.options.length === 1)
      for (let depth = 0; depth < this.compare.depths; depth++) select.append(level(depth));
    select.value = String(this.compare.depth);
  }

  setFollowing(on) {
    this.compare.following = on;
    this.follow.box.checked = on;
    const home = this.compare.selection ? this.compare.scene.paneOf(this.compare.selection.node).number : 0;
    if (on) this.compare.follow(home);
  }
}

// What can be taken out of the page: pictures of the view or the selection, the rows, paper.


const PNG_RATIO = 2;

export class ExportMenu {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare
   * @param {{shown: () => number[], rows: () => number[]}} page panes in view in their order; rows of the answer as shown
   */
  constructor(h, compare, page) {
    Object.assign(this, { h, compare, page });
    const item = (label, run, needs) => Object.assign(h("button", { onclick: () => this.#run(run) }, label), { needs });
    const selected = () => compare.selection !== null;
    this.items = [
      item("View as PNG", () => this.png("view"), null),
      item("View as SVG", () => this.svg("view"), null),
      item("Selection as PNG", () => this.png("selection"), selected),
      item("Selection as SVG", () => this.svg("selection"), selected),
      item(
        "Rows as CSV",
        () => this.csv(),
        () => Boolean(compare.scene.header.answer),
      ),
      item("Print…", () => compare.viewers[0].window.print(), null),
    ];
    this.root = menu(h, "Export", "Pictures, rows, print", ...this.items);
    this.root.addEventListener("toggle", () => {
      for (const button of this.items) button.disabled = button.needs !== null && !button.needs();
    });
  }

  #run(run) {
    this.root.open = false;
    run();
  }

  parts(what) {
    const { compare } = this;
    const viewers = this.page.shown().map((pane) => compare.viewers[pane]);
    return what === "view" ? partsInView(viewers) : partsOfSelection(viewers, compare.scene, compare.selection);
  }

  async png(what) {
    const parts = this.parts(what);
    this.#save(await pngOf(this.compare.viewers[0].document, parts, PNG_RATIO), `${this.name(what)}.png`);
  }

  svg(what) {
    this.#save(new Blob([svgPicture(this.parts(what))], { type: "image/svg+xml" }), `${this.name(what)}.svg`);
  }

  csv() {
    const { columns, rows } = this.compare.scene.header.answer;
    const shown = this.page.rows().map((row) => rows[row]);
    this.#save(new Blob([csvOf(columns, shown)], { type: "text/csv;charset=utf-8" }), `${this.name("rows")}.csv`);
  }

  name(what) {
    const title = this.compare.scene.header.title || "fxstore";
    return `${
      title
        .replace(/[^A-Za-z0-9._-]+/g, "-")
        .replace(/^[-.]+|[-.]+$/g, "")
        .slice(0, 60) || "fxstore"
    }-${what}`;
  }

  #save(blob, name) {
    const { URL } = this.compare.viewers[0].window;
    const url = URL.createObjectURL(blob);
    this.h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
