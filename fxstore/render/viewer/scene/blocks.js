// The hierarchy of module boxes in a pane: which box holds which, and the innermost one of every node.

import { BoxTree } from "./boxtree.js";

const NONE = -1;

/**
 * @typedef {{parent: Int32Array, depth: Int32Array, of: Int32Array, first: number, end: number, firstNode: number}} Hierarchy
 *   parent: of each block of the pane, or -1; depth: 0 for outermost ones; of: innermost block of each node of the pane,
 *   or -1. Blocks have their numbers on the page; both arrays begin at the pane's first block, `of` at its first node.
 */

/** @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane @returns {Hierarchy} */
export function hierarchyOf(scene, pane) {
  const { firstBlock: first } = pane.graphs[0] ?? { firstBlock: 0 };
  const last = pane.graphs.at(-1);
  const end = last ? last.firstBlock + last.blocks : first;
  const out = {
    parent: new Int32Array(end - first).fill(NONE),
    depth: new Int32Array(end - first),
    of: new Int32Array(pane.end - pane.first).fill(NONE),
    first,
    end,
    firstNode: pane.first,
  };
  for (const graph of pane.graphs) fill(scene, graph, out);
  return out;
}

/** Within one graph: positions in its own drawing, where blocks come outermost first. */
function fill(scene, graph, out) {
  const [left, top, width, height] = scene.base.blocks;
  const { firstBlock, blocks, first, nodes } = graph;
  const boxes = new Float32Array(blocks * 4);
  for (let i = 0; i < blocks; i++) {
    const b = firstBlock + i;
    boxes.set([left[b], top[b], left[b] + width[b], top[b] + height[b]], i * 4);
  }
  const tree = new BoxTree(boxes);
  const innermost = (x, y, before) => {
    let best = NONE;
    tree.query(x, y, x, y, (i) => {
      if (i < before && i > best) best = i;
    });
    return best < 0 ? NONE : firstBlock + best;
  };
  for (let i = 0; i < blocks; i++) {
    const b = firstBlock + i;
    const parent = innermost(left[b] + width[b] / 2, top[b] + height[b] / 2, i);
    out.parent[b - out.first] = parent;
    if (parent >= 0) out.depth[b - out.first] = out.depth[parent - out.first] + 1;
  }
  for (let node = first; node < first + nodes; node++)
    out.of[node - out.firstNode] = innermost(scene.base.x[node], scene.base.y[node], Infinity);
}

/** @param {Hierarchy} hierarchy @param {number} block @returns {number} */
export function parentOf({ parent, first }, block) {
  return parent[block - first];
}

/**
 * @param {Hierarchy} hierarchy @param {Set<number>} closed
 * @returns {Int32Array} for each block of the pane the outermost closed one that holds it or is it, or -1
 */
export function closedAround({ parent, first, end }, closed) {
  const out = new Int32Array(end - first).fill(NONE);
  for (let b = first; b < end; b++) {
    const above = parent[b - first] >= 0 ? out[parent[b - first] - first] : NONE;
    out[b - first] = above >= 0 ? above : closed.has(b) ? b : NONE;
  }
  return out;
}
