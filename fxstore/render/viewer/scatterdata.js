// A metric in two panes, node by node: what the scatter plot shows.

import { counterpartsOf } from "./selection.js";
import { positionIn } from "./scales.js";
import { numberOf } from "./search.js";

/** @typedef {{x: number, y: number, from: number, to: number}} Point values, and their nodes */

/**
 * @param {import("./scene.js").Scene} scene @param {import("./coloring.js").Coloring} coloring
 * @param {number} base pane @param {number} head pane @returns {Point[]} both numbers are finite
 */
export function scatterOf(scene, coloring, base, head) {
  const [left, right] = [scene.panes[base], scene.panes[head]];
  const out = [];
  for (let from = left.first; from < left.end; from++) {
    const x = numberOf(coloring, from);
    if (!Number.isFinite(x)) continue;
    const to = counterpartsOf(scene, from).find((node) => node >= right.first && node < right.end);
    const y = to === undefined ? NaN : numberOf(coloring, to);
    if (Number.isFinite(y)) out.push({ x, y, from, to });
  }
  return out;
}

/**
 * @param {Point[]} points @param {import("./scales.js").Domain} domain @param {number} px @param {number} py 0 to 1
 * @returns {Point|null} the nearest
 */
export function nearestPoint(points, domain, px, py) {
  let [best, least] = [null, Infinity];
  for (const point of points) {
    const away = Math.hypot(positionIn(point.x, domain) - px, positionIn(point.y, domain) - py);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

/**
 * @param {import("./scene.js").Scene} scene @param {import("./coloring.js").Coloring} coloring
 * @returns {[number, number]|null} the first two panes that the metric is of: of two runs, where there are two
 */
export function defaultPanes(scene, coloring) {
  const measured = scene.panes.filter(({ first, end }) => {
    for (let node = first; node < end; node++) if (Number.isFinite(numberOf(coloring, node))) return true;
    return false;
  });
  if (measured.length < 2) return null;
  const [base] = measured;
  const head = measured.find((pane) => pane.run !== base.run && pane.title === base.title) ?? measured[1];
  return [base.number, head.number];
}
