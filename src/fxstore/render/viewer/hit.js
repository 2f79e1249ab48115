// Which node lies under a point.

import { toScene } from "./viewport.js";

const REACH_PX = 4;

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./scene.js").PaneScene} pane
 * @param {import("./viewport.js").View} view
 * @param {number} px @param {number} py @returns {number} the node there, or the nearest one within a few pixels, or -1
 */
export function nodeUnder(scene, pane, view, px, py) {
  const [x, y] = toScene(view, px, py);
  const reach = REACH_PX / view.scale;
  let [best, least, centre] = [-1, Infinity, Infinity];
  pane.nodeTree.query(x - reach, y - reach, x + reach, y + reach, (i) => {
    const node = pane.first + i;
    const [dx, dy] = [Math.abs(x - scene.x[node]), Math.abs(y - scene.y[node])];
    const outside = Math.hypot(Math.max(0, dx - scene.width[node] / 2), Math.max(0, dy - scene.height[node] / 2));
    const away = Math.hypot(dx, dy);
    if (outside < least || (outside === least && away < centre)) [best, least, centre] = [node, outside, away];
  });
  return best;
}
