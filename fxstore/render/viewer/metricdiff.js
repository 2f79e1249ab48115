// How a metric differs from one pane to another, node by node.

import { numberColoring } from "./coloring.js";
import { hasNumber, numberOf } from "./search.js";
import { counterpartsOf } from "./selection.js";
import { titleOf } from "./stagediff.js";

const STATUS = { value: 0, nan: 1, infinite: 2, minusInfinite: 3, none: 5 };

/**
 * @param {import("./scene.js").Scene} scene @param {import("./coloring.js").Coloring} coloring of numbers
 * @param {number} base pane @param {number} head pane
 * @returns {import("./coloring.js").Coloring} head less base, at both nodes of each pair of primary counterparts; what
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
