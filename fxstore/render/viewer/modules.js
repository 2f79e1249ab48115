// What a module's nodes are together: how many, the worst number, the sum of times.

import { FIRST_STEP, MINUS_INF, MISSING, NAN, NO_DATA, OTHER, PLUS_INF } from "./coloring.js";
import { grouped, isTime, withUnit } from "./numbers.js";
import { metricText } from "./metrictext.js";

/**
 * @typedef {{nodes: number, measured: number, worst: number, sum: number}} ModuleStats
 *   worst: the node with the worst number, or -1; sum: of its finite numbers
 */

/** How bad a bucket is: broken numbers first. @param {number} bucket @returns {number} -1 where there is no number */
export function severity(bucket) {
  if (bucket === NO_DATA || bucket === MISSING || bucket === OTHER) return -1;
  if (bucket === NAN) return 1e6;
  return bucket === PLUS_INF || bucket === MINUS_INF ? 1e5 : bucket - FIRST_STEP;
}

/**
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {ModuleStats[]} of each block of the pane
 */
export function moduleStats(scene, pane, coloring) {
  const { parent, of, first, end, firstNode } = scene.hierarchy(pane);
  const out = Array.from({ length: end - first }, () => ({ nodes: 0, measured: 0, worst: -1, sum: 0 }));
  for (let i = 0; i < of.length; i++) if (of[i] >= 0) count(out[of[i] - first], coloring, firstNode + i);
  for (let b = end - 1; b >= first; b--)
    if (parent[b - first] >= 0) add(out[parent[b - first] - first], out[b - first], coloring);
  return out;
}

function count(stats, coloring, node) {
  stats.nodes++;
  if (coloring.categories || severity(coloring.buckets[node]) < 0) return;
  stats.measured++;
  if (Number.isFinite(coloring.values[node])) stats.sum += coloring.values[node];
  if (worse(coloring, node, stats.worst)) stats.worst = node;
}

function add(stats, part, coloring) {
  stats.nodes += part.nodes;
  stats.measured += part.measured;
  stats.sum += part.sum;
  if (part.worst >= 0 && worse(coloring, part.worst, stats.worst)) stats.worst = part.worst;
}

function worse({ buckets, values, better }, node, than) {
  if (than < 0) return true;
  const apart = severity(buckets[node]) - severity(buckets[than]);
  if (apart) return apart > 0;
  return better === "higher" ? values[node] < values[than] : values[node] > values[than];
}

/** @param {import("./scene.js").Scene} scene @param {ModuleStats} stats @param {import("./coloring.js").Coloring} coloring */
export function statsText(scene, stats, coloring) {
  const parts = [`${grouped(stats.nodes)} node${stats.nodes === 1 ? "" : "s"}`];
  if (stats.worst >= 0) {
    const word = coloring.better ? "worst" : "most";
    parts.push(`${word} ${metricText(scene, coloring, stats.worst)}`);
    if (isTime(coloring.unit)) parts.push(`sum ${withUnit(stats.sum, coloring.unit)}`);
  }
  return parts.join(" · ");
}

/** @param {import("./scene.js").Scene} scene @param {number} block @returns {string} */
export function modulePath(scene, block) {
  return scene.strings[scene.columns.get("block.path")[block]] ?? "";
}
