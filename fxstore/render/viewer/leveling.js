// The same computation at the same height in all panes in view: a vertical stretch for each graph. As of fxstore.layout.

import { countBelow } from "./columns.js";

/**
 * @typedef {{at: Float64Array, add: Float64Array}} Stretch what stands at `at[i]` or lower, but above `at[i + 1]`, moves
 *   down by `add[i]`: more, or as far, the lower it stands
 */

/** @param {Stretch} stretch @param {number} y @returns {number} how far down what stands there moves */
export function moveAt({ at, add }, y) {
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= y) low = middle + 1;
    else high = middle;
  }
  return low ? add[low - 1] : 0;
}

/** @param {Stretch} stretch @returns {Stretch} what takes it back */
export function undone({ at, add }) {
  return { at: at.map((y, i) => y + add[i]), add: add.map((by) => -by) };
}

/**
 * One pane after the other: the heaviest chain of keys that stand one under the other both in the new pane and in those
 * before it is brought to equal heights.
 * @param {Map<number, number>[]} panes height of each key in each pane
 * @param {(key: number) => number} weightOf what a key counts
 * @returns {Stretch[]}
 */
export function leveled(panes, weightOf) {
  const line = new Map();
  const out = [];
  for (const pane of panes) {
    const own = Float64Array.from(new Set(pane.values())).sort();
    const pairs = [];
    for (const [key, y] of pane) if (line.has(key)) pairs.push({ up: line.get(key), here: y, weight: weightOf(key) });
    const [ofLine, ofPane] = meeting(chainOf(pairs));
    for (const stretch of out)
      for (const [i, y] of stretch.at.entries()) stretch.add[i] += moveAt(ofLine, y + stretch.add[i]);
    out.push({ at: own, add: own.map((y) => moveAt(ofPane, y)) });
    for (const [key, y] of line) line.set(key, y + moveAt(ofLine, y));
    for (const [key, y] of pane) if (!line.has(key)) line.set(key, y + moveAt(ofPane, y));
  }
  return out;
}

/** @returns {[Stretch, Stretch]} after which both heights of each pair are equal */
function meeting(chain) {
  const [first, second] = [0, 1].map(() => ({
    at: new Float64Array(chain.length),
    add: new Float64Array(chain.length),
  }));
  let [a, b] = [0, 0];
  for (const [i, { up, here }] of chain.entries()) {
    const meet = Math.max(up + a, here + b);
    [a, b] = [meet - up, meet - here];
    [first.at[i], first.add[i], second.at[i], second.add[i]] = [up, a, here, b];
  }
  return [first, second];
}

/**
 * The heaviest chain of pairs, both heights growing; `best` is a Fenwick tree of the heaviest one that ends at or above
 * each second height.
 */
function chainOf(pairs) {
  // Of pairs with one first height the lowest comes first, so that no two of them are in one chain.
  const sorted = pairs.sort((a, b) => a.up - b.up || b.here - a.here);
  const heights = Float64Array.from(new Set(sorted.map(({ here }) => here))).sort();
  const best = new Array(heights.length + 1).fill(null);
  let end = null;
  for (let i = 0; i < sorted.length; i++) {
    const { up, here } = sorted[i];
    let own = sorted[i].weight;
    for (; sorted[i + 1]?.up === up && sorted[i + 1].here === here; i++) own += sorted[i + 1].weight;
    const place = countBelow(heights, here);
    let before = null;
    for (let k = place; k > 0; k &= k - 1) if ((best[k]?.sum ?? 0) > (before?.sum ?? 0)) before = best[k];
    const link = { up, here, before, sum: own + (before?.sum ?? 0) };
    for (let k = place + 1; k <= heights.length; k += k & -k) if (link.sum > (best[k]?.sum ?? 0)) best[k] = link;
    if (!end || link.sum > end.sum || (link.sum === end.sum && up === end.up)) end = link;
  }
  const out = [];
  for (let link = end; link; link = link.before) out.push(link);
  return out.reverse();
}
