// The hierarchy of module boxes in a pane: which box holds which, and the innermost one of every node.

// A spatial index: boxes in their given order, packed into groups of sixteen, level by level. Built in linear time,
// without sorting, since drawings list their nodes and edges roughly from top to bottom.

const FAN = 16;

export class BoxTree {
  /** @param {Float32Array} boxes left, top, right, bottom of each */
  constructor(boxes) {
    this.levels = [boxes];
    while (this.levels.at(-1).length > 4 * FAN) this.levels.push(group(this.levels.at(-1)));
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} right
   * @param {number} bottom
   * @param {(index: number) => void} visit
   */
  query(left, top, right, bottom, visit) {
    this.some(left, top, right, bottom, (index) => {
      visit(index);
      return false;
    });
  }

  /**
   * @param {number} left @param {number} top @param {number} right @param {number} bottom
   * @param {(index: number) => boolean} test
   * @returns {boolean} whether it holds for any box that touches the given one; no further one is asked then
   */
  some(left, top, right, bottom, test) {
    const levels = this.levels;
    const walk = (depth, from, to) => {
      const boxes = levels[depth];
      const end = Math.min(to, boxes.length / 4);
      for (let i = from; i < end; i++) {
        const at = i * 4;
        if (boxes[at] > right || boxes[at + 2] < left || boxes[at + 1] > bottom || boxes[at + 3] < top) continue;
        if (depth ? walk(depth - 1, i * FAN, (i + 1) * FAN) : test(i)) return true;
      }
      return false;
    };
    return walk(levels.length - 1, 0, FAN);
  }
}

/** @param {Float32Array} boxes @returns {Float32Array} the boxes around each group of sixteen */
function group(boxes) {
  const out = new Float32Array(Math.ceil(boxes.length / 4 / FAN) * 4);
  for (let to = 0, from = 0; to < out.length; to += 4) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const end = Math.min(boxes.length, from + 4 * FAN); from < end; from += 4) {
      if (boxes[from] < left) left = boxes[from];
      if (boxes[from + 1] < top) top = boxes[from + 1];
      if (boxes[from + 2] > right) right = boxes[from + 2];
      if (boxes[from + 3] > bottom) bottom = boxes[from + 3];
    }
    [out[to], out[to + 1], out[to + 2], out[to + 3]] = [left, top, right, bottom];
  }
  return out;
}

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

// Takes empty height out of a drawing: a map of y that only ever brings things closer and keeps their order.

/** @typedef {{from: number, to: number}} Span */

/** @param {Span[]} spans @returns {Span[]} sorted, those that touch joined */
export function joined(spans) {
  const out = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else if (to > from) out.push({ from, to });
  }
  return out;
}

/** @param {Span[]} spans joined @param {Span[]} taken joined @returns {Span[]} what is in `spans` and not in `taken` */
export function without(spans, taken) {
  const out = [];
  let at = 0;
  for (const { from, to } of spans) {
    let begin = from;
    while (at < taken.length && taken[at].to <= begin) at++;
    for (let i = at; i < taken.length && taken[i].from < to; i++) {
      if (taken[i].from > begin) out.push({ from: begin, to: taken[i].from });
      begin = Math.max(begin, taken[i].to);
    }
    if (begin < to) out.push({ from: begin, to });
  }
  return out;
}

/** @param {Span[]} removed joined @returns {(y: number) => number} where a y comes to stand once these are gone */
export function squeezed(removed) {
  const before = new Float64Array(removed.length + 1);
  for (const [i, { from, to }] of removed.entries()) before[i + 1] = before[i] + (to - from);
  return (y) => {
    let [low, high] = [0, removed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (removed[middle].from < y) low = middle + 1;
      else high = middle;
    }
    if (!low) return y;
    const { from, to } = removed[low - 1];
    return y < to ? from - before[low - 1] : y - before[low];
  };
}
