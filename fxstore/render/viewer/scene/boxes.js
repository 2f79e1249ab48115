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

// Boxes packed so that all of them together can be shown large in a pane, which is usually tall and narrow.

const GAP = 56;
/** By how much the next width to try is wider. */
const STEP = 1.15;
/** A pane as it usually is: a sixth of a screen. Its shape is what counts. */
const PANE = { width: 240, height: 600 };
/** How much of the best scale may be given for standing near the caller. */
const WORTH = 0.9;

/**
 * @typedef {{width: number, height: number, wanted: number}} Part wanted: the y at which it would best stand
 * @typedef {{x: number, y: number}} Point
 * @typedef {{width: number, height: number, at: Point[]}} Arrangement at: the top left corner of each part
 */

/**
 * Of arrangements of several widths those that fit about as large as the best, and of those the one whose parts stand
 * nearest to where they want to be.
 * @param {Part[]} parts in order
 * @param {{width: number, height: number}|null} head what stands in the top left corner already
 * @returns {Arrangement}
 */
export function arranged(parts, head) {
  const boxes = head ? [head, ...parts] : parts;
  if (!parts.length) return { width: head?.width ?? 0, height: head?.height ?? 0, at: [] };
  const widest = boxes.reduce((sum, box) => sum + box.width + GAP, 0);
  const tried = [];
  let best = 0;
  for (let most = Math.max(1, ...boxes.map((box) => box.width)); most < widest * STEP; most *= STEP) {
    for (const near of [true, false]) tried.push(packed(parts, head, most, near));
    best = Math.max(best, ...tried.slice(-2).map(scaleOf));
    if (PANE.width / most < WORTH * best) break;
  }
  const good = tried.filter((one) => scaleOf(one) >= WORTH * best);
  const drifts = good.map((one) => driftOf(one, parts, head?.width ?? 0));
  return good[drifts.indexOf(Math.min(...drifts))];
}

function scaleOf({ width, height }) {
  return Math.min(1, PANE.width / Math.max(1, width), PANE.height / Math.max(1, height));
}

function driftOf({ at }, parts, right) {
  return at.reduce((sum, { x, y }, i) => sum + Math.abs(y - parts[i].wanted) + Math.max(0, x - right - GAP), 0);
}

/**
 * One part after the other, each where it stands highest, or `near` where it wants to be, within `most` pixels of width.
 */
function packed(parts, head, most, near) {
  const line = [{ left: 0, bottom: 0 }];
  const out = { width: head?.width ?? 0, height: head?.height ?? 0, at: [] };
  if (head) raise(line, 0, head.width + GAP, head.height + GAP / 2);
  for (const { width, height, wanted } of parts) {
    let best = null;
    for (const { left: x } of line) {
      if (x && x + width > most) continue;
      const free = lowest(line, x, x + width + GAP / 2);
      const y = near ? Math.max(free, wanted) : free;
      if (!best || y < best.y) best = { x, y };
    }
    raise(line, best.x, best.x + width + GAP, best.y + height + GAP / 2);
    out.at.push(best);
    out.width = Math.max(out.width, best.x + width);
    out.height = Math.max(out.height, best.y + height);
  }
  return out;
}

/** @returns {number} the lowest bottom of the skyline between two x: steps from left to right, the last one without end */
function lowest(line, from, to) {
  let out = 0;
  for (const [i, { left, bottom }] of line.entries())
    if (left < to && (line[i + 1]?.left ?? Infinity) > from) out = Math.max(out, bottom);
  return out;
}

/** Sets the skyline between two x. */
function raise(line, from, to, bottom) {
  const after = line.findLast(({ left }) => left <= to).bottom;
  const kept = line.filter(({ left }) => left < from || left > to);
  kept.push({ left: from, bottom }, { left: to, bottom: after });
  line.splice(0, line.length, ...kept.sort((a, b) => a.left - b.left));
}

// Where the graphs of one pane stand: nested ones beside or under the graph that calls them.


export const TITLE_HEIGHT = 26;
const PADDING = 14;
const BESIDE_GAP = 56;

/**
 * @typedef {{number: number, title: string, first: number, nodes: number, firstEdge: number, edges: number,
 *   firstBlock: number, blocks: number, parent: number, beside?: boolean, width: number, height: number,
 *   fullWidth: number, fullHeight: number, closed: boolean, x: number, y: number}} Graph
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{graph: Graph, width: number, height: number, callees: {part: Family, dx: number, dy: number}[]}} Family
 *   a graph with all that it calls, as one block
 */

