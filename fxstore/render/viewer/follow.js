// Panes that follow one another's pan and zoom: the counterpart of what is in the middle stays where it is.

import { counterpartsOf } from "./selection.js";
import { toScene, toScreen } from "./viewport.js";

const MOST_TRIED = 60;

/**
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @param {import("./viewport.js").View} view @param {import("./viewport.js").Size} size
 * @returns {number[]} nodes nearest to the pane's middle, nearest first
 */
export function nearestToMiddle(scene, pane, view, size) {
  const [x, y] = toScene(view, size.width / 2, size.height / 2);
  const [halfX, halfY] = [size.width / 2 / view.scale, size.height / 2 / view.scale];
  const found = [];
  pane.nodeTree.query(x - halfX, y - halfY, x + halfX, y + halfY, (i) => found.push(pane.first + i));
  const away = (node) => Math.abs(scene.y[node] - y) + Math.abs(scene.x[node] - x) / 8;
  return found.sort((a, b) => away(a) - away(b)).slice(0, MOST_TRIED);
}

/**
 * @param {import("./scene.js").Scene} scene @param {number[]} anchors of the pane that was moved, best first
 * @param {import("./scene.js").PaneScene} pane that follows
 * @returns {{from: number, to: number}|null} an anchor and its counterpart there
 */
export function anchorIn(scene, anchors, pane) {
  for (const from of anchors) {
    const to = counterpartsOf(scene, from).find((node) => node >= pane.first && node < pane.end);
    if (to !== undefined) return { from, to };
  }
  return null;
}

/**
 * @param {import("./scene.js").Scene} scene @param {{from: number, to: number}} anchor
 * @param {import("./viewport.js").View} view of the pane that was moved
 * @param {import("./viewport.js").Size} size of it @param {import("./viewport.js").Size} other of the one that follows
 * @returns {import("./viewport.js").View} the same scale, and the counterpart as far from the middle
 */
export function followed(scene, { from, to }, view, size, other) {
  const [px, py] = toScreen(view, scene.x[from], scene.y[from]);
  const [x, y] = [px - size.width / 2 + other.width / 2, py - size.height / 2 + other.height / 2];
  return { x: scene.x[to] - x / view.scale, y: scene.y[to] - y / view.scale, scale: view.scale };
}
