// Everything the payload holds, with each pane's graphs placed; plain typed arrays, no DOM.

import { BoxTree } from "./boxtree.js";
import { placeGraphs } from "./place.js";

/**
 * @typedef {{number: number, title: string, subtitle: string, graphs: import("./place.js").Graph[], first: number, end: number,
 *   firstEdge: number, endEdge: number, extent: import("./place.js").Box, nodeTree: BoxTree, edgeTree: BoxTree}} PaneScene
 */

export class Scene {
  /** @param {import("./payload.js").Payload} payload */
  constructor({ header, columns }) {
    this.header = header;
    this.columns = columns;
    /** @type {string[]} */
    this.strings = header.strings;
    this.nids = columns.get("node.nid");
    this.nodeCount = this.nids.length;
    this.x = halves(columns.get("node.x"));
    this.y = halves(columns.get("node.y"));
    this.width = halves(columns.get("node.width"));
    this.height = halves(columns.get("node.height"));
    this.edgeSrc = columns.get("edge.src");
    this.edgeDst = columns.get("edge.dst");
    this.cornerX = halves(columns.get("corner.x"));
    this.cornerY = halves(columns.get("corner.y"));
    this.cornerStart = starts(columns.get("edge.corners"));
    this.blocks = ["left", "top", "width", "height"].map((side) => halves(columns.get(`block.${side}`)));
    this.setStart = starts(columns.get("set.size"));
    this.numbers = firstNumbers(this.nids);
    /** @type {PaneScene[]} */
    this.panes = panesOf(header);
    for (const pane of this.panes) this.place(pane);
  }

  /** @param {string} field @param {number} node @returns {string|null} */
  text(field, node) {
    const index = this.columns.get(`node.${field}`)[node];
    return index < 0 ? null : this.strings[index];
  }

  /** @param {number} nid @returns {number} the first node of that nid, or -1 */
  nodeOf(nid) {
    return this.numbers.get(Number(nid)) ?? -1;
  }

  /** @param {number} node @returns {PaneScene} */
  paneOf(node) {
    return this.panes.find((pane) => node >= pane.first && node < pane.end);
  }

  /** @param {number} node @returns {import("./place.js").Graph} */
  graphOf(node) {
    return this.paneOf(node).graphs.find((graph) => node >= graph.first && node < graph.first + graph.nodes);
  }

  /** @param {number} set @returns {{node: number, primary: boolean}[]} */
  membersOf(set) {
    const out = [];
    for (let i = this.setStart[set]; i < this.setStart[set + 1]; i++) {
      out.push({ node: this.columns.get("set.node")[i], primary: this.columns.get("set.primary")[i] === 1 });
    }
    return out;
  }

  /** Moves a pane's nodes, corners and blocks to where its graphs stand, and indexes them. @param {PaneScene} pane */
  place(pane) {
    pane.extent = placeGraphs(pane.graphs, (node) => this.y[node]);
    for (const graph of pane.graphs) {
      shift(this.x, graph.first, graph.first + graph.nodes, graph.x);
      shift(this.y, graph.first, graph.first + graph.nodes, graph.y);
      const [from, to] = [this.cornerStart[graph.firstEdge], this.cornerStart[graph.firstEdge + graph.edges]];
      shift(this.cornerX, from, to, graph.x);
      shift(this.cornerY, from, to, graph.y);
      shift(this.blocks[0], graph.firstBlock, graph.firstBlock + graph.blocks, graph.x);
      shift(this.blocks[1], graph.firstBlock, graph.firstBlock + graph.blocks, graph.y);
    }
    pane.nodeTree = new BoxTree(pane.end - pane.first, (i, out, at) => this.nodeBox(pane.first + i, out, at));
    pane.edgeTree = new BoxTree(pane.endEdge - pane.firstEdge, (i, out, at) =>
      this.edgeBox(pane.firstEdge + i, out, at),
    );
  }

  nodeBox(node, out, at) {
    out[at] = this.x[node] - this.width[node] / 2;
    out[at + 1] = this.y[node] - this.height[node] / 2;
    out[at + 2] = out[at] + this.width[node];
    out[at + 3] = out[at + 1] + this.height[node];
  }

  edgeBox(edge, out, at) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = this.cornerStart[edge]; i < this.cornerStart[edge + 1]; i++) {
      left = Math.min(left, this.cornerX[i]);
      right = Math.max(right, this.cornerX[i]);
      top = Math.min(top, this.cornerY[i]);
      bottom = Math.max(bottom, this.cornerY[i]);
    }
    out[at] = left;
    out[at + 1] = top;
    out[at + 2] = right;
    out[at + 3] = bottom;
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

function shift(values, from, to, by) {
  for (let i = from; i < to; i++) values[i] += by;
}

function firstNumbers(nids) {
  const out = new Map();
  for (let i = nids.length - 1; i >= 0; i--) out.set(nids[i], i);
  return out;
}

function panesOf(header) {
  let [graph, node, edge, block] = [0, 0, 0, 0];
  return header.panes.map(({ title, subtitle, graphs }, number) => {
    const pane = { number, title, subtitle, graphs: [], first: node, firstEdge: edge };
    for (const end = graph + graphs; graph < end; graph++) {
      const entry = header.graphs[graph];
      pane.graphs.push({
        ...entry,
        number: graph,
        first: node,
        firstEdge: edge,
        firstBlock: block,
        width: entry.width / 2,
        height: entry.height / 2,
        x: 0,
        y: 0,
      });
      node += entry.nodes;
      edge += entry.edges;
      block += entry.blocks;
    }
    return { ...pane, end: node, endEdge: edge };
  });
}
