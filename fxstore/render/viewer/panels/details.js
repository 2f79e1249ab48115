// The details panel: one table for the whole sync set, or the page's facts while nothing is selected.

import { copyText, tableText } from "./copytext.js";
import { detailRows } from "./facts.js";
import { foundList } from "./foundlist.js";
import { smallHistogram, statisticsOf, statisticsText } from "./histogramrow.js";
import { edgeDetails, moduleDetails } from "./otherdetails.js";
import { visible } from "./visible.js";

const MOST_CHIPS = 12;
/** As the style sheet has it. */
const LABELS_PX = 124;
const LEAST_COLUMN_PX = 112;

export class DetailsPanel {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {import("./scene.js").Scene} scene
   * @param {import("./compare.js").PaneCompare} compare
   */
  constructor(h, scene, compare) {
    Object.assign(this, { h, scene, compare });
    this.root = h("section", { class: "fx-details", "aria-label": "Details" });
    compare.on("reachchange", () => this.tellReach());
    this.show([]);
  }

  select(node) {
    this.compare.selectNode(node);
  }

  /** @param {number[]} panes those in view, in order */
  show(panes) {
    this.root.replaceChildren(this.h("div", { class: "fx-scroller", tabindex: 0 }, this.content(panes)));
    this.tellReach();
  }

  content(panes) {
    const { h, scene, compare } = this;
    const { selection, edge, module } = compare;
    const select = (node) => this.select(node);
    if (selection) return this.table(selection, panes);
    if (edge >= 0) return edgeDetails(h, scene, edge, select);
    if (compare.listed) return foundList(h, compare, panes, select);
    if (!module) return this.facts();
    const toggle = () => compare.toggleFold(module.pane, "module", module.block);
    return moduleDetails(h, scene, module, compare.colorings.overlays(), { select, toggle });
  }

  /** The corner of the table: what can be done with the selection. */
  tools() {
    const { h, compare } = this;
    const button = (text, title, onclick) => h("button", { title, onclick }, text);
    const more = (direction) => compare.showReach(direction, compare.hops[direction] + 1);
    this.reachNote = h("span", { class: "fx-muted", "aria-live": "polite" });
    return h(
      "div",
      { class: "fx-tools" },
      button("↑ inputs", "Show what it depends on, one hop more (u); all: U", () => more("up")),
      button("↓ users", "Show what depends on it, one hop more (d); all: D", () => more("down")),
      button("copy", "Copy this table as text (c)", () => this.copy()),
      this.reachNote,
    );
  }

  tellReach() {
    const { reach, hops } = this.compare;
    if (!this.reachNote) return;
    const part = (sign, nodes, count) =>
      count && `${sign} ${nodes.size} in ${Number.isFinite(count) ? count : "all"} hop${count === 1 ? "" : "s"}`;
    const told = reach ? [part("↑", reach.up, hops.up), part("↓", reach.down, hops.down)].filter(Boolean) : [];
    this.reachNote.textContent = told.join(", ");
  }

  /** @returns {Promise<void>} puts the table on the clipboard, cells apart by tabs */
  copy() {
    const table = this.root.querySelector("table");
    return table ? copyText(this.root.ownerDocument, tableText(table)) : Promise.resolve();
  }

  table(selection, panes) {
    const { h, scene } = this;
    const heads = panes.map((pane) => this.head(selection, pane));
    const rows = detailRows(scene, selection, panes, this.compare.colorings.overlays()).map(({ label, cells }) =>
      h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((cell) => this.cell(cell))),
    );
    const values = this.values(selection, panes);
    if (values) rows.splice(2, 0, values);
    const table = h(
      "table",
      { class: "fx-table" },
      h("thead", {}, h("tr", {}, h("td", {}, this.tools()), ...heads)),
      h("tbody", {}, ...rows),
    );
    table.style.minWidth = `${LABELS_PX + panes.length * LEAST_COLUMN_PX}px`;
    return table;
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

  /** Statistics of the values themselves, where they were captured. */
  values(selection, panes) {
    const { h, scene } = this;
    const known = panes.map((pane) => {
      const { lead } = selection.shares[pane];
      return lead < 0 ? null : statisticsOf(scene, lead);
    });
    if (!known.some(Boolean)) return null;
    const cell = (one) => h("td", {}, one && smallHistogram(h, one), one && statisticsText(one));
    return h("tr", {}, h("th", { scope: "row" }, "values"), ...known.map(cell));
  }

  facts() {
    const { h, scene } = this;
    const several = scene.panes.length > 1;
    const fact = ([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return h(
      "div",
      { class: "fx-about" },
      h(
        "p",
        {},
        `Click a node${several ? ": what it became lights up in every pane" : " to see what is known of it"}. Press ? for the keys.`,
      ),
      scene.header.leftOut && h("p", { class: "fx-left-out" }, scene.header.leftOut),
      h("dl", { class: "fx-facts", "aria-label": "About this page" }, ...scene.header.facts.map(fact)),
    );
  }
}

/** Lines of code, with their line breaks. */
function lines(h, text) {
  return text.split("\n").map((line) => h("span", { class: "fx-line" }, line));
}
