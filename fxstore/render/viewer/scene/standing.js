// Where what a pane shows stands on the page: folded, cut into columns, its graphs beside and under each other.

import {
  blockBoxes,
  edgeBoxes,
  frameOf,
  hideEdges,
  isTucked,
  nodeBoxes,
  placeGraphs,
} from "./boxes.js";
import { BoxTree } from "./blocks.js";
import { foldCorners } from "./folding.js";

export const IN_CLOSED_GRAPH = -2;
const CLOSED_GRAPH_WIDTH = 300;

/**
 * Moves a pane's nodes, corners and blocks to where its graphs stand, folded and cut, and indexes them.
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @param {import("./columns.js").Fold} fold @param {import("./columns.js").Columned|null} cut
 */
export function placePane(scene, pane, { around, maps }, cut) {
  pane.around = around;
  pane.slices = [];
  const cuts = pane.graphs.map((graph) => cut?.cuts.get(graph.number));
  for (const [i, graph] of pane.graphs.entries()) {
    graph.closed = pane.closedGraphs.has(graph.number);
    graph.height = graph.closed ? 0 : (cuts[i]?.height ?? maps[i](graph.fullHeight));
    graph.width = graph.closed ? Math.min(CLOSED_GRAPH_WIDTH, graph.fullWidth) : (cuts[i]?.width ?? graph.fullWidth);
  }
  const localY = (node) => {
    const i = pane.graphs.findIndex((graph) => node < graph.first + graph.nodes);
    const y = maps[i](scene.base.y[node]);
    return cuts[i] ? cuts[i].at(0, y)[1] : y;
  };
  pane.extent = placeGraphs(pane.graphs, localY);
  const folds = pane.closed.size > 0 || pane.closedGraphs.size > 0;
  for (const [i, graph] of pane.graphs.entries()) {
    if (isTucked(graph)) tuckGraph(scene, graph);
    else if (graph.closed) hideGraph(scene, graph);
    else putGraph(scene, pane, graph, folds ? maps[i] : null, cut);
  }
  pane.nodeTree = new BoxTree(nodeBoxes(scene, pane.first, pane.end));
  pane.blockTree = new BoxTree(blockBoxes(scene, pane));
  const edges = edgeBoxes(scene, pane.firstEdge, pane.endEdge);
  if (folds) hideEdges(scene, pane, edges);
  pane.edgeTree = new BoxTree(edges);
}

/**
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @param {import("./boxes.js").Graph} graph
 * @param {((y: number) => number)|null} map of folded heights @param {import("./columns.js").Columned|null} cut
 */
function putGraph(scene, pane, graph, map, cut) {
  const { base } = scene;
  const nodes = [graph.first, graph.first + graph.nodes];
  const corners = [scene.cornerStart[graph.firstEdge], scene.cornerStart[graph.firstEdge + graph.edges]];
  movedPart(base.x, scene.x, nodes, graph.x);
  movedPart(base.y, scene.y, nodes, graph.y, map);
  movedPart(base.width, scene.width, nodes, 0);
  movedPart(base.height, scene.height, nodes, 0);
  if (map && !cut) foldCorners(scene, graph, map, scene.cornerX, scene.cornerY);
  const lines = cut ?? (map ? scene : base);
  movedPart(lines.cornerX, scene.cornerX, corners, graph.x);
  movedPart(lines.cornerY, scene.cornerY, corners, graph.y);
  const columns = cut?.cuts.get(graph.number);
  if (columns) wrapGraph(scene, pane, graph, columns, cut.slices.get(graph.number));
  else putBlocks(scene, graph, pane.closed, (y) => (map ? map(y) : y) + graph.y);
  for (let node = nodes[0]; map && node < nodes[1]; node++) {
    const b = scene.holder[node];
    if (b < 0) continue;
    const [left, top, width, height] = scene.blocks.map((column) => column[b]);
    standNode(scene, node, left + width / 2, top + height / 2, width, height);
  }
}

function putBlocks(scene, graph, closed, down) {
  const { blocks } = scene.base;
  for (let b = graph.firstBlock; b < graph.firstBlock + graph.blocks; b++) {
    const [left, width] = widthOf(scene, b, closed.has(b));
    const [top, bottom] = [down(blocks[1][b]), down(blocks[1][b] + blocks[3][b])];
    setBlock(scene, b, [left + graph.x, top, width, bottom - top]);
  }
}

/** Moves the nodes of a graph into its columns, and puts the pieces of its modules there. */
function wrapGraph(scene, pane, graph, columns, slices) {
  for (let node = graph.first; node < graph.first + graph.nodes; node++) {
    const [x, y] = columns.at(scene.x[node] - graph.x, scene.y[node] - graph.y);
    [scene.x[node], scene.y[node]] = [x + graph.x, y + graph.y];
  }
  let last = -1;
  for (const { block, box } of slices) {
    const [left, width] = widthOf(scene, block, pane.closed.has(block));
    const at = block === last ? scene.pieces++ : block;
    if (block === last) pane.slices.push({ at, block });
    setBlock(scene, at, [box[0] - scene.base.blocks[0][block] + left + graph.x, box[1] + graph.y, width, box[3]]);
    last = block;
  }
}

function setBlock(scene, at, box) {
  for (const [side, value] of box.entries()) scene.blocks[side][at] = value;
}

/** @returns {[number, number]} left and width of a block; a closed one may be narrower */
function widthOf(scene, block, isClosed) {
  const { blocks, closed } = scene.base;
  const [left, width] = isClosed && closed[1].length ? closed : [blocks[0], blocks[2]];
  return [left[block], width[block]];
}

/** Puts all nodes of a closed graph where its title is. */
function hideGraph(scene, graph) {
  const { left, top, right, bottom } = frameOf(graph);
  for (let node = graph.first; node < graph.first + graph.nodes; node++) {
    scene.holder[node] = IN_CLOSED_GRAPH;
    standNode(scene, node, (left + right) / 2, (top + bottom) / 2, right - left, bottom - top);
  }
}

/** Puts all nodes of a closed graph where the node is that it belongs to. */
function tuckGraph(scene, { first, nodes, parent }) {
  for (let node = first; node < first + nodes; node++) {
    scene.holder[node] = IN_CLOSED_GRAPH;
    standNode(scene, node, scene.x[parent], scene.y[parent], scene.width[parent], scene.height[parent]);
  }
}

function standNode(scene, node, x, y, width, height) {
  [scene.x[node], scene.y[node], scene.width[node], scene.height[node]] = [x, y, width, height];
}

/** Copies a part of some lengths, mapped and then shifted. */
function movedPart(values, out, [from, to], by, map = null) {
  if (!map && !by) return out.set(values.subarray(from, to), from);
  for (let i = from; i < to; i++) out[i] = (map ? map(values[i]) : values[i]) + by;
}
