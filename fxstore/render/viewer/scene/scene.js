// Everything the payload holds, with each pane's graphs placed; plain typed arrays, no DOM.

import { adjacencyOf } from "./adjacency.js";
import { hierarchyOf } from "./blocks.js";
import { columned } from "./columns.js";
import { foldingOf } from "./folding.js";
import { Levels } from "./levels.js";
import { IN_CLOSED_GRAPH, placePane } from "./standing.js";

// The panes of a payload: which of its graphs, nodes, edges and modules each one holds.

/** @param {any} header of a payload @returns {import("./scene.js").PaneScene[]} */
export function panesOf(header) {
  let [graph, node, edge, block] = [0, 0, 0, 0];
  return header.panes.map(({ title, subtitle, run = "", graphs }, number) => {
    const pane = { number, title, subtitle, run, graphs: [], slices: [], first: node, firstEdge: edge };
    Object.assign(pane, { closed: new Set(), closedGraphs: new Set() });
    for (const end = graph + graphs; graph < end; graph++) {
      const entry = header.graphs[graph];
      pane.graphs.push({
        ...entry,
        number: graph,
        first: node,
        firstEdge: edge,
        firstBlock: block,
        fullWidth: entry.width / 2,
        fullHeight: entry.height / 2,
        width: entry.width / 2,
        height: entry.height / 2,
        x: 0,
        y: 0,
      });
      node += entry.nodes;
      edge += entry.edges;
      block += entry.blocks;
    }
    for (const { beside, number: own } of pane.graphs) if (beside) pane.closedGraphs.add(own);
    return { ...pane, end: node, endEdge: edge };
  });
}

/**
 * @typedef {import("./blocks.js").BoxTree} BoxTree
 * @typedef {{x: Float32Array, y: Float32Array, width: Float32Array, height: Float32Array, cornerX: Float32Array,
 *   cornerY: Float32Array, cornerStart: Int32Array, stub: ArrayLike<number>, blocks: Float32Array[],
 *   closed: Float32Array[]}} Base each graph in its own drawing
 * @typedef {{number: number, title: string, subtitle: string, graphs: import("./boxes.js").Graph[], first: number, end: number,
 *   firstEdge: number, endEdge: number, extent: import("./boxes.js").Box, nodeTree: BoxTree, edgeTree: BoxTree,
 *   blockTree: BoxTree, closed: Set<number>, closedGraphs: Set<number>, around: Int32Array|null, run: string,
 *   slices: {at: number, block: number}[]}} PaneScene
 *   closed: numbers of the blocks that are closed; closedGraphs: of the graphs; around: the outermost closed block that
 *   holds or is each block, null where none is closed; slices: further pieces of modules that a cut meets, by their place
 *   in `Scene.blocks`
 */

export class Scene {
  #adjacency = null;
  #numbers = null;

  /** @param {import("./payload.js").Payload} payload */
  constructor({ header, columns }) {
    this.header = header;
    this.columns = columns;
    /** @type {string[]} */
    this.strings = header.strings;
    this.nids = columns.get("node.nid");
    this.nodeCount = this.nids.length;
    /** @type {Base} `x`, `y` and so on are where things stand on the page */
    this.base = {
      x: halves(columns.get("node.x")),
      y: halves(columns.get("node.y")),
      width: halves(columns.get("node.width")),
      height: halves(columns.get("node.height")),
      cornerX: halves(columns.get("corner.x")),
      cornerY: halves(columns.get("corner.y")),
      cornerStart: starts(columns.get("edge.corners")),
      stub: columns.get("edge.stub") ?? [],
      blocks: ["left", "top", "width", "height"].map((side) => halves(columns.get(`block.${side}`))),
      closed: ["closed_left", "closed_width"].map((side) => halves(columns.get(`block.${side}`) ?? [])),
    };
    for (const name of ["x", "y", "width", "height"]) this[name] = this.base[name].slice();
    /** The closed block that holds each node, IN_CLOSED_GRAPH in a closed graph, or -1. */
    this.holder = new Int32Array(this.nodeCount).fill(-1);
    this.edgeSrc = columns.get("edge.src");
    this.edgeDst = columns.get("edge.dst");
    this.cornerStart = this.base.cornerStart;
    this.stub = this.base.stub;
    /** Whether graphs that are much taller than wide stand in columns. */
    this.inColumns = Boolean(header.inColumns);
    this.setStart = starts(columns.get("set.size"));
    /** @type {PaneScene[]} */
    this.panes = panesOf(header);
    /** The panes in view, which decide how many, and what stands at equal heights. */
    this.shown = this.panes.map(({ number }) => number);
    this.levels = new Levels(this);
    this.#placeAll();
  }

