// The answer: the query and its rows; a row leads to its node.

import { cellText, grouped } from "../scene/numbers.js";
import { nextRow } from "../scene/selection.js";

// Which rows of the answer someone wants to see: words that must all be in the row, `column:text`, `column<number`.

const CELL_COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i;
const CELL_HOLDS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

/** @param {{columns: string[], rows: unknown[][]}} answer @param {string} text @returns {(row: number) => boolean} */
export function rowFilter({ columns, rows }, text) {
  const tests = text
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => cellTest(columns, word));
  return (row) => tests.every((test) => test(rows[row]));
}

function cellTest(columns, word) {
  const found = CELL_COMPARISON.exec(word);
  const compared = found ? columns.indexOf(found[1]) : -1;
  if (compared >= 0) {
    const [holds, number] = [CELL_HOLDS[found[2]], Number(found[3])];
    return (row) => numeric(row[compared]) && holds(valueOf(row[compared]), number);
  }
  const at = word.indexOf(":");
  const column = at > 0 ? columns.indexOf(word.slice(0, at)) : -1;
  const wanted = (column >= 0 ? word.slice(at + 1) : word).toLowerCase();
  const within = (cell) =>
    cell !== null &&
    String(typeof cell === "object" ? cell.number : cell)
      .toLowerCase()
      .includes(wanted);
  return column >= 0 ? (row) => within(row[column]) : (row) => row.some(within);
}

function numeric(cell) {
  return typeof cell === "number" || (typeof cell === "object" && cell !== null);
}

function valueOf(cell) {
  return typeof cell === "object" ? Number(cell.number) : cell;
}

// The answer's table as plain data: which columns are shown, in which order, and the order of its rows.

const COLLATOR = new Intl.Collator("en", { numeric: true });
const NULL_RANK = 3;

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
export function isKey(column) {
  return /(^|_)nid$/.test(column);
}

/**
 * The columns that are equal in all of several rows, and what they hold; a ranking's name and value are always columns.
 * @param {{columns: string[], rows: unknown[][]}} answer
 * @returns {Map<number, unknown>}
 */
export function sharedCells({ columns, rows }) {
  if (rows.length < 2) return new Map();
  const texts = rows.map((row) => row.map((cell) => JSON.stringify(cell)));
  const same = (i) => texts.every((row) => row[i] === texts[0][i]);
  const kept = (i) => ["name", "value"].includes(columns[i]) || isKey(columns[i]);
  const shared = columns.map((_, i) => i).filter((i) => !kept(i) && same(i));
  return new Map(shared.length < columns.length ? shared.map((i) => [i, rows[0][i]]) : []);
}

/**
 * @param {unknown[][]} rows
 * @param {number} column
 * @param {string} order `ascending`, `descending`, or `none` as they came
 * @returns {number[]} row numbers: what is broken first whichever the order (NaN, then infinite), NULL last, and equal
 *   cells as they came
 */
export function sortedRows(rows, column, order) {
  const numbers = rows.map((_, i) => i);
  if (order === "none") return numbers;
  const sign = order === "descending" ? -1 : 1;
  const keys = rows.map((row) => keyOf(row[column]));
  return numbers.sort((a, b) => keys[a].rank - keys[b].rank || sign * compared(keys[a].value, keys[b].value) || a - b);
}

/** @returns {{rank: number, value: number|string}} 0 NaN, 1 infinite, 2 a value, 3 NULL */
function keyOf(cell) {
  if (cell === null) return { rank: NULL_RANK, value: 0 };
  const value = typeof cell === "object" ? Number(cell.number) : typeof cell === "boolean" ? Number(cell) : cell;
  if (typeof value === "string") return { rank: 2, value };
  return Number.isNaN(value) ? { rank: 0, value: 0 } : { rank: Number.isFinite(value) ? 2 : 1, value };
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : Number(a > b);
  return COLLATOR.compare(String(a), String(b));
}

