// What changed from one pane to another, node by node, by their counterparts.

import { numberColoring, OTHER, textColoring } from "../paint/coloring.js";
import { counterpartsOf } from "./selection.js";
import { hasNumber, numberOf } from "./search.js";

const COMPARED = ["op_type", "dtype", "shape"];

/**
 * @param {import("./scene.js").Scene} scene @param {number} base pane @param {number} head pane
 * @returns {import("../paint/coloring.js").Coloring} categories `same`, `renamed`, `changed` (another operator, dtype or shape),
 *   `added` and `removed` (without a counterpart in the other pane)
 */
export function stageDiff(scene, base, head) {
  const column = new Int32Array(scene.nodeCount).fill(-1);
  const number = (text) => {
    const known = scene.strings.indexOf(text);
    return known >= 0 ? known : scene.strings.push(text) - 1;
  };
  for (const [pane, other, alone] of [
    [base, head, "removed"],
    [head, base, "added"],
  ]) {
    const { first, end } = scene.panes[pane];
    const there = scene.panes[other];
    for (let node = first; node < end; node++) {
      const partner = counterpartsOf(scene, node).find((one) => one >= there.first && one < there.end);
      column[node] = number(partner === undefined ? alone : changeOf(scene, node, partner));
    }
  }
  const coloring = textColoring(scene, column, `${titleOf(scene, base)} → ${titleOf(scene, head)}`, "change");
  for (const { number: pane, first, end } of scene.panes)
    if (pane !== base && pane !== head) coloring.buckets.fill(OTHER, first, end);
  coloring.counts[0] = 0;
  coloring.counts[OTHER] = Number(scene.panes.length > 2);
  return coloring;
}

function changeOf(scene, node, partner) {
  const differs = (field) => {
    const [own, other] = [scene.text(field, node), scene.text(field, partner)];
    return own !== null && other !== null && own !== other; // what is not recorded tells nothing
  };
  if (COMPARED.some(differs)) return "changed";
  return scene.text("name", node) === scene.text("name", partner) ? "same" : "renamed";
}

/** @param {import("./scene.js").Scene} scene @param {number} pane @returns {string} with its run, where there are several */
export function titleOf(scene, pane) {
  const { title, run } = scene.panes[pane];
  return scene.panes.some((other) => other.run !== run) ? `${title} (${run})` : title;
}

// How a metric differs from one pane to another, node by node.


const STATUS = { value: 0, nan: 1, infinite: 2, minusInfinite: 3, none: 5 };

/**
 * @param {import("./scene.js").Scene} scene @param {import("../paint/coloring.js").Coloring} coloring of numbers
 * @param {number} base pane @param {number} head pane
 * @returns {import("../paint/coloring.js").Coloring} head less base, at both nodes of each pair of primary counterparts; what
 *   has no number in either has none
 */
export function metricDiff(scene, coloring, base, head) {
  const status = new Uint8Array(scene.nodeCount).fill(STATUS.none);
  const all = new Float64Array(scene.nodeCount);
  const { first, end } = scene.panes[head];
  const there = scene.panes[base];
  for (let node = first; node < end; node++) {
    const partner = counterpartsOf(scene, node).find((one) => one >= there.first && one < there.end);
    if (partner === undefined || ![node, partner].every((one) => hasNumber(coloring.buckets[one]))) continue;
    const apart = numberOf(coloring, node) - numberOf(coloring, partner);
    for (const one of [node, partner]) [all[one], status[one]] = [apart, statusOfNumber(apart)];
  }
  const { metric, unit, better } = coloring;
  const about = { name: `${titleOf(scene, base)} → ${titleOf(scene, head)}`, metric: `Δ${metric}`, unit, better };
  const value = all.filter((_, node) => status[node] === STATUS.value);
  return numberColoring(scene, { about, numbers: { status, value, reason: [] }, signed: true });
}

function statusOfNumber(value) {
  if (Number.isFinite(value)) return STATUS.value;
  return Number.isNaN(value) ? STATUS.nan : value > 0 ? STATUS.infinite : STATUS.minusInfinite;
}