  /** @returns {import("./adjacency.js").Adjacency} */
  get adjacency() {
    return (this.#adjacency ??= adjacencyOf(this.edgeSrc, this.edgeDst, this.nodeCount));
  }

  /** @param {PaneScene} pane @returns {import("./blocks.js").Hierarchy} of its modules */
  hierarchy(pane) {
    return (pane.hierarchy ??= hierarchyOf(this, pane));
  }

  /** @param {string} field @param {number} node @returns {string|null} */
  text(field, node) {
    const index = this.columns.get(`node.${field}`)[node];
    return index < 0 ? null : this.strings[index];
  }

  /** @param {number} nid @returns {number} the first node of that nid, or -1 */
  nodeOf(nid) {
    this.#numbers ??= firstNumbers(this.nids);
    return this.#numbers.get(Number(nid)) ?? -1;
  }

  /** @param {number} node @returns {PaneScene} */
  paneOf(node) {
    return this.panes.find((pane) => node >= pane.first && node < pane.end);
  }

  /** @param {number} node @returns {import("./boxes.js").Graph} */
  graphOf(node) {
    return this.paneOf(node).graphs.find((graph) => node >= graph.first && node < graph.first + graph.nodes);
  }

  /** @param {number} node @returns {import("./boxes.js").Graph|undefined} the graph of its neighbours that are not drawn */
  besideOf(node) {
    const pane = this.paneOf(node);
    pane.besides ??= new Map(pane.graphs.filter(({ beside }) => beside).map((graph) => [graph.parent, graph]));
    return pane.besides.get(node);
  }

  /** @param {number} set @returns {{node: number, primary: boolean}[]} */
  membersOf(set) {
    const out = [];
    for (let i = this.setStart[set]; i < this.setStart[set + 1]; i++) {
      out.push({ node: this.columns.get("set.node")[i], primary: this.columns.get("set.primary")[i] === 1 });
    }
    return out;
  }

  /** @param {number} edge @returns {boolean} whether it lies within one closed module or graph */
  isHidden(edge) {
    const [from, to] = [this.holder[this.edgeSrc[edge]], this.holder[this.edgeDst[edge]]];
    return from !== -1 && (from === to || from === IN_CLOSED_GRAPH);
  }

  /** Closes some modules and nested graphs of a pane, and opens all others. @param {PaneScene} pane */
  fold(pane, closed, closedGraphs = pane.closedGraphs) {
    this.foldAll([{ pane, closed, closedGraphs }]);
  }

  /** Does so in several panes. @param {{pane: PaneScene, closed: Set<number>, closedGraphs?: Set<number>}[]} folds */
  foldAll(folds) {
    for (const { pane, closed, closedGraphs = pane.closedGraphs } of folds) {
      this.hierarchy(pane);
      Object.assign(pane, { closed, closedGraphs });
    }
    if (this.inColumns) this.#placeAll();
    else for (const { pane } of folds) placePane(this, pane, this.#fold(pane), null);
  }

  /**
   * @param {boolean} inColumns whether graphs that are much taller than wide are to stand in columns
   * @param {number[]} shown the panes in view
   */
  arrange(inColumns, shown) {
    if (!sameNumbers(shown, this.shown)) {
      const { base, heights } = this.levels.of(shown);
      this.base = base;
      for (const graph of this.panes.flatMap(({ graphs }) => graphs)) graph.fullHeight = heights[graph.number];
    }
    Object.assign(this, { inColumns, shown });
    this.#placeAll();
  }

  #placeAll() {
    const folds = this.panes.map((pane) => this.#fold(pane));
    const cut = this.inColumns ? columned(this, folds) : null;
    const { cornerStart, cornerX, cornerY, stub } = cut ?? this.base;
    Object.assign(this, { cornerStart, stub, cornerX: cornerX.slice(), cornerY: cornerY.slice() });
    const pieces = [...(cut?.slices.values() ?? [])].reduce((sum, { length }) => sum + length, 0);
    this.blocks = this.base.blocks.map((column) => {
      const out = new Float32Array(column.length + pieces);
      out.set(column);
      return out;
    });
    this.pieces = this.base.blocks[0].length;
    for (const [i, pane] of this.panes.entries()) placePane(this, pane, folds[i], cut);
  }

  /** Notes what holds each node of a pane. @returns {import("./columns.js").Fold} */
  #fold(pane) {
    if (!pane.closed.size && !pane.closedGraphs.size) {
      this.holder.fill(-1, pane.first, pane.end);
      return { around: null, maps: pane.graphs.map(() => (y) => y) };
    }
    const { holder, around, maps } = foldingOf(this, pane);
    this.holder.set(holder, pane.first);
    return { around, maps };
  }
}

/** @param {ArrayLike<number>} column in half pixels @returns {Float32Array} in pixels */
function halves(column) {
  const out = new Float32Array(column.length);
  for (let i = 0; i < out.length; i++) out[i] = column[i] / 2;
  return out;
}

/** @param {ArrayLike<number>} sizes @returns {Int32Array} where each part starts, and where the last one ends */
export function starts(sizes) {
  const out = new Int32Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) out[i + 1] = out[i] + sizes[i];
  return out;
}

function firstNumbers(nids) {
  const out = new Map();
  for (let i = nids.length - 1; i >= 0; i--) out.set(nids[i], i);
  return out;
}

/** @param {number[]} some @param {number[]} others @returns {boolean} whether they are the same, in whatever order */
export function sameNumbers(some, others) {
  return some.length === others.length && some.every((number) => others.includes(number));
}
