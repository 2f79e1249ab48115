// Where the graphs of one pane stand: top graphs side by side, nested ones to the right of the graph that calls them,
// as near to the calling node's height as the graphs before them allow.

export const TITLE_HEIGHT = 26;
const PADDING = 14;
const GAP = 56;
const MOST_DRIFT = 400;
const MOST_COLUMNS = 8;

/**
 * @typedef {{number: number, title: string, first: number, nodes: number, firstEdge: number, edges: number,
 *   firstBlock: number, blocks: number, parent: number, width: number, height: number, x: number, y: number}} Graph
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {{graph: Graph, width: number, height: number, callees: {part: Family, dx: number, dy: number}[]}} Family
 *   a graph with all that it calls, as one block
 */

/**
 * Sets `x` and `y`, the scene's position of each drawing's top left corner.
 * @param {Graph[]} graphs of one pane
 * @param {(node: number) => number} localY a node's y within its drawing
 * @returns {Box} the extent of all
 */
export function placeGraphs(graphs, localY) {
  const calls = callsOf(graphs, localY);
  const called = new Set([...calls.values()].flat());
  const seen = new Set();
  const box = { left: 0, top: 0, right: 0, bottom: 0 };
  for (const root of [...graphs.filter((graph) => !called.has(graph)), ...graphs]) {
    if (seen.has(root)) continue;
    const family = familyOf(root, calls, localY, seen);
    settle(family, box.right ? box.right + GAP : 0, 0);
    box.right = (box.right ? box.right + GAP : 0) + family.width;
    box.bottom = Math.max(box.bottom, family.height);
  }
  return box;
}

/** @param {Graph} graph @returns {Box} the frame around a graph; without a title there is none, only its extent */
export function frameOf(graph) {
  const pad = graph.title ? PADDING : 0;
  return {
    left: graph.x - pad,
    top: graph.y - pad - headOf(graph),
    right: graph.x + graph.width + pad,
    bottom: graph.y + graph.height + pad,
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
  const [width, height] = [graph.width + 2 * pad, graph.height + 2 * pad + headOf(graph)];
  const family = { graph, width, height, callees: [] };
  const columns = [];
  for (const callee of calls.get(graph) ?? []) {
    if (seen.has(callee)) continue;
    const part = familyOf(callee, calls, localY, seen);
    const wanted = Math.max(0, localY(callee.parent) + pad + headOf(graph) - TITLE_HEIGHT - PADDING);
    const column = columnFor(columns, wanted);
    const dy = Math.max(column.free, wanted);
    column.free = dy + part.height + GAP / 2;
    column.width = Math.max(column.width, part.width);
    column.members.push({ part, dx: 0, dy });
  }
  for (const column of columns) {
    for (const member of column.members) family.callees.push({ ...member, dx: family.width + GAP });
    family.width += GAP + column.width;
    family.height = Math.max(family.height, column.free - GAP / 2);
  }
  return family;
}

/** @returns the first column where a graph can stand near its caller, else a new one, else the one with most room */
function columnFor(columns, wanted) {
  const near = columns.find((column) => column.free <= wanted + MOST_DRIFT);
  if (near) return near;
  if (columns.length >= MOST_COLUMNS) return columns.reduce((a, b) => (b.free < a.free ? b : a));
  columns.push({ free: 0, width: 0, members: [] });
  return columns.at(-1);
}

/** @param {Family} family @param {number} left @param {number} top */
function settle({ graph, callees }, left, top) {
  graph.x = left + (graph.title ? PADDING : 0);
  graph.y = top + (graph.title ? PADDING : 0) + headOf(graph);
  for (const { part, dx, dy } of callees) settle(part, left + dx, top + dy);
}
