// Everything the payload holds, with each pane's graphs placed; plain typed arrays, no DOM.

import { adjacencyOf } from "./adjacency.js";
import { hierarchyOf } from "./blocks.js";
import { blockBoxes, edgeBoxes, hideEdges, nodeBoxes } from "./boxes.js";
import { BoxTree } from "./boxtree.js";
import { columned } from "./columned.js";
import { foldCorners, foldingOf } from "./folding.js";
import { frameOf, isTucked, placeGraphs } from "./place.js";

export const IN_CLOSED_GRAPH = -2;
const CLOSED_GRAPH_WIDTH = 300;

/**
 * @typedef {{number: number, title: string, subtitle: string, graphs: import("./place.js").Graph[], first: number, end: number,
 *   firstEdge: number, endEdge: number, extent: import("./place.js").Box, nodeTree: BoxTree, edgeTree: BoxTree,
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
    /** Each graph in its own drawing; `x`, `y` and so on are where things stand on the page. */
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
    /** @type {number[]|null} the panes that decide how many, null for all */
    this.shown = null;
    this.setStart = starts(columns.get("set.size"));
    /** @type {PaneScene[]} */
    this.panes = panesOf(header);
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

  /** @param {number} node @returns {import("./place.js").Graph} */
  graphOf(node) {
    return this.paneOf(node).graphs.find((graph) => node >= graph.first && node < graph.first + graph.nodes);
  }

  /** @param {number} node @returns {import("./place.js").Graph|undefined} the graph of its neighbours that are not drawn */
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
    else for (const { pane } of folds) this.#place(pane, this.#fold(pane), null);
  }

  /**
   * @param {boolean} on whether graphs that are much taller than wide are to stand in columns
   * @param {number[]} shown the panes in view, which decide how many
   */
  setInColumns(on, shown) {
    Object.assign(this, { inColumns: on, shown });
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
    for (const [i, pane] of this.panes.entries()) this.#place(pane, folds[i], cut);
  }

  /** Moves a pane's nodes, corners and blocks to where its graphs stand, folded and cut, and indexes them. */
  #place(pane, { around, maps }, cut) {
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
      const y = maps[i](this.base.y[node]);
      return cuts[i] ? cuts[i].at(0, y)[1] : y;
    };
    pane.extent = placeGraphs(pane.graphs, localY);
    const folds = pane.closed.size > 0 || pane.closedGraphs.size > 0;
    for (const [i, graph] of pane.graphs.entries()) {
      if (isTucked(graph)) this.#tuck(graph);
      else if (graph.closed) this.#hide(graph);
      else this.#put(pane, graph, folds ? maps[i] : null, cut);
    }
    pane.nodeTree = new BoxTree(nodeBoxes(this, pane.first, pane.end));
    pane.blockTree = new BoxTree(blockBoxes(this, pane));
    const edges = edgeBoxes(this, pane.firstEdge, pane.endEdge);
    if (folds) hideEdges(this, pane, edges);
    pane.edgeTree = new BoxTree(edges);
  }

  /** Notes what holds each node of a pane. @returns {import("./columned.js").Fold} */
  #fold(pane) {
    if (!pane.closed.size && !pane.closedGraphs.size) {
      this.holder.fill(-1, pane.first, pane.end);
      return { around: null, maps: pane.graphs.map(() => (y) => y) };
    }
    const { holder, around, maps } = foldingOf(this, pane);
    this.holder.set(holder, pane.first);
    return { around, maps };
  }

  /**
   * @param {PaneScene} pane @param {import("./place.js").Graph} graph
   * @param {((y: number) => number)|null} map of folded heights @param {import("./columned.js").Columned|null} cut
   */
  #put(pane, graph, map, cut) {
    const { base } = this;
    const nodes = [graph.first, graph.first + graph.nodes];
    const corners = [this.cornerStart[graph.firstEdge], this.cornerStart[graph.firstEdge + graph.edges]];
    moved(base.x, this.x, nodes, graph.x);
    moved(base.y, this.y, nodes, graph.y, map);
    moved(base.width, this.width, nodes, 0);
    moved(base.height, this.height, nodes, 0);
    if (map && !cut) foldCorners(this, graph, map, this.cornerX, this.cornerY);
    const lines = cut ?? (map ? this : base);
    moved(lines.cornerX, this.cornerX, corners, graph.x);
    moved(lines.cornerY, this.cornerY, corners, graph.y);
    const columns = cut?.cuts.get(graph.number);
    if (columns) this.#wrap(pane, graph, columns, cut.slices.get(graph.number));
    else this.#putBlocks(graph, pane.closed, (y) => (map ? map(y) : y) + graph.y);
    for (let node = nodes[0]; map && node < nodes[1]; node++) {
      const b = this.holder[node];
      if (b < 0) continue;
      const [left, top, width, height] = this.blocks.map((column) => column[b]);
      this.#stand(node, left + width / 2, top + height / 2, width, height);
    }
  }

  #putBlocks(graph, closed, down) {
    const { blocks } = this.base;
    for (let b = graph.firstBlock; b < graph.firstBlock + graph.blocks; b++) {
      const [left, width] = this.#widthOf(b, closed.has(b));
      const [top, bottom] = [down(blocks[1][b]), down(blocks[1][b] + blocks[3][b])];
      this.#setBlock(b, [left + graph.x, top, width, bottom - top]);
    }
  }

  /** Moves the nodes of a graph into its columns, and puts the pieces of its modules there. */
  #wrap(pane, graph, columns, slices) {
    for (let node = graph.first; node < graph.first + graph.nodes; node++) {
      const [x, y] = columns.at(this.x[node] - graph.x, this.y[node] - graph.y);
      [this.x[node], this.y[node]] = [x + graph.x, y + graph.y];
    }
    let last = -1;
    for (const { block, box } of slices) {
      const [left, width] = this.#widthOf(block, pane.closed.has(block));
      const at = block === last ? this.pieces++ : block;
      if (block === last) pane.slices.push({ at, block });
      this.#setBlock(at, [box[0] - this.base.blocks[0][block] + left + graph.x, box[1] + graph.y, width, box[3]]);
      last = block;
    }
  }

  #setBlock(at, box) {
    for (const [side, value] of box.entries()) this.blocks[side][at] = value;
  }

  /** @returns {[number, number]} left and width of a block; a closed one may be narrower */
  #widthOf(block, isClosed) {
    const { blocks, closed } = this.base;
    const [left, width] = isClosed && closed[1].length ? closed : [blocks[0], blocks[2]];
    return [left[block], width[block]];
  }

  /** Puts all nodes of a closed graph where its title is. */
  #hide(graph) {
    const { left, top, right, bottom } = frameOf(graph);
    for (let node = graph.first; node < graph.first + graph.nodes; node++) {
      this.holder[node] = IN_CLOSED_GRAPH;
      this.#stand(node, (left + right) / 2, (top + bottom) / 2, right - left, bottom - top);
    }
  }

  /** Puts all nodes of a closed graph where the node is that it belongs to. */
  #tuck({ first, nodes, parent }) {
    for (let node = first; node < first + nodes; node++) {
      this.holder[node] = IN_CLOSED_GRAPH;
      this.#stand(node, this.x[parent], this.y[parent], this.width[parent], this.height[parent]);
    }
  }

  #stand(node, x, y, width, height) {
    [this.x[node], this.y[node], this.width[node], this.height[node]] = [x, y, width, height];
  }
}

/** Copies a part of some lengths, mapped and then shifted. */
function moved(values, out, [from, to], by, map = null) {
  if (!map && !by) return out.set(values.subarray(from, to), from);
  for (let i = from; i < to; i++) out[i] = (map ? map(values[i]) : values[i]) + by;
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

function panesOf(header) {
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
