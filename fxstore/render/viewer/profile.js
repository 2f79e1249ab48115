// A metric along the graph's order, and its distribution: what the strip and the histogram draw.

import { FIRST_STEP, STEPS } from "./coloring.js";
import { severity } from "./modules.js";
import { isPerfect, positionIn, anchorsOf, valueAt } from "./scales.js";

/**
 * @typedef {{node: number, low: number, high: number, broken: boolean}} Bin
 *   node: the one with the worst number; low, high: 0 to 1 on the scale; broken: NaN or infinite
 */

/**
 * @param {{first: number, end: number}} pane @param {import("./coloring.js").Coloring} coloring @param {number} bins
 * @returns {(Bin|null)[]} one per part of the order; null where nothing is measured
 */
export function profileOf({ first, end }, { buckets, values, domain }, bins) {
  const out = new Array(bins).fill(null);
  const count = Math.max(1, end - first);
  for (let node = domain ? first : end; node < end; node++) {
    const worth = severity(buckets[node]);
    if (worth < 0) continue;
    const i = Math.min(bins - 1, Math.floor(((node - first) * bins) / count));
    const bin = (out[i] ??= { node, low: Infinity, high: -Infinity, broken: false });
    if (worth > severity(buckets[bin.node])) bin.node = node;
    if (buckets[node] < FIRST_STEP) bin.broken = true;
    else {
      if (values[node] < bin.low) bin.low = values[node];
      if (values[node] > bin.high) bin.high = values[node];
    }
  }
  const place = ({ low, high }) =>
    low > high ? { low: 1, high: 0 } : { low: positionIn(low, domain), high: positionIn(high, domain) };
  return out.map((bin) => bin && { ...bin, ...place(bin) });
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
 * @param {{first: number, end: number}} pane @param {import("./coloring.js").Coloring} coloring
 * @param {number} from node, or -1 @param {1|-1} step
 * @returns {number} the next measured node in the pane's order, or -1
 */
export function nextMeasured({ first, end }, coloring, from, step) {
  let node = from >= 0 ? from + step : step > 0 ? first : end - 1;
  while (node >= first && node < end && severity(coloring.buckets[node]) < 0) node += step;
  return node >= first && node < end ? node : -1;
}

/**
 * How finite values are spread over the scale, one bin for each of its steps; what lies beyond its ends is in the last ones.
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {{count: number, from: number, to: number, withFrom: boolean, withTo: boolean}[]} from best to worst, or from
 *   low to high; withFrom, withTo: whether that end belongs to the bin
 */
export function histogramOf({ counts, domain, own, better, measure }) {
  const least = own?.min ?? Infinity;
  const most = isPerfect(Infinity, anchorsOf(measure)) ? Infinity : (own?.max ?? -Infinity);
  const falling = better === "higher";
  const edge = (step) => valueAt(falling ? 1 - step / STEPS : step / STEPS, domain);
  return Array.from({ length: STEPS }, (_, step) => {
    const count = counts[FIRST_STEP + step];
    const [lowest, highest] = [step === (falling ? STEPS - 1 : 0), step === (falling ? 0 : STEPS - 1)];
    const [from, to] = falling ? [edge(step + 1), edge(step)] : [edge(step), edge(step + 1)];
    return {
      count,
      from: lowest ? least : from,
      to: highest ? most : to,
      withFrom: lowest || !falling,
      withTo: highest || falling,
    };
  });
}