/**
 * Sets `x` and `y`, the scene's position of each drawing's top left corner.
 * @param {Graph[]} all graphs of one pane
 * @param {(node: number) => number} localY a node's y within its drawing
 * @returns {Box} the extent of all
 */
export function placeGraphs(all, localY) {
  const graphs = all.filter((graph) => !graph.beside);
  const calls = callsOf(graphs, localY);
  const called = new Set([...calls.values()].flat());
  const seen = new Set();
  const families = [];
  for (const root of [...graphs.filter((graph) => !called.has(graph)), ...graphs])
    if (!seen.has(root)) families.push(familyOf(root, calls, localY, seen));
  const parts = families.map(({ width, height }) => ({ width, height, wanted: 0 }));
  const { width, height, at } = arranged(parts, null);
  for (const [i, family] of families.entries()) settle(family, at[i].x, at[i].y);
  const beside = all.filter((graph) => graph.beside && !graph.closed);
  return putBeside(beside, graphs, localY, { left: 0, top: 0, right: width, bottom: height });
}

/** Puts what was left out to the right of everything, as high as the node that it belongs to: nothing else moves. */
function putBeside(beside, graphs, localY, extent) {
  const height = ({ parent }) => {
    const caller = graphs.find(({ first, nodes }) => parent >= first && parent < first + nodes);
    return (caller?.y ?? 0) + localY(parent);
  };
  const left = extent.right + (beside.length ? BESIDE_GAP : 0);
  let [{ right, bottom }, free] = [extent, 0];
  for (const graph of [...beside].sort((a, b) => height(a) - height(b))) {
    graph.x = left + PADDING;
    graph.y = Math.max(free, height(graph)) + PADDING + TITLE_HEIGHT;
    free = graph.y + graph.height + PADDING + BESIDE_GAP / 2;
    right = Math.max(right, graph.x + graph.width + PADDING);
    bottom = Math.max(bottom, free - BESIDE_GAP / 2);
  }
  return { ...extent, right, bottom };
}

/** @param {Graph} graph @returns {boolean} whether it takes no room: left out until it is asked for */
export function isTucked({ beside, closed }) {
  return Boolean(beside && closed);
}

/** @param {Graph} graph @returns {Box} the frame around a graph; without a title there is none, only its extent */
export function frameOf(graph) {
  const pad = graph.title ? PADDING : 0;
  return {
    left: graph.x - pad,
    top: graph.y - pad - headOf(graph),
    right: graph.x + graph.width + pad,
    bottom: graph.y + (graph.closed ? 0 : graph.height + pad),
  };
}

function headOf(graph) {
  return graph.title ? TITLE_HEIGHT : 0;
}

/** @returns {Map<Graph, Graph[]>} the graphs that each graph calls, in the order of the calling nodes' heights */
function callsOf(graphs, localY) {
  const out = new Map();
  for (const graph of graphs) {
    const caller = graphs.find((other) => graph.parent >= other.first && graph.parent < other.first + other.nodes);
    if (!caller || caller === graph) continue;
    if (!out.has(caller)) out.set(caller, []);
    out.get(caller).push(graph);
  }
  for (const list of out.values()) list.sort((a, b) => localY(a.parent) - localY(b.parent) || a.number - b.number);
  return out;
}

/** @returns {Family} */
function familyOf(graph, calls, localY, seen) {
  seen.add(graph);
  const pad = graph.title ? PADDING : 0;
  const inner = graph.closed ? pad : graph.height + 2 * pad;
  const head = { width: graph.width + 2 * pad, height: inner + headOf(graph) };
  const callees = [];
  for (const callee of calls.get(graph) ?? []) {
    if (seen.has(callee)) continue;
    const part = familyOf(callee, calls, localY, seen);
    const wanted = Math.max(0, localY(callee.parent) + pad + headOf(graph) - TITLE_HEIGHT - PADDING);
    callees.push({ part, width: part.width, height: part.height, wanted });
  }
  const { width, height, at } = arranged(callees, head);
  return { graph, width, height, callees: callees.map(({ part }, i) => ({ part, dx: at[i].x, dy: at[i].y })) };
}

/** @param {Family} family @param {number} left @param {number} top */
function settle({ graph, callees }, left, top) {
  graph.x = left + (graph.title ? PADDING : 0);
  graph.y = top + (graph.title ? PADDING : 0) + headOf(graph);
  for (const { part, dx, dy } of callees) settle(part, left + dx, top + dy);
}
