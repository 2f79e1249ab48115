// A page whose tall graphs stand in columns: what becomes of each edge and of each module's box.

import { foldCorners } from "./folding.js";

// Graphs that are much taller than wide as columns beside each other, cut at the same heights in all panes.
// No node is cut. An edge that a cut meets goes on at the top of the next column, by way of the space between the two.

const COLUMN_GAP = 24;
/** A graph up to so many times as tall as wide stays one column. */
const MOST_COLUMN_ASPECT = 3;
/** A column may be this part shorter than the others for the sake of a better cut. */
const CUT_SEARCH = 0.1;
/** A piece of a module's box that is lower than its title is left out, unless there is no other. */
const LEAST_PIECE = 18;
/** An edge over a cut that reaches further down is drawn as a stub. */
const FAR_OVER_CUT = 600;

/**
 * @typedef {{top: number, bottom: number}} Span
 * @typedef {{width: number, height: number, boxes: Span[], blocks: Span[], lines: Span[]}} Part a graph of one pane: of
 *   what cannot be cut, of open modules and of edges the upper and lower ends
 */

/** Where a graph is cut, and where its parts go. */
export class Cut {
  /** @param {number[]} cuts height at which each column begins, and the last one ends @param {number} width of each column */
  constructor(cuts, width) {
    this.cuts = cuts;
    this.pitch = width + COLUMN_GAP;
    this.count = cuts.length - 1;
    this.width = this.count * this.pitch - COLUMN_GAP;
    this.height = Math.max(...cuts.slice(1).map((end, i) => end - cuts[i]));
    this.inner = cuts.slice(1, -1);
  }

  /** @param {number} y @returns {number} the column of what stands at that height */
  columnOf(y) {
    return countUpTo(this.inner, y);
  }

  /** @returns {[number, number]} where a point goes */
  at(x, y, column = this.columnOf(y)) {
    return [x + column * this.pitch, y - this.cuts[column]];
  }

  /** @param {[number, number][]} line downwards @returns {[number, number][]} the same through the columns */
  through(line) {
    const out = [];
    for (let i = 1; i < line.length; i++) this.#piece(line[i - 1], line[i], out);
    out.push(this.at(...line.at(-1)));
    return out;
  }

  #piece([x0, y0], [x1, y1], out) {
    const [first, last] = [this.columnOf(y0), this.columnOf(y1)];
    out.push(this.at(x0, y0, first));
    for (let column = first; column < last; column++) {
      const cut = this.cuts[column + 1];
      const x = x0 + ((x1 - x0) * (cut - y0)) / (y1 - y0);
      const [foot, head] = [this.at(x, cut, column), this.at(x, cut, column + 1)];
      const between = head[0] - x - COLUMN_GAP / 2;
      out.push(foot, [between, foot[1]], [between, head[1]], head);
    }
  }

  /** @returns {[number, number, number, number][]} a module's box, cut: left, top, width, height of each piece */
  slices(left, top, width, height) {
    const pieces = [];
    for (let column = 0; column < this.count; column++) {
      const [upper, lower] = [Math.max(top, this.cuts[column]), Math.min(top + height, this.cuts[column + 1])];
      if (lower > upper) pieces.push([...this.at(left, upper, column), width, lower - upper]);
    }
    const most = Math.max(...pieces.map(([, , , tall]) => tall));
    return pieces.filter(([, , , tall]) => tall >= Math.min(LEAST_PIECE, most));
  }
}

/** @param {Span} line @returns {boolean} whether an edge over a cut is drawn as a stub */
export function isFar({ top, bottom }) {
  return bottom - top > FAR_OVER_CUT;
}

/**
 * Cuts run where no node is, of the places near the wanted one where the fewest edges and modules are.
 * @param {Part[]} parts of the panes, brought to equal heights
 * @returns {number[]} the heights at which all are cut; the first is 0, the last the end
 */
export function cutTogether(parts) {
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const height = Math.max(0, ...parts.map((part) => part.height));
  const cuts = [0];
  if (height > MOST_COLUMN_ASPECT * width) {
    const { places, costs } = cutPlaces(parts);
    const share = height / Math.ceil(Math.sqrt(height / (width + COLUMN_GAP * parts.length)));
    while (height - cuts.at(-1) > share * (1 + CUT_SEARCH)) {
      const [low, high] = [1 - CUT_SEARCH, 1 + CUT_SEARCH].map((part) => countBelow(places, cuts.at(-1) + share * part));
      if (low === places.length) break;
      let best = low;
      for (let i = low; i < Math.max(high, low + 1); i++) if (costs[i] < costs[best]) best = i;
      cuts.push(places[best]);
    }
  }
  return [...cuts, height];
}

/** @param {Part[]} parts @returns {{places: number[], costs: number[]}} heights that no box is at, and what is there */
function cutPlaces(parts) {
  const [tops, bottoms] = endsOf(parts.flatMap(({ boxes }) => boxes));
  const places = [];
  for (let i = 0; i + 1 < bottoms.length; i++)
    if (countUpTo(tops, bottoms[i]) === i + 1) places.push((bottoms[i] + tops[i + 1]) / 2);
  const [begins, ends] = endsOf(parts.flatMap(({ blocks, lines }) => [...blocks, ...lines]));
  return { places, costs: places.map((y) => countBelow(begins, y) - countBelow(ends, y)) };
}

/** @param {Span[]} spans @returns {[Float64Array, Float64Array]} their upper and their lower ends, each in order */
function endsOf(spans) {
  return [
    Float64Array.from(spans, ({ top }) => top).sort(),
    Float64Array.from(spans, ({ bottom }) => bottom).sort(),
  ];
}

/** @returns {number} how many of some numbers in order are less */
export function countBelow(values, than) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < than) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @returns {number} how many of some numbers in order are not greater */
function countUpTo(values, than) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= than) low = middle + 1;
    else high = middle;
  }
  return low;
}

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

/** @returns {{pane: any, at: number, graph: import("./boxes.js").Graph}[][]} open graphs of one title, one per pane */
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
