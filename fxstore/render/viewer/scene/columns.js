// A page whose tall graphs stand in columns: what becomes of each edge and of each module's box.

import { Cut, cutTogether, isFar } from "./columns.js";
import { foldCorners } from "./folding.js";

/**
 * @typedef {{maps: ((y: number) => number)[], around: Int32Array|null}} Fold of a pane: from each graph's own y to the
 *   folded one
 * @typedef {{cuts: Map<number, Cut>, cornerStart: Int32Array, cornerX: Float32Array, cornerY: Float32Array,
 *   stub: Uint8Array, slices: Map<number, {block: number, box: number[]}[]>}} Columned
 *   cuts: of each graph that is cut, by its number; corners: within each graph; slices: of each graph that is cut, the
 *   pieces of its modules' boxes, first pieces first
 */

/** @param {import("./scene.js").Scene} scene @param {Fold[]} folds of all panes @returns {Columned} */
export function columned(scene, folds) {
  const cuts = new Map();
  for (const group of groupsOf(scene.panes)) {
    const shown = group.filter(({ pane }) => scene.shown?.includes(pane.number));
    const part = ({ pane, at, graph }) => partOfPane(scene, pane, graph, folds[pane.number], at);
    const heights = cutTogether((shown.length ? shown : group).map(part));
    if (heights.length < 3) continue;
    for (const { graph } of group) cuts.set(graph.number, new Cut(heights, graph.fullWidth));
  }
  const out = { cuts, slices: new Map(), ...cutLines(scene, folds, cuts) };
  for (const pane of scene.panes)
    for (const [at, graph] of pane.graphs.entries()) {
      const cut = cuts.get(graph.number);
      if (cut) out.slices.set(graph.number, slicesOf(scene, pane, graph, folds[pane.number], at, cut));
    }
  return out;
}

/** @returns {{pane: any, at: number, graph: import("./place.js").Graph}[][]} open graphs of one title, one per pane */
function groupsOf(panes) {
  const groups = new Map();
  for (const pane of panes) {
    const own = new Map();
    for (const [at, graph] of pane.graphs.entries())
      if (!graph.beside && !pane.closedGraphs.has(graph.number)) own.set(graph.title, { pane, at, graph });
    for (const [title, entry] of own) groups.set(title, [...(groups.get(title) ?? []), entry]);
  }
  return [...groups.values()];
}

/** @returns {import("./columns.js").Part} */
function partOfPane(scene, pane, graph, { maps, around }, at) {
  const { base, holder } = scene;
  const map = maps[at];
  const spans = (from, to, ends) => {
    const out = [];
    for (let i = from; i < to; i++) {
      const span = ends(i);
      if (span) out.push(span);
    }
    return out;
  };
  const node = (i) =>
    holder[i] < 0 && { top: map(base.y[i]) - base.height[i] / 2, bottom: map(base.y[i]) + base.height[i] / 2 };
  const block = (b) => {
    const top = base.blocks[1][b];
    return { top: map(top), bottom: map(top + base.blocks[3][b]) };
  };
  const isClosed = (b) => around !== null && around[b - pane.hierarchy.first] === b;
  const isOpen = (b) => around === null || around[b - pane.hierarchy.first] < 0;
  const line = (edge) => {
    const [first, end] = [base.cornerStart[edge], base.cornerStart[edge + 1]];
    if (first === end || scene.isHidden(edge)) return null;
    const [a, b] = [map(base.cornerY[first]), map(base.cornerY[end - 1])];
    return { top: Math.min(a, b), bottom: Math.max(a, b) };
  };
  const [nodes, blocks] = [graph.first + graph.nodes, graph.firstBlock + graph.blocks];
  return {
    width: graph.fullWidth,
    height: map(graph.fullHeight),
    boxes: [
      ...spans(graph.first, nodes, node),
      ...spans(graph.firstBlock, blocks, (b) => isClosed(b) && block(b)),
    ],
    blocks: spans(graph.firstBlock, blocks, (b) => isOpen(b) && block(b)),
    lines: spans(graph.firstEdge, graph.firstEdge + graph.edges, line),
  };
}

/** The lines of all edges, each within its graph. */
function cutLines(scene, folds, cuts) {
  const { base } = scene;
  const [x, y, start] = [[], [], [0]];
  const [foldedX, foldedY] = [base.cornerX.slice(), base.cornerY.slice()];
  const stub = Uint8Array.from({ length: scene.edgeSrc.length }, (_, edge) => base.stub[edge] ?? 0);
  for (const pane of scene.panes)
    for (const [at, graph] of pane.graphs.entries()) {
      const [map, cut] = [folds[pane.number].maps[at], cuts.get(graph.number)];
      foldCorners(scene, graph, map, foldedX, foldedY);
      for (let edge = graph.firstEdge; edge < graph.firstEdge + graph.edges; edge++) {
        let line = [];
        for (let i = base.cornerStart[edge]; i < base.cornerStart[edge + 1]; i++)
          line.push([foldedX[i], foldedY[i]]);
        if (cut && line.length) {
          const up = line[0][1] > line.at(-1)[1];
          const span = { top: line[0][1], bottom: line.at(-1)[1] };
          if (cut.columnOf(span.top) !== cut.columnOf(span.bottom) && isFar(span)) stub[edge] = 1;
          line = up ? cut.through(line.reverse()).reverse() : cut.through(line);
        }
        for (const [px, py] of line) {
          x.push(px);
          y.push(py);
        }
        start.push(x.length);
      }
    }
  return {
    cornerStart: Int32Array.from(start),
    cornerX: Float32Array.from(x),
    cornerY: Float32Array.from(y),
    stub,
  };
}

/** The pieces of a graph's module boxes; the first one of each module comes before all further ones. */
function slicesOf(scene, pane, graph, { maps, around }, at, cut) {
  const [lefts, tops, widths, heights] = scene.base.blocks;
  const out = [];
  for (let b = graph.firstBlock; b < graph.firstBlock + graph.blocks; b++) {
    const top = maps[at](tops[b]);
    const height = maps[at](tops[b] + heights[b]) - top;
    if (around !== null && around[b - pane.hierarchy.first] >= 0) {
      const [left, y] = cut.at(lefts[b], top);
      out.push({ block: b, box: [left, y, widths[b], height] });
    } else for (const box of cut.slices(lefts[b], top, widths[b], height)) out.push({ block: b, box });
  }
  return out;
}
