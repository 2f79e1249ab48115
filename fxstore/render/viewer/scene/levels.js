// The drawings of a page as they stand when only some of its panes are in view: each height that the others have cost goes.

import { leveled, moveAt, undone } from "./leveling.js";

const GIVEN = new Set(["placeholder", "get_attr"]);
const QUANTISING = ["quantize_", "dequantize_", "choose_qparams"];
/** What an operator counts beside one that only quantises, and beside what a graph is given. */
const OPERATOR_WEIGHT = 1000;

/** @typedef {import("./leveling.js").Stretch} Stretch */

export class Levels {
  #flat = null;
  #weights = null;
  #nodes = null;

  /** @param {import("./scene.js").Scene} scene as its payload has it: level in all panes */
  constructor(scene) {
    this.scene = scene;
    this.given = scene.base;
    this.heights = scene.panes.flatMap(({ graphs }) => graphs.map(({ fullHeight }) => fullHeight));
    this.stretches = stretchesIn(scene.columns);
  }

  /**
   * @param {number[]} shown the panes in view
   * @returns {{base: import("./scene.js").Base, heights: number[]}} where everything stands in its own graph, and the
   *   height of each graph
   */
  of(shown) {
    if (!this.stretches || shown.length === this.scene.panes.length) return { base: this.given, heights: this.heights };
    const flat = (this.#flat ??= this.#moved(this.given, this.heights, this.stretches.map(undone)));
    const stretches = this.stretches.map(() => ({ at: new Float64Array(0), add: new Float64Array(0) }));
    for (const group of groupsIn(shown.map((pane) => this.scene.panes[pane]))) {
      const heights = group.map(({ number }) => this.#heightsIn(number, flat.base.y));
      for (const [i, stretch] of leveled(heights, (set) => this.#weightOf(set)).entries())
        stretches[group[i].number] = stretch;
    }
    return this.#moved(flat.base, flat.heights, stretches);
  }

  /** Moves everything down, or back up: nodes by their middles, the ends of edges with their nodes. */
  #moved(base, heights, stretches) {
    const { edgeSrc, edgeDst, panes } = this.scene;
    const { cornerStart } = base;
    const [lefts, tops, widths, tall] = base.blocks;
    const [y, cornerY, top, height] = [base.y, base.cornerY, tops, tall].map((column) => column.slice());
    for (const graph of panes.flatMap(({ graphs }) => graphs)) {
      const stretch = stretches[graph.number];
      for (let i = graph.first; i < graph.first + graph.nodes; i++) y[i] += moveAt(stretch, base.y[i]);
      for (let edge = graph.firstEdge; edge < graph.firstEdge + graph.edges; edge++) {
        const [first, last] = [cornerStart[edge], cornerStart[edge + 1] - 1];
        for (let i = first + 1; i < last; i++) cornerY[i] += moveAt(stretch, base.cornerY[i]);
        if (first > last) continue;
        cornerY[first] += y[edgeSrc[edge]] - base.y[edgeSrc[edge]];
        if (last > first) cornerY[last] += y[edgeDst[edge]] - base.y[edgeDst[edge]];
      }
      for (let b = graph.firstBlock; b < graph.firstBlock + graph.blocks; b++) {
        const foot = tops[b] + tall[b];
        top[b] += moveAt(stretch, tops[b]);
        height[b] = foot + moveAt(stretch, foot) - top[b];
      }
    }
    const blocks = [lefts, top, widths, height];
    const ends = heights.map((own, i) => own + (stretches[i].add.at(-1) ?? 0));
    return { base: { ...base, y, cornerY, blocks }, heights: ends };
  }

  /** @returns {Map<number, number>} the height of each sync set in a graph: of the last node that holds its value */
  #heightsIn(graph, y) {
    this.#nodes ??= nodesOf(this.scene);
    return new Map([...this.#nodes[graph]].map(([set, node]) => [set, y[node]]));
  }

  #weightOf(set) {
    this.#weights ??= weightsOf(this.scene);
    return this.#weights[set];
  }
}

/** @returns {Stretch[]|null} of each graph; null where the payload does not tell */
function stretchesIn(columns) {
  const sizes = columns.get("stretch.size");
  if (!sizes?.length) return null;
  const pixels = (name) => Float64Array.from(columns.get(name), (half) => half / 2);
  const [at, add] = [pixels("stretch.at"), pixels("stretch.add")];
  let from = 0;
  return [...sizes].map((size) => {
    const to = from + size;
    const out = { at: at.slice(from, to), add: add.slice(from, to) };
    from = to;
    return out;
  });
}

/** @returns {import("./place.js").Graph[][]} graphs of one title, one per pane */
function groupsIn(panes) {
  const groups = new Map();
  for (const { graphs } of panes)
    for (const [title, graph] of new Map(graphs.filter(({ beside }) => !beside).map((graph) => [graph.title, graph])))
      groups.set(title, [...(groups.get(title) ?? []), graph]);
  return [...groups.values()];
}

/** @returns {Map<number, number>[]} of each graph the last node that holds the value of each sync set */
function nodesOf({ columns, panes, setStart, nodeCount }) {
  const graphs = panes.flatMap((pane) => pane.graphs);
  const graphOf = new Int32Array(nodeCount);
  for (const { number, first, nodes } of graphs) graphOf.fill(number, first, first + nodes);
  const [members, primary] = [columns.get("set.node"), columns.get("set.primary")];
  const out = graphs.map(() => new Map());
  for (let set = 0; set + 1 < setStart.length; set++)
    for (let i = setStart[set]; i < setStart[set + 1]; i++)
      if (primary[i] === 1) out[graphOf[members[i]]].set(set, members[i]);
  return out;
}

/** @returns {Float64Array} what each sync set counts */
function weightsOf(scene) {
  const [members, primary] = [scene.columns.get("set.node"), scene.columns.get("set.primary")];
  const out = new Float64Array(scene.setStart.length - 1).fill(OPERATOR_WEIGHT);
  const isAside = (node) =>
    GIVEN.has(scene.text("op", node)) || QUANTISING.some((kind) => scene.text("op_type", node)?.startsWith(kind));
  for (let set = 0; set < out.length; set++)
    for (let i = scene.setStart[set]; i < scene.setStart[set + 1]; i++)
      if (primary[i] === 1 && isAside(members[i])) out[set] = 1;
  return out;
}
