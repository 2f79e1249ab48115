// The details table as plain data: one row per property, one cell per pane.

import { NO_DATA, OTHER } from "./coloring.js";
import { colorName } from "./colorings.js";
import { inputsText } from "./inputs.js";
import { metricText } from "./metrictext.js";
import { grouped } from "./numbers.js";

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
 * @param {import("./scene.js").Scene} scene
 * @param {import("./selection.js").Selection} selection
 * @param {number[]} panes those to show, in order
 * @param {import("./coloring.js").Coloring[]} colorings
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

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {string|null} `file:line` */
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
