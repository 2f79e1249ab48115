// The answer: the query and its rows; a row leads to its node.

import { cellText, grouped } from "./numbers.js";
import { nextRow } from "./selection.js";

const PAGE_ROWS = 200;

export class AnswerPanel {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h
   * @param {any} answer of the payload's header
   * @param {number[][]} nodes of each row
   * @param {(row: number) => void} select
   */
  constructor(h, answer, nodes, select) {
    Object.assign(this, { h, answer, nodes, select });
    this.rows = [];
    this.body = h("tbody", {});
    this.more = h("button", { class: "fx-more", onclick: () => this.extend() });
    this.order = shownOrder(answer.columns);
    const heads = this.order.map((i) => this.head(answer.columns[i]));
    this.root = h(
      "aside",
      { class: "fx-answer", "aria-label": "Answer" },
      h(
        "header",
        { class: "fx-answer-head" },
        h("h2", {}, "Answer"),
        h("span", { class: "fx-count" }, `${grouped(answer.rows.length)} rows`),
      ),
      h(
        "pre",
        { class: "fx-query", tabindex: 0 },
        ...answer.query.split("\n").map((line) => h("span", { class: "fx-line" }, line)),
      ),
      h(
        "div",
        { class: "fx-scroll" },
        h(
          "table",
          { class: "fx-table fx-rows" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), ...heads)),
          this.body,
        ),
        this.more,
      ),
      answer.note && h("p", { class: "fx-note" }, answer.note),
    );
    this.extend();
    this.aim(nextRow(nodes, -1, 1));
  }

  /** Adds the next rows to the table. */
  extend() {
    const from = this.rows.length;
    const next = this.answer.rows.slice(from, from + PAGE_ROWS).map((cells, i) => this.row(cells, from + i));
    this.rows.push(...next);
    this.body.append(...next);
    const left = this.answer.rows.length - this.rows.length;
    this.more.hidden = !left;
    this.more.textContent = `Show ${Math.min(left, PAGE_ROWS)} of ${grouped(left)} more`;
  }

  row(cells, number) {
    const named = this.nodes[number]?.length > 0;
    const choose = () => named && this.select(number);
    const onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) this.focus(nextRow(this.nodes.slice(0, this.rows.length), number, step));
      else if (event.key === "Enter" || event.key === " ") choose();
      else return;
      event.preventDefault();
    };
    const attributes = named
      ? { tabindex: -1, onclick: choose, onkeydown }
      : { class: "fx-unnamed", title: "names no node on this page" };
    return this.h(
      "tr",
      attributes,
      this.h("th", { scope: "row" }, String(number + 1)),
      ...this.order.map((i) => this.cell(cells[i], this.answer.columns[i])),
    );
  }

  head(name) {
    return this.h("th", { scope: "col", class: isKey(name) && "fx-id" }, name);
  }

  cell(value, column) {
    const { text, number, muted } = cellText(value);
    return this.h(
      "td",
      {
        class: [number && "fx-number", muted && "fx-muted", isKey(column) && "fx-id"].filter(Boolean).join(" ") || null,
        title: text,
      },
      text,
    );
  }

  /** Makes one row the one that Tab leads to. @param {number} row */
  aim(row) {
    for (const other of this.body.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    if (this.rows[row] && this.nodes[row].length) this.rows[row].tabIndex = 0;
  }

  /** @param {number} row */
  focus(row) {
    this.aim(row);
    this.rows[row]?.focus();
  }

  /** Marks a row. @param {number} row -1 for none */
  mark(row) {
    while (row >= this.rows.length && this.rows.length < this.answer.rows.length) this.extend();
    for (const marked of this.body.querySelectorAll("[aria-current]")) marked.removeAttribute("aria-current");
    this.aim(row < 0 ? nextRow(this.nodes, -1, 1) : row);
    this.rows[row]?.setAttribute("aria-current", "true");
    this.rows[row]?.scrollIntoView({ block: "nearest" });
  }
}

/**
 * The order in which columns are shown: a ranking's name and value first, node keys at the end.
 * @param {string[]} columns
 * @returns {number[]}
 */
export function shownOrder(columns) {
  const first = columns.includes("value") ? ["name", "value"] : [];
  const place = (name, i) =>
    isKey(name) ? columns.length : first.includes(name) ? first.indexOf(name) - first.length : i;
  const places = columns.map(place);
  return columns.map((_, i) => i).sort((a, b) => places[a] - places[b]);
}

/** Whether a column holds node keys, which say little to a reader. @param {string} column */
function isKey(column) {
  return /(^|_)nid$/.test(column);
}
