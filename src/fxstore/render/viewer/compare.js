// Several panes with one selection, one colouring, one theme, one search.

import { Emitter } from "./emitter.js";
import { SearchIndex } from "./search.js";
import { answerNodes, nextRow, ranksOf, selectionOf } from "./selection.js";

const READING_SCALE = 0.8;

export class FXGraphCompare extends Emitter {
  /**
   * @param {{scene: import("./scene.js").Scene, viewers: import("./viewer.js").FXGraphViewer[], colorings: import("./colorings.js").Colorings}} options
   */
  static create(options) {
    return new FXGraphCompare(options);
  }

  constructor({ scene, viewers, colorings }) {
    super();
    this.scene = scene;
    this.viewers = viewers;
    this.colorings = colorings;
    this.color = 0;
    this.searchIndex = new SearchIndex(scene);
    this.found = { nodes: [], counts: scene.panes.map(() => 0) };
    this.selection = null;
    this.rows = answerNodes(scene);
    this.row = -1;
    const ranks = ranksOf(scene);
    for (const [number, viewer] of viewers.entries()) {
      viewer.setMarks({ ranks });
      viewer.on("select", ({ node }) => (node < 0 ? this.clearSelection() : this.selectNode(node, { from: number })));
      viewer.on("hover", (detail) => this.emit("hover", { ...detail, pane: number }));
    }
  }

  get coloring() {
    return this.colorings.at(this.color);
  }

  /**
   * @param {number} node
   * @param {{from?: number, row?: number}} [options] from: the pane that was clicked, whose scale the others take; row:
   *   of the answer
   */
  selectNode(node, { from = -1, row } = {}) {
    this.selection = selectionOf(this.scene, node);
    this.row = row ?? this.rows.findIndex((nodes) => nodes.includes(node));
    this.emit("selectionchange", this.selection);
    const source = this.viewers[from];
    const least = source ? (source.legible ? source.view.scale : 0) : READING_SCALE;
    for (const [number, viewer] of this.viewers.entries()) {
      viewer.setMarks({ selection: this.selection });
      if (viewer.view) viewer.resize();
      const { lead } = this.selection.shares[number];
      if (lead >= 0) viewer.reveal(lead, viewer.legible || number === from ? 0 : least);
    }
  }

  /** Moves every pane to a node, or to what holds its value there, without selecting it. @param {number} node */
  bringToView(node) {
    for (const { pane, lead } of selectionOf(this.scene, node).shares)
      if (lead >= 0) this.viewers[pane].reveal(lead, READING_SCALE, false);
  }

  clearSelection() {
    if (!this.selection && this.row < 0) return;
    this.selection = null;
    this.row = -1;
    for (const viewer of this.viewers) viewer.setMarks({ selection: null });
    this.emit("selectionchange", null);
  }

  /** Selects the best node of a row of the answer. @param {number} row */
  selectRow(row) {
    const [node] = this.rows[row] ?? [];
    if (node !== undefined) this.selectNode(node, { row });
  }

  /** @param {1|-1} step */
  stepRow(step) {
    this.selectRow(nextRow(this.rows, this.row, step));
  }

  /** Selects the node before or after in a pane's order. @param {number} pane @param {1|-1} step */
  stepNode(pane, step) {
    const { first, end } = this.scene.panes[pane];
    if (first === end) return;
    const lead = this.selection?.shares[pane].lead ?? -1;
    const next = lead < 0 ? first : Math.min(end - 1, Math.max(first, lead + step));
    this.selectNode(next);
  }

  /** @param {string} query @returns {{nodes: number[], counts: number[]}} */
  search(query) {
    this.found = this.searchIndex.find(query);
    const hits = this.found.nodes.length ? new Uint8Array(this.scene.nodeCount) : null;
    for (const node of this.found.nodes) hits[node] = 1;
    for (const viewer of this.viewers) viewer.setMarks({ hits });
    this.emit("searchchange", { query, ...this.found });
    return this.found;
  }

  /** Selects the next of the found nodes. @param {1|-1} step */
  stepFound(step) {
    const { nodes } = this.found;
    if (!nodes.length) return;
    const at = nodes.indexOf(this.selection?.node ?? -1);
    this.selectNode(nodes[at < 0 ? (step > 0 ? 0 : nodes.length - 1) : (at + step + nodes.length) % nodes.length]);
  }

  /** @param {number} index among `colorings` */
  setColorBy(index) {
    if (!this.colorings.names[index]) return;
    this.color = index;
    for (const viewer of this.viewers) viewer.setColoring(this.coloring);
    this.emit("colorchange", { index });
  }

  /** @param {import("./themes.js").Theme} theme */
  setTheme(theme) {
    for (const viewer of this.viewers) viewer.setTheme(theme);
    this.emit("themechange", { theme });
  }

  zoomToFit() {
    for (const viewer of this.viewers) if (viewer.view) viewer.zoomToFit();
  }

  destroy() {
    for (const viewer of this.viewers) viewer.destroy();
  }
}
