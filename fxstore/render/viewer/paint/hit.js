// What lies under a point.

import { frameOf, isTucked, moduleBoxOf, TITLE_HEIGHT } from "../scene/boxes.js";
import { toScene } from "./viewport.js";
import { moreBox } from "./nodes.js";

const REACH_PX = 4;
const EDGE_REACH_PX = 5;
const HEAD_PX = 15;
/** By how much what a node bears may stand out of its box. */
const MORE_REACH = 10;
const LEAST_EDGE_SCALE = 0.1;

/**
 * @typedef {{kind: "node"|"more"|"edge"|"module"|"graph"|"none", number: number}} Target more: the number on a node that
 *   counts neighbours that are not drawn
 */

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../scene/scene.js").PaneScene} pane
 * @param {import("./viewport.js").View} view @param {number} px @param {number} py @returns {Target}
 */
export function targetUnder(scene, pane, view, px, py) {
  const [x, y] = toScene(view, px, py);
  const more = moreUnder(scene, pane, x, y);
  if (more >= 0) return { kind: "more", number: more };
  const node = nodeUnder(scene, pane, view, px, py);
  if (node >= 0) return { kind: "node", number: node };
  const module = moduleUnder(scene, pane, view, x, y);
  if (module >= 0) return { kind: "module", number: module };
  const graph = graphUnder(pane, view, x, y);
  if (graph >= 0) return { kind: "graph", number: graph };
  const edge = view.scale >= LEAST_EDGE_SCALE ? edgeUnder(scene, pane, view, x, y) : -1;
  return edge >= 0 ? { kind: "edge", number: edge } : { kind: "none", number: -1 };
}

/**
 * @param {import("../scene/scene.js").Scene} scene
 * @param {import("../scene/scene.js").PaneScene} pane
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

/** @returns {number} the node whose neighbours that are not drawn can be opened or tucked away there, or -1 */
function moreUnder(scene, pane, x, y) {
  if (!scene.columns.get("node.more")?.length) return -1;
  let found = -1;
  pane.nodeTree.query(x - MORE_REACH, y - MORE_REACH, x + MORE_REACH, y + MORE_REACH, (i) => {
    const box = moreBox(scene, pane.first + i);
    const within = box && x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height;
    if (within && scene.besideOf(pane.first + i)) found = pane.first + i;
  });
  return found;
}

/** @returns {number} the closed module there, or the open one whose head is there, or -1 */
function moduleUnder(scene, pane, view, x, y) {
  let best = -1;
  pane.blockTree.query(x, y, x, y, (i) => {
    const { at, block } = moduleBoxOf(pane, i);
    const isClosed = pane.closed.has(block);
    const tall = scene.blocks[3][at] * view.scale > 2 * HEAD_PX;
    if (block > best && (isClosed || (tall && (y - scene.blocks[1][at]) * view.scale < HEAD_PX))) best = block;
  });
  return best;
}

/** @returns {number} the graph whose title is there, or -1 */
function graphUnder(pane, view, x, y) {
  if (TITLE_HEIGHT * view.scale < 6) return -1;
  const under = pane.graphs.find((graph) => {
    const { left, top, right, bottom } = frameOf(graph);
    return (
      graph.title &&
      !isTucked(graph) &&
      x >= left &&
      x <= right &&
      y >= top &&
      y <= (graph.closed ? bottom : top + TITLE_HEIGHT)
    );
  });
  return under ? under.number : -1;
}

/** @returns {number} the nearest edge within a few pixels, or -1 */
export function edgeUnder(scene, pane, view, x, y) {
  const reach = EDGE_REACH_PX / view.scale;
  let [best, least] = [-1, reach];
  pane.edgeTree.query(x - reach, y - reach, x + reach, y + reach, (i) => {
    const edge = pane.firstEdge + i;
    const away = distanceTo(scene, edge, x, y);
    if (away < least) [best, least] = [edge, away];
  });
  return best;
}

function distanceTo({ cornerStart, cornerX, cornerY }, edge, x, y) {
  let least = Infinity;
  for (let i = cornerStart[edge] + 1; i < cornerStart[edge + 1]; i++) {
    const [ax, ay, bx, by] = [cornerX[i - 1], cornerY[i - 1], cornerX[i], cornerY[i]];
    const length = (bx - ax) ** 2 + (by - ay) ** 2;
    const part = length ? Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length)) : 0;
    least = Math.min(least, Math.hypot(x - ax - part * (bx - ax), y - ay - part * (by - ay)));
  }
  return least;
}
