// A metric along the graph's order, and its distribution: what the strip and the histogram draw.

import { FIRST_STEP, positionIn } from "./coloring.js";
import { severity } from "./modules.js";

/**
 * @typedef {{node: number, low: number, high: number, broken: boolean}} Bin
 *   node: the one with the worst number; low, high: 0 to 1 on the scale; broken: NaN or infinite
 */

/**
 * @param {{first: number, end: number}} pane @param {import("./coloring.js").Coloring} coloring @param {number} bins
 * @returns {(Bin|null)[]} one per part of the order; null where nothing is measured
 */
export function profileOf({ first, end }, coloring, bins) {
  const out = new Array(bins).fill(null);
  if (!coloring.domain) return out;
  const count = Math.max(1, end - first);
  for (let node = first; node < end; node++) {
    const bucket = coloring.buckets[node];
    const worth = severity(bucket);
    if (worth < 0) continue;
    const broken = bucket < FIRST_STEP;
    const at = broken ? null : positionIn(coloring.values[node], coloring.domain);
    const i = Math.min(bins - 1, Math.floor(((node - first) * bins) / count));
    const bin = (out[i] ??= { node, low: at ?? 1, high: at ?? 0, broken: false });
    if (worth > severity(coloring.buckets[bin.node])) bin.node = node;
    bin.broken ||= broken;
    if (at === null) continue;
    bin.low = Math.min(bin.low, at);
    bin.high = Math.max(bin.high, at);
  }
  return out;
}

/** @param {{first: number, end: number}} pane @param {number} part 0 to 1 @param {import("./coloring.js").Coloring} coloring
 * @returns {number} the measured node nearest to that part of the order, or -1 */
export function nodeAlong({ first, end }, part, coloring) {
  const middle = first + Math.min(end - first - 1, Math.floor(part * (end - first)));
  for (let away = 0; away < end - first; away++)
    for (const node of [middle + away, middle - away])
      if (node >= first && node < end && severity(coloring.buckets[node]) >= 0) return node;
  return -1;
}

/**
 * @param {import("./coloring.js").Coloring} coloring @param {number} bins
 * @returns {{counts: Int32Array, from: number[], to: number[]}} finite values over the scale's span, in its spacing
 */
export function histogramOf(coloring, bins) {
  const counts = new Int32Array(bins);
  const { domain, values, buckets } = coloring;
  for (let node = 0; node < values.length; node++)
    if (buckets[node] >= FIRST_STEP) counts[Math.min(bins - 1, Math.floor(positionIn(values[node], domain) * bins))]++;
  const edge = (i) =>
    domain.log
      ? domain.min * (domain.max / domain.min) ** (i / bins)
      : domain.min + ((domain.max - domain.min) * i) / bins;
  const edges = Array.from({ length: bins + 1 }, (_, i) => edge(i));
  return { counts, from: edges.slice(0, -1), to: edges.slice(1) };
}
