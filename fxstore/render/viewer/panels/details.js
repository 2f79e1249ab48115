// The details panel: one table for the whole sync set, or the page's facts while nothing is selected.

import { metricText, modulePath, moduleStats } from "../paint/colorings.js";
import { formatted, grouped, isTime, withUnit } from "../scene/numbers.js";
import { edgeFacts } from "../scene/edges.js";
import { copyText, tableText, visible } from "../page/dom.js";
import { detailRows } from "./facts.js";

// What a click on the legend found, listed pane by pane.


const MOST_LISTED = 100;

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare
 * @param {number[]} panes those in view, in order @param {(node: number) => void} select
 * @returns {HTMLElement}
 */
export function foundList(h, compare, panes, select) {
  const { scene, found, coloring } = compare;
  const rows = panes.map((pane) => {
    const { first, end, title } = scene.panes[pane];
    const nodes = found.nodes.filter((node) => node >= first && node < end);
    const chips = nodes.slice(0, MOST_LISTED).map((node) => {
      const told = { class: "fx-chip", title: metricText(scene, coloring, node), onclick: () => select(node) };
      return h("button", told, scene.text("name", node) ?? "");
    });
    const more = nodes.length - chips.length;
    const rest = more > 0 && h("span", { class: "fx-muted" }, `${grouped(more)} more`);
    const head = h("th", { scope: "row" }, `${title}: ${grouped(nodes.length)}`);
    return nodes.length ? h("tr", {}, head, h("td", {}, h("div", { class: "fx-listed" }, ...chips, rest))) : null;
  });
  const caption = h("caption", {}, `${grouped(found.nodes.length)} found: ${compare.query}`);
  return h("table", { class: "fx-table fx-facts-table" }, caption, h("tbody", {}, ...rows));
}

// What is known of a node's value: its statistics in words, its distribution as bars.


/** @param {import("../scene/scene.js").Scene} scene @param {number} node @returns {Record<string, any>|null} */
export function statisticsOf(scene, node) {
  scene.statistics ??= new Map(scene.header.statistics ?? []);
  return scene.statistics.get(node) ?? null;
}

/** @param {Record<string, any>} statistics @returns {string} name and number, without the distribution */
export function statisticsText(statistics) {
  return Object.entries(statistics)
    .filter(([, value]) => !Array.isArray(value) && value !== null)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === "object" ? value.number : typeof value === "number" ? formatted(value) : value}`,
    )
    .join(", ");
}

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {Record<string, any>} statistics
 * @returns {HTMLElement|null} bars, as high as the counts' square roots so that few are seen beside many
 */
export function smallHistogram(h, statistics) {
  const counts = statistics.histogram;
  if (!Array.isArray(counts) || !counts.length) return null;
  const numbers = counts.map(Number);
  const most = Math.max(...numbers, 1);
  const label = `Distribution of values in ${counts.length} bins`;
  const bars = numbers.map((count) => {
    const bar = h("i", {});
    bar.style.height = count > 0 ? `${Math.max(6, 100 * Math.sqrt(count / most))}%` : "0";
    return bar;
  });
  return h("span", { class: "fx-bars", role: "img", "aria-label": label, title: label }, ...bars);
}

// The details of what is no node: an edge, a module.


/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../scene/scene.js").Scene} scene @param {number} edge
 * @param {(node: number) => void} select @returns {HTMLElement}
 */
export function edgeDetails(h, scene, edge, select) {
  const facts = edgeFacts(scene, edge);
  const name = (node) => scene.text("name", node) ?? "node";
  const link = (node, rest = "") => nodeButton(h, `${name(node)}${rest}`, () => select(node));
  const port = facts.port ? `:${facts.port}` : "";
  const others = facts.others.map(({ node, port: other, pane, evidence }) =>
    h(
      "span",
      { class: "fx-pair" },
      `${scene.panes[pane].title}: `,
      link(node, other ? `:${other}` : ""),
      ` ${evidence}`,
    ),
  );
  return factTable(h, `Value ${visible(name(facts.source))}${port}`, [
    ["from", link(facts.source, port)],
    ["port", String(facts.port)],
    ["to", link(facts.target)],
    ["argument", facts.argument || "not known"],
    ["dtype", facts.dtype || "not known"],
    ["shape", facts.shape || "not known"],
    ["uses of this value", grouped(facts.uses)],
    ["compared with", others.length ? h("span", {}, ...others) : "no value pair on this page"],
  ]);
}

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../scene/scene.js").Scene} scene
 * @param {{pane: number, block: number}} module @param {import("../paint/coloring.js").Coloring[]} colorings
 * @param {{select: (node: number) => void, toggle: () => void}} actions @returns {HTMLElement}
 */
export function moduleDetails(h, scene, { pane, block }, colorings, { select, toggle }) {
  const part = scene.panes[pane];
  const own = (coloring) => moduleStats(scene, part, coloring)[block - scene.hierarchy(part).first];
  const numeric = colorings.filter(({ categories }) => !categories);
  const { nodes } = own(numeric[0] ?? colorings[0] ?? { categories: [] });
  const rows = numeric.flatMap((coloring) => {
    const { worst, measured, sum } = own(coloring);
    if (worst < 0) return [];
    const button = nodeButton(h, scene.text("name", worst) ?? "node", () => select(worst));
    const word = coloring.better ? "worst" : "highest";
    const label = `${coloring.metric} · ${coloring.name}`;
    const total = isTime(coloring.unit) ? `, sum ${withUnit(sum, coloring.unit)}` : "";
    return [
      [
        label,
        h("span", {}, `${word} ${metricText(scene, coloring, worst)} at `, button, ` of ${measured} measured${total}`),
      ],
    ];
  });
  const closed = part.closed.has(block);
  return factTable(h, `Module ${visible(modulePath(scene, block))}`, [
    ["stage", part.title],
    ["nodes", grouped(nodes)],
    ...rows,
    ["", h("button", { onclick: toggle }, closed ? "Open (double click)" : "Close (double click)")],
  ]);
}

function nodeButton(h, text, onclick) {
  return h("button", { class: "fx-chip", onclick }, text);
}

function factTable(h, caption, rows) {
  return h(
    "table",
    { class: "fx-table fx-facts-table" },
    h("caption", {}, caption),
    h("tbody", {}, ...rows.map(([label, value]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, value)))),
  );
}

const MOST_CHIPS = 12;
/** As the style sheet has it. */
const LABELS_PX = 124;
const LEAST_COLUMN_PX = 112;

export class DetailsPanel {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../scene/scene.js").Scene} scene
   * @param {import("../panes/compare.js").PaneCompare} compare
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
    const told = detailRows(scene, selection, panes, this.compare.colorings.overlays());
    const rows = told.map(({ label, cells }) =>
      h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((cell) => this.cell(cell))),
    );
    const values = this.values(selection, panes);
    // Behind the metrics: numbers of the errors first, then those of the values, then what the node is.
    const behind = told.findIndex(({ label }) => label === "target");
    if (values) rows.splice(behind < 0 ? rows.length : behind, 0, values);
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