const PAGE_ROWS = 200;
const FEW_ROWS = 5;
const ORDERS = ["none", "ascending", "descending"];

export class AnswerPanel {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h
   * @param {any} answer of the payload's header
   * @param {number[][]} nodes of each row
   * @param {(row: number) => void} select
   */
  constructor(h, answer, nodes, select) {
    Object.assign(this, { h, answer, nodes, select });
    this.sort = { column: -1, order: "none" };
    const shared = sharedCells(answer);
    this.columns = shownOrder(answer.columns).filter((i) => !shared.has(i));
    this.body = h("tbody", {});
    this.more = h("button", { class: "fx-more", onclick: () => this.extend() });
    this.heads = this.columns.map((i) => this.head(i));
    this.fold = h("button", { class: "fx-icon fx-fold", onclick: () => this.toggle() });
    this.root = h(
      "aside",
      { class: "fx-answer", "aria-label": "Answer" },
      this.header(),
      h(
        "pre",
        { class: "fx-query", tabindex: 0 },
        ...answer.query.split("\n").map((line) => h("span", { class: "fx-line" }, line)),
      ),
      this.shared(shared),
      answer.rows.length > FEW_ROWS && this.filter(),
      h(
        "div",
        { class: "fx-scroll" },
        h(
          "table",
          { class: "fx-table fx-rows" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), ...this.heads)),
          this.body,
        ),
        this.more,
      ),
      answer.note && h("p", { class: "fx-note" }, answer.note),
    );
    this.fill(answer.rows.map((_, i) => i));
    this.toggle(false);
  }

  /** A field that leaves only the rows with what is typed. */
  filter() {
    this.wanted = this.h("input", {
      type: "search",
      class: "fx-filter",
      placeholder: "Filter rows: text, value<0.9, name:conv",
      "aria-label": "Filter the rows of the answer",
      spellcheck: "false",
      oninput: () => this.refill(),
    });
    return this.wanted;
  }

  /** Shows the rows that are wanted, in their order. */
  refill() {
    const { column, order } = this.sort;
    const keeps = rowFilter(this.answer, this.wanted?.value ?? "");
    const marked = this.marked;
    this.fill(sortedRows(this.answer.rows, column, order).filter(keeps));
    const [shown, all] = [this.order.length, this.answer.rows.length];
    this.count.textContent = shown < all ? `${grouped(shown)} of ${grouped(all)} rows` : `${grouped(all)} rows`;
    if (marked >= 0) this.mark(marked);
  }

  header() {
    this.count = this.h(
      "span",
      { class: "fx-count", "aria-live": "polite" },
      `${grouped(this.answer.rows.length)} rows`,
    );
    return this.h(
      "header",
      { class: "fx-answer-head" },
      this.h("h2", {}, "Answer"),
      this.count,
      this.h("span", { class: "fx-grow" }),
      this.fold,
    );
  }

  /** What all rows have in common, said once. @param {Map<number, unknown>} cells */
  shared(cells) {
    const named = [...cells].map(([i, cell]) => ({ name: this.answer.columns[i], text: cellText(cell).text, cell }));
    const told = named.filter(({ cell }) => cell !== null && cell !== "");
    const empty = named.filter(({ cell }) => cell === null || cell === "").map(({ name }) => name);
    const title = empty.length ? `empty in all rows: ${empty.join(", ")}` : null;
    const part = ({ name, text }) => this.h("span", {}, this.h("span", { class: "fx-muted" }, `${name}: `), text);
    return told.length ? this.h("p", { class: "fx-shared", title }, ...told.map(part)) : null;
  }

  /** Folds the panel to a strip, or opens it again. @param {boolean} [folded] */
  toggle(folded = !this.root.classList.contains("fx-folded")) {
    this.root.classList.toggle("fx-folded", folded);
    this.fold.textContent = folded ? "▸" : "◂";
    this.fold.title = folded ? "Open the answer (a)" : "Fold the answer (a)";
    this.fold.setAttribute("aria-label", folded ? "Open the answer" : "Fold the answer");
    this.fold.setAttribute("aria-expanded", String(!folded));
  }

  /** Shows the rows from the first, in another order. @param {number[]} order */
  fill(order) {
    this.order = order;
    this.rows = new Map();
    this.body.replaceChildren();
    this.extend();
    this.aim(this.next(-1, 1));
  }

  /** Sorts by a column: rising, falling, as the query gave it. @param {number} column of the answer */
  sortBy(column) {
    const at = column === this.sort.column ? ORDERS.indexOf(this.sort.order) : 0;
    const order = ORDERS[(at + 1) % ORDERS.length];
    this.sort = { column, order };
    for (const [i, head] of this.heads.entries())
      head.setAttribute("aria-sort", this.columns[i] === column ? order : "none");
    this.refill();
  }

  /** Adds the next rows to the table. */
  extend() {
    const from = this.rows.size;
    for (const row of this.order.slice(from, from + PAGE_ROWS)) this.rows.set(row, this.row(row));
    this.body.append(...[...this.rows.values()].slice(from));
    const left = this.order.length - this.rows.size;
    this.more.hidden = !left;
    this.more.textContent = `Show ${Math.min(left, PAGE_ROWS)} of ${grouped(left)} more`;
  }

  row(number) {
    const named = this.nodes[number]?.length > 0;
    const choose = () => named && this.select(number);
    const onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) this.focus(this.next(number, step, this.rows.size));
      else if (event.key === "Enter" || event.key === " ") choose();
      else return;
      event.preventDefault();
    };
    const attributes = named
      ? { tabindex: -1, onclick: choose, onkeydown }
      : { class: "fx-unnamed", title: "names no node on this page" };
    const cells = this.answer.rows[number];
    return this.h(
      "tr",
      attributes,
      this.h("th", { scope: "row" }, String(number + 1)),
      ...this.columns.map((i) => this.cell(cells[i], this.answer.columns[i])),
    );
  }

  head(column) {
    const name = this.answer.columns[column];
    const button = this.h("button", { title: `Sort by ${name}`, onclick: () => this.sortBy(column) }, name);
    return this.h("th", { scope: "col", "aria-sort": "none", class: isKey(name) && "fx-id" }, button);
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

  /**
   * @param {number} row -1 for none
   * @param {1|-1} step
   * @param {number} [count] of the rows to go through, in the order shown
   * @returns {number} the row shown before or after it that names a node, or -1
   */
  next(row, step, count = this.order.length) {
    const shown = this.order.slice(0, count);
    const at = nextRow(
      shown.map((number) => this.nodes[number]),
      shown.indexOf(row),
      step,
    );
    return at < 0 ? -1 : shown[at];
  }

  /** Makes one row the one that Tab leads to. @param {number} row */
  aim(row) {
    for (const other of this.body.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    const element = this.rows.get(row);
    if (element && this.nodes[row].length) element.tabIndex = 0;
  }

  /** @param {number} row */
  focus(row) {
    this.aim(row);
    this.rows.get(row)?.focus();
  }

  /** Marks a row. @param {number} row -1 for none */
  mark(row) {
    this.marked = row;
    while (row >= 0 && this.order.includes(row) && !this.rows.has(row) && this.rows.size < this.order.length)
      this.extend();
    for (const marked of this.body.querySelectorAll("[aria-current]")) marked.removeAttribute("aria-current");
    this.aim(row < 0 ? this.next(-1, 1) : row);
    this.rows.get(row)?.setAttribute("aria-current", "true");
    this.rows.get(row)?.scrollIntoView({ block: "nearest" });
  }
}

// Rows as comma-separated text, as RFC 4180 has it.

const FORMULA = /^[=+\-@\t\r＝＋－＠]/u;

/** @param {string[]} columns @param {unknown[][]} rows @returns {string} */
export function csvOf(columns, rows) {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Text that a spreadsheet would run as a formula gets an apostrophe in front. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return String(value.number);
  if (typeof value !== "string") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
