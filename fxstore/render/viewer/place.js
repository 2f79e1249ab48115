// Where the graphs of one pane stand: nested ones beside or under the graph that calls them.

import { arranged } from "./arrange.js";

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
