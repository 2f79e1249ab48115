// What can be taken out of the page: pictures of the view or the selection, the rows, paper.

import { csvOf } from "./csv.js";
import { menu } from "./menu.js";
import { partsInView, partsOfSelection, pngOf, svgPicture } from "./picture.js";

const PNG_RATIO = 2;

export class ExportMenu {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {import("./compare.js").PaneCompare} compare
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
