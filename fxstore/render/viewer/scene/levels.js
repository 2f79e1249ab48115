// The drawings of a page as they stand when only some of its panes are in view: each height that the others have cost goes.

import { countBelow } from "./columns.js";

// The same computation at the same height in all panes in view: a vertical stretch for each graph. As of fxstore.layout.


/**
 * @typedef {{at: Float64Array, add: Float64Array}} Stretch what stands at `at[i]` or lower, but above `at[i + 1]`, moves
 *   down by `add[i]`: more, or as far, the lower it stands
 */

/** @param {Stretch} stretch @param {number} y @returns {number} how far down what stands there moves */
export function moveAt({ at, add }, y) {
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= y) low = middle + 1;
    else high = middle;
  }
  return low ? add[low - 1] : 0;
}

/** @param {Stretch} stretch @returns {Stretch} what takes it back */
export function undone({ at, add }) {
  return { at: at.map((y, i) => y + add[i]), add: add.map((by) => -by) };
}

/**
 * One pane after the other: the heaviest chain of keys that stand one under the other both in the new pane and in those
 * before it is brought to equal heights.
 * @param {Map<number, number>[]} panes height of each key in each pane
 * @param {(key: number) => number} weightOf what a key counts
 * @returns {Stretch[]}
 */
export function leveled(panes, weightOf) {
  const line = new Map();
  const out = [];
  for (const pane of panes) {
    const own = Float64Array.from(new Set(pane.values())).sort();
    const pairs = [];
    for (const [key, y] of pane) if (line.has(key)) pairs.push({ up: line.get(key), here: y, weight: weightOf(key) });
    const [ofLine, ofPane] = meeting(chainOf(pairs));
    for (const stretch of out)
      for (const [i, y] of stretch.at.entries()) stretch.add[i] += moveAt(ofLine, y + stretch.add[i]);
    out.push({ at: own, add: own.map((y) => moveAt(ofPane, y)) });
    for (const [key, y] of line) line.set(key, y + moveAt(ofLine, y));
    for (const [key, y] of pane) if (!line.has(key)) line.set(key, y + moveAt(ofPane, y));
  }
  return out;
}

/** @returns {[Stretch, Stretch]} after which both heights of each pair are equal */
function meeting(chain) {
  const [first, second] = [0, 1].map(() => ({
    at: new Float64Array(chain.length),
    add: new Float64Array(chain.length),
  }));
  let [a, b] = [0, 0];
  for (const [i, { up, here }] of chain.entries()) {
    const meet = Math.max(up + a, here + b);
    [a, b] = [meet - up, meet - here];
    [first.at[i], first.add[i], second.at[i], second.add[i]] = [up, a, here, b];
  }
  return [first, second];
}

/**
 * The heaviest chain of pairs, both heights growing; `best` is a Fenwick tree of the heaviest one that ends at or above
 * each second height.
 */
function chainOf(pairs) {
  // Of pairs with one first height the lowest comes first, so that no two of them are in one chain.
  const sorted = pairs.sort((a, b) => a.up - b.up || b.here - a.here);
  const heights = Float64Array.from(new Set(sorted.map(({ here }) => here))).sort();
  const best = new Array(heights.length + 1).fill(null);
  let end = null;
  for (let i = 0; i < sorted.length; i++) {
    const { up, here } = sorted[i];
    let own = sorted[i].weight;
    for (; sorted[i + 1]?.up === up && sorted[i + 1].here === here; i++) own += sorted[i + 1].weight;
    const place = countBelow(heights, here);
    let before = null;
    for (let k = place; k > 0; k &= k - 1) if ((best[k]?.sum ?? 0) > (before?.sum ?? 0)) before = best[k];
    const link = { up, here, before, sum: own + (before?.sum ?? 0) };
    for (let k = place + 1; k <= heights.length; k += k & -k) if (link.sum > (best[k]?.sum ?? 0)) best[k] = link;
    if (!end || link.sum > end.sum || (link.sum === end.sum && up === end.up)) end = link;
  }
  const out = [];
  for (let link = end; link; link = link.before) out.push(link);
  return out.reverse();
}

const GIVEN = new Set(["placeholder", "get_attr"]);
const QUANTISING = ["quantize_", "dequantize_", "choose_qparams"];
/** What an operator counts beside one that only quantises, and beside what a graph is given. */
const OPERATOR_WEIGHT = 1000;

/** @typedef {import("./levels.js").Stretch} Stretch */

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

/** @returns {import("./boxes.js").Graph[][]} graphs of one title, one per pane */
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
