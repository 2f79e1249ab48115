// The details panel: one table for the whole sync set, or the page's facts while nothing is selected.

import { detailRows } from "./facts.js";
import { visible } from "./visible.js";

const MOST_CHIPS = 12;

export class DetailsPanel {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {import("./scene.js").Scene} scene
   * @param {() => import("./coloring.js").Coloring[]} colorings metrics only
   * @param {(node: number) => void} select
   */
  constructor(h, scene, colorings, select) {
    Object.assign(this, { h, scene, colorings, select });
    this.root = h("section", { class: "fx-details", "aria-label": "Details", tabindex: 0 });
    this.show(null, []);
  }

  /** @param {import("./selection.js").Selection|null} selection @param {number[]} panes those in view, in order */
  show(selection, panes) {
    this.root.replaceChildren(selection ? this.table(selection, panes) : this.facts());
    this.root.scrollTop = 0;
  }

  table(selection, panes) {
    const { h, scene } = this;
    const heads = panes.map((pane) => this.head(selection, pane));
    const rows = detailRows(scene, selection, panes, this.colorings()).map(({ label, cells }) =>
      h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((cell) => this.cell(cell))),
    );
    return h(
      "table",
      { class: "fx-table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, ""), ...heads)),
      h("tbody", {}, ...rows),
    );
  }

  head(selection, pane) {
    const { h, scene } = this;
    const { members, reason } = selection.shares[pane];
    const chips = members.slice(0, MOST_CHIPS).map((member) => this.chip(selection, member));
    const more =
      members.length > MOST_CHIPS ? h("span", { class: "fx-muted" }, `${members.length - MOST_CHIPS} more`) : null;
    const none = h("span", { class: "fx-muted" }, reason ? `no counterpart: ${reason}` : "no counterpart");
    return h(
      "th",
      { scope: "col" },
      scene.panes[pane].title,
      h("div", { class: "fx-chips" }, ...(members.length ? chips : [none]), more),
    );
  }

  chip(selection, { node, primary }) {
    const kind = node === selection.node ? "selected" : primary ? "primary" : "member";
    const words = { selected: "selected", primary: "holds the value", member: "belongs to the same computation" }[kind];
    const name = this.scene.text("name", node) ?? "";
    const mark = { selected: "◉", primary: "◆", member: "◌" }[kind];
    return this.h(
      "button",
      { class: `fx-chip fx-${kind}`, title: `${visible(name)}: ${words}`, onclick: () => this.select(node) },
      `${mark} ${name}`,
    );
  }

  cell({ text, differs, kind }) {
    const shown = kind === "code" && text ? this.h("code", {}, ...lines(this.h, text)) : text;
    return this.h(
      "td",
      { class: differs ? "fx-differs" : null, title: differs ? "differs from the selected node" : null },
      shown,
    );
  }

  facts() {
    const { h, scene } = this;
    const fact = ([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return h(
      "div",
      { class: "fx-about" },
      h("p", {}, "Click a node: what it became lights up in every pane. Press ? for the keys."),
      h("dl", { class: "fx-facts", "aria-label": "About this page" }, ...scene.header.facts.map(fact)),
    );
  }
}

/** Lines of code, with their line breaks. */
function lines(h, text) {
  return text.split("\n").map((line) => h("span", { class: "fx-line" }, line));
}
