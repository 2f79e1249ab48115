// The boxes of nodes, edges and modules as a spatial index wants them; what cannot be seen is nowhere.

/** @param {Float32Array} out @param {number} at */
function nowhere(out, at) {
  out.fill(Infinity, at, at + 2).fill(-Infinity, at + 2, at + 4);
}

/** @param {import("./scene.js").Scene} scene @param {number} first @param {number} end @returns {Float32Array} of nodes */
export function nodeBoxes({ x, y, width, height, holder }, first, end) {
  const out = new Float32Array((end - first) * 4);
  for (let node = first, at = 0; node < end; node++, at += 4) {
    if (holder[node] !== -1) {
      nowhere(out, at);
      continue;
    }
    const [halfWidth, halfHeight] = [width[node] / 2, height[node] / 2];
    out[at] = x[node] - halfWidth;
    out[at + 1] = y[node] - halfHeight;
    out[at + 2] = x[node] + halfWidth;
    out[at + 3] = y[node] + halfHeight;
  }
  return out;
}

/** @param {import("./scene.js").Scene} scene @param {number} first @param {number} end @returns {Float32Array} of edges */
export function edgeBoxes(scene, first, end) {
  const { cornerStart, cornerX, cornerY } = scene;
  const out = new Float32Array((end - first) * 4);
  for (let edge = first, at = 0; edge < end; edge++, at += 4) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    const stop = cornerStart[edge + 1];
    for (let i = cornerStart[edge]; i < stop; i++) {
      const [x, y] = [cornerX[i], cornerY[i]];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
    [out[at], out[at + 1], out[at + 2], out[at + 3]] = [left, top, right, bottom];
  }
  return out;
}

/** @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane @param {Float32Array} boxes of its edges */
export function hideEdges(scene, pane, boxes) {
  for (let edge = pane.firstEdge; edge < pane.endEdge; edge++)
    if (scene.isHidden(edge)) nowhere(boxes, (edge - pane.firstEdge) * 4);
}

/**
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @returns {Float32Array} of its modules, then of their further pieces
 */
export function blockBoxes({ blocks }, pane) {
  const [lefts, tops, widths, heights] = blocks;
  const first = pane.graphs[0]?.firstBlock ?? 0;
  const count = countBlocks(pane);
  const out = new Float32Array((count + pane.slices.length) * 4);
  const put = (i, b) => out.set([lefts[b], tops[b], lefts[b] + widths[b], tops[b] + heights[b]], i * 4);
  for (let i = 0; i < count; i++) {
    const b = first + i;
    if (pane.around && pane.around[i] >= 0 && pane.around[i] !== b) nowhere(out, i * 4);
    else put(i, b);
  }
  for (const { closed, firstBlock, blocks: own } of pane.graphs)
    if (closed) for (let b = firstBlock; b < firstBlock + own; b++) nowhere(out, (b - first) * 4);
  for (const [i, { at }] of pane.slices.entries()) put(count + i, at);
  return out;
}

/**
 * What an entry of a pane's `blockTree` is.
 * @param {import("./scene.js").PaneScene} pane @param {number} i
 * @returns {{at: number, block: number}} its place in `Scene.blocks`, and the module whose box, or piece of one, it is
 */
export function moduleBoxOf(pane, i) {
  const [first, count] = [pane.graphs[0]?.firstBlock ?? 0, countBlocks(pane)];
  return i < count ? { at: first + i, block: first + i } : pane.slices[i - count];
}

function countBlocks(pane) {
  return pane.graphs.reduce((sum, graph) => sum + graph.blocks, 0);
}
