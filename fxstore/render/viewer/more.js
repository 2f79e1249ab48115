// The number in a node's corner that counts its neighbours that are not drawn: `+4,951`, and `−` once some are.

import { grouped } from "./numbers.js";

const MORE_CHAR = 6.4;
const MORE_HEIGHT = 14;
const OUT = 4;

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {string} '' where all are drawn */
export function moreTextOf(scene, node) {
  const count = scene.columns.get("node.more")?.[node];
  if (!count) return "";
  const graph = scene.besideOf(node);
  if (!graph) return `+${grouped(count)}`;
  return graph.closed ? `+${grouped(count)} ▸` : `−${grouped(graph.nodes)}`;
}

/**
 * @param {import("./scene.js").Scene} scene @param {number} node
 * @returns {{left: number, top: number, width: number, height: number}|null} where it stands, in scene units
 */
export function moreBox(scene, node) {
  const text = moreTextOf(scene, node);
  if (!text) return null;
  const width = text.length * MORE_CHAR + 8;
  const [right, bottom] = [scene.x[node] + scene.width[node] / 2, scene.y[node] + scene.height[node] / 2];
  return { left: right - width + OUT, top: bottom - MORE_HEIGHT / 2, width, height: MORE_HEIGHT };
}
