// The details table as plain data: one row per property, one cell per pane.

import { NO_DATA, OTHER } from "../paint/coloring.js";
import { colorName, metricText } from "../paint/colorings.js";
import { inputsText } from "../scene/edges.js";
import { grouped } from "../scene/numbers.js";

/**
 * @typedef {{text: string, differs: boolean, kind: "text"|"code"|"none"}} Cell
 * @typedef {{label: string, cells: Cell[]}} Row
 */

const PROPERTIES = [
  ["name", (scene, node) => scene.text("name", node), false],
  ["op type", (scene, node) => scene.text("op_type", node), true],
  ["target", (scene, node) => scene.text("target", node), true],
  ["dtype", (scene, node) => scene.text("dtype", node), true],
  ["shape", (scene, node) => scene.text("shape", node), true],
  ["module", (scene, node) => scene.text("module_path", node), true],
  ["source", sourceOf, true],
  ["code", (scene, node) => scene.text("source_code", node)?.trim() ?? null, true, "code"],
  ["role", (scene, node) => scene.text("role", node), true],
  ["backend", (scene, node) => scene.text("backend", node), true],
  ["inputs", inputsText, false, "code"],
  ["graph", (scene, node) => scene.graphOf(node).title || null, false],
  ["not shown", moreText, false],
  ["attrs", (scene, node) => attrsText(scene.text("attrs", node)), true, "code"],
];

/**
 * @param {import("../scene/scene.js").Scene} scene
 * @param {import("../scene/selection.js").Selection} selection
 * @param {number[]} panes those to show, in order
 * @param {import("../paint/coloring.js").Coloring[]} colorings
 * @returns {Row[]} rows without any value are left out, but for the first metric's
 */
export function detailRows(scene, selection, panes, colorings) {
  const nodes = panes.map((pane) => selection.shares[pane].lead);
  const known = ({ buckets }) =>
    nodes.some((node) => node >= 0 && buckets[node] !== NO_DATA && buckets[node] !== OTHER);
  const metrics = colorings
    .filter((coloring, i) => !i || known(coloring))
    .map((coloring) => [metricLabel(coloring), (_, node) => ownMetric(scene, coloring, node), false]);
  const own = scene.layers ? PROPERTIES.filter(([label]) => label !== "attrs") : PROPERTIES;
  const properties = [...own.slice(0, 2), ...metrics, ...own.slice(2), ...givenRows(scene, nodes)];
  return properties
    .map((property) => row(scene, nodes, selection.node, property))
    .filter((entry) => entry.cells.some((cell) => cell.text));
}

/** @returns {string} names the sample, where one is shown */
function metricLabel(coloring) {
  const sample = coloring.samples?.[coloring.sample];
  return sample === undefined ? colorName(coloring) : `${colorName(coloring)} (${sample})`;
}

/** What a payload knows of these nodes besides, by its own names. */
function givenRows(scene, nodes) {
  if (!scene.layers) return [];
  const rows = new Map(nodes.filter((node) => node >= 0).map((node) => [node, new Map(scene.layers.rows(node))]));
  const labels = new Set([...rows.values()].flatMap((own) => [...own.keys()]));
  const read = (label) => (_, node) => (rows.get(node) ?? new Map(scene.layers.rows(node))).get(label) ?? null;
  return [...labels].map((label) => [label, read(label), true, "code"]);
}

/** @returns {string|null} null in a stage that the metric is not of */
function ownMetric(scene, coloring, node) {
  return coloring.buckets[node] === OTHER ? null : metricText(scene, coloring, node);
}

/** @param {string|null} json @returns {string|null} one `key: value` per line */
export function attrsText(json) {
  if (!json) return null;
  try {
    const attrs = JSON.parse(json);
    if (typeof attrs !== "object" || attrs === null || Array.isArray(attrs)) return json;
    return (
      Object.entries(attrs)
        .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
        .join("\n") || null
    );
  } catch {
    return json;
  }
}

/** @param {import("../scene/scene.js").Scene} scene @param {number} node @returns {string|null} `file:line` */
export function sourceOf(scene, node) {
  const file = scene.text("source_file", node);
  const line = scene.columns.get("node.source_line")[node];
  return file === null ? null : line < 0 ? file : `${file}:${line}`;
}

/** @returns {string|null} how many neighbours of a node are not on the page */
function moreText(scene, node) {
  const more = scene.columns.get("node.more")?.[node];
  const here = more ? scene.besideOf(node)?.nodes : 0;
  const told = here ? `${grouped(here)} of them can be opened (e)` : "not on this page";
  return more ? `${grouped(more)} more neighbours, ${told}` : null;
}

function row(scene, nodes, selected, [label, read, compared, kind = "text"]) {
  const reference = read(scene, selected);
  const cells = nodes.map((node) => {
    const text = node < 0 ? "" : (read(scene, node) ?? "");
    return { text, differs: compared && node >= 0 && text !== (reference ?? ""), kind: node < 0 ? "none" : kind };
  });
  return { label, cells };
}

// One details table for the selected nodes of several viewers, a column each.


/**
 * @typedef {import("../embed/viewer.js").FXGraphViewer} FXGraphViewer
 */

/**
 * @param {FXGraphViewer[]} viewers @param {number} origin the one that was clicked
 * @returns {{label: string, cells: import("./facts.js").Cell[]}[]} one cell per viewer; what differs from the clicked node's is marked
 */
export function mergedRows(viewers, origin) {
  const parts = viewers.map(({ scene, core }) => {
    const rows = core.selection ? detailRows(scene, core.selection, [0], []) : [];
    return new Map(rows.map(({ label, cells }) => [label, cells[0]]));
  });
  const order = [parts[origin], ...parts].flatMap((own) => [...(own?.keys() ?? [])]);
  return [...new Set(order)].map((label) => {
    const reference = parts[origin]?.get(label)?.text ?? "";
    const compared = label !== "name" && label !== "inputs" && label !== "graph";
    const cells = parts.map((own, i) => {
      const cell = own.get(label) ?? { text: "", kind: "text" };
      return { ...cell, differs: compared && i !== origin && own.size > 0 && cell.text !== reference };
    });
    return { label, cells };
  });
}

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {FXGraphViewer[]} viewers @param {string[]} names @param {number} origin
 * @returns {HTMLElement}
 */
export function mergedTable(h, viewers, names, origin) {
  const rows = mergedRows(viewers, origin);
  if (!rows.length) return h("p", { class: "fx-about" }, "Click a node: what it became is shown in every graph.");
  const cell = ({ text, differs, kind }) =>
    h(
      "td",
      { class: differs ? "fx-differs" : null },
      kind === "code" && text
        ? h("code", {}, ...text.split("\n").map((line) => h("span", { class: "fx-line" }, line)))
        : text,
    );
  return h(
    "table",
    { class: "fx-table" },
    h("thead", {}, h("tr", {}, h("td", {}), ...names.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...rows.map(({ label, cells }) => h("tr", {}, h("th", { scope: "row" }, label), ...cells.map(cell))),
    ),
  );
}
