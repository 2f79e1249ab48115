// Several panes with one selection, one colouring, one theme, one search.

import { styleOf } from "../paint/coloring.js";
import { metricDiff, stageDiff } from "../scene/diff.js";
import { PaneGroup } from "./group.js";
import { isTucked } from "../scene/boxes.js";
import { reached } from "../scene/adjacency.js";
import { SearchIndex } from "../scene/search.js";
import { answerNodes, nextRow, ranksOf, selectionOf, Trail } from "../scene/selection.js";

const READING_SCALE = 0.8;

export class PaneCompare extends PaneGroup {
  /**
   * @param {{scene: import("../scene/scene.js").Scene, viewers: import("./viewer.js").PaneViewer[], colorings: import("../paint/colorings.js").Colorings}} options
   */
  static create(options) {
    return new PaneCompare(options);
  }

  constructor({ scene, viewers, colorings }) {
    super(scene, viewers);
    this.colorings = colorings;
    this.color = 0;
    this.searchIndex = new SearchIndex(scene, colorings);
    this.trail = new Trail();
    this.hops = { up: 0, down: 0 };
    this.reach = null;
    this.edge = -1;
    this.layers = { border: -1, badge: -1, label: -1 };
    this.found = { nodes: [], counts: scene.panes.map(() => 0) };
    this.selection = null;
    this.listed = false;
    this.query = "";
    this.module = null;
    this.rows = answerNodes(scene);
    this.row = -1;
    const ranks = ranksOf(scene);
    for (const [number, viewer] of viewers.entries()) {
      viewer.setMarks({ ranks });
      viewer.on("select", (target) => this.#clicked(target, number));
      viewer.on("toggle", ({ kind, number: which }) => this.toggleFold(number, kind, which));
      viewer.on("hover", (detail) => this.emit("hover", { ...detail, pane: number }));
    }
  }

  get coloring() {
    return this.colorings.at(this.color);
  }

  #clicked({ node, kind, number }, pane) {
    if (node >= 0) return this.selectNode(node, { from: pane });
    if (kind === "edge") return this.selectEdge(number);
    if (kind === "module") return this.selectModule(pane, number);
    if (kind !== "graph") this.clearSelection();
  }

  /**
   * @param {number} node
   * @param {{from?: number, row?: number}} [options] from: the pane that was clicked, whose scale the others take; row:
   *   of the answer
   */
  selectNode(node, options) {
    this.#untuck(node);
    this.select(selectionOf(this.scene, node), options);
  }

  /**
   * @param {import("../scene/selection.js").Selection} selection
   * @param {{from?: number, row?: number, marks?: import("../scene/selection.js").Selection, reveal?: boolean}} [options] as of
   *   `selectNode`; marks: what is painted, where that is another one; reveal: whether panes move to it
   */
  select(selection, { from = -1, row, marks = selection, reveal = true } = {}) {
    const opens = !this.selection && this.edge < 0 && !this.module;
    this.#forget();
    const { node } = (this.selection = selection);
    this.row = row ?? this.rows.findIndex((nodes) => nodes.includes(node));
    this.trail.visit(node);
    this.emit("selectionchange", this.selection);
    const source = this.viewers[from];
    const least = source ? (source.legible ? source.view.scale : 0) : READING_SCALE;
    const widest = this.#widest(selection);
    for (const [number, viewer] of this.viewers.entries()) {
      viewer.setMarks({ selection: marks });
      if (opens) viewer.measure();
      const { lead } = this.selection.shares[number];
      if (reveal && lead >= 0)
        viewer.reveal(lead, { least: viewer.legible || number === from ? 0 : least, widest });
    }
  }

  /** Moves every pane to a node, or to what holds its value there, without selecting it. @param {number} node */
  bringToView(node) {
    const selection = selectionOf(this.scene, node);
    const how = { least: READING_SCALE, widest: this.#widest(selection), animate: false };
    for (const { pane, lead } of selection.shares) if (lead >= 0) this.viewers[pane].reveal(lead, how);
  }

  /** @returns {number} width of the widest of the boxes that panes in view would be moved to: all take one scale */
  #widest({ shares }) {
    const leads = this.shown().map((pane) => shares[pane].lead);
    return Math.max(1, ...leads.filter((lead) => lead >= 0).map((lead) => this.scene.width[lead]));
  }

  clearSelection() {
    if (!this.selection && this.row < 0 && this.edge < 0 && !this.module && !this.listed) return;
    this.#forget();
    this.emit("selectionchange", null);
  }

  #forget() {
    Object.assign(this, { selection: null, row: -1, edge: -1, module: null, reach: null, listed: false });
    this.hops = { up: 0, down: 0 };
    for (const viewer of this.viewers) viewer.setMarks({ selection: null, edge: -1, reach: null });
  }

  /** Shows what an edge carries. @param {number} edge */
  selectEdge(edge) {
    this.#forget();
    this.edge = edge;
    for (const viewer of this.viewers) viewer.setMarks({ edge });
    this.emit("selectionchange", null);
  }

  /** Shows what a module's nodes are together. @param {number} pane @param {number} block */
  selectModule(pane, block) {
    this.#forget();
    this.module = { pane, block };
    this.emit("selectionchange", null);
  }

  /** Selects what was selected before, or after that again. @param {1|-1} step */
  stepTrail(step) {
    const node = this.trail.go(step);
    if (node >= 0) this.selectNode(node);
  }

  /** Shows what the selection depends on, or what depends on it, in every pane. @param {"up"|"down"} direction @param {number} hops */
  showReach(direction, hops) {
    if (!this.selection) return;
    this.hops = { ...this.hops, [direction]: hops };
    const from = this.selection.shares.flatMap(({ members, lead }) => (members.length ? [lead] : []));
    const { up, down } = this.hops;
    this.reach = { up: reached(this.scene, from, up, "up"), down: reached(this.scene, from, down, "down") };
    const shown = up || down ? this.reach : null;
    for (const viewer of this.viewers) viewer.setMarks({ reach: shown });
    this.emit("reachchange", this.reach);
  }

  /** Opens what is closed and closes what is open. @param {number} pane @param {"module"|"graph"} kind @param {number} number */
  toggleFold(pane, kind, number) {
    const part = this.scene.panes[pane];
    const toggled = (set) => new Set(set.has(number) ? [...set].filter((one) => one !== number) : [...set, number]);
    if (kind === "module") this.fold(pane, toggled(part.closed));
    else this.fold(pane, part.closed, toggled(part.closedGraphs));
    const graph = kind === "graph" ? part.graphs.find((one) => one.number === number) : null;
    if (graph?.beside && !graph.closed)
      this.viewers[pane].revealAll([graph.parent, graph.first, graph.first + graph.nodes - 1]);
  }

  /** Opens, or tucks away, the neighbours of the selection that are not drawn, in every pane that holds some. */
  toggleBeside() {
    for (const { pane, lead } of this.selection?.shares ?? []) {
      const graph = lead < 0 ? null : this.scene.besideOf(lead);
      if (graph) this.toggleFold(pane, "graph", graph.number);
    }
  }

  /** What is selected must be seen: opens the graph that it is tucked away in. */
  #untuck(node) {
    const graph = this.scene.graphOf(node);
    if (isTucked(graph)) this.toggleFold(this.scene.paneOf(node).number, "graph", graph.number);
  }

  /** Shows an overlay beside the one that fills the boxes. @param {"border"|"badge"|"label"} slot @param {number} index -1 for none */
  setLayer(slot, index) {
    this.layers[slot] = this.colorings.names[index] === undefined ? -1 : index;
    this.#layer();
    this.emit("colorchange", { index: this.color });
  }

  #layer() {
    for (const viewer of this.viewers) {
      const layer = (index) => {
        const coloring = index >= 0 ? this.colorings.at(index) : null;
        return coloring && { coloring, style: styleOf(coloring, viewer.ink.theme) };
      };
      const { border, badge, label } = this.layers;
      viewer.setLayers({ border: layer(border), badge: layer(badge), label: layer(label) });
    }
  }

  /** Colours what changed from one pane to another. @param {number} base @param {number} head */
  diffPanes(base, head) {
    this.setColorBy(this.colorings.add(stageDiff(this.scene, base, head)));
  }

  /** Colours how the metric in use, or else the first one, differs from one pane to another. @param {number} base @param {number} head */
  diffMetric(base, head) {
    const [metric] = this.colorings.numeric().filter(({ source }) => source && !source.signed);
    if (metric) this.setColorBy(this.colorings.add(metricDiff(this.scene, metric, base, head)));
  }

  /** Gives the coloured metric's scale other ends. @param {{min: number, max: number}|null} range null: its own */
  setRange(range) {
    this.colorings.setRange(this.color, range);
    this.setColorBy(this.color);
  }

  /** Shows the numbers of one sample. @param {string|null} name null: of each node the worst */
  setSample(name) {
    this.colorings.setSample?.(name);
    this.setColorBy(this.color);
  }

  /** Gives every metric the scale that its values span, or the one that it means. @param {boolean} on */
  setRelative(on) {
    this.colorings.setRelative(on);
    this.setColorBy(this.color);
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
    this.query = query;
    this.found = this.searchIndex.find(query);
    const hits = this.found.nodes.length ? this.found.hits : null;
    for (const viewer of this.viewers) viewer.setMarks({ hits });
    this.emit("searchchange", { query, ...this.found });
    return this.found;
  }

  /** Finds nodes and lists them where details stand. @param {string} query */
  list(query) {
    this.#forget();
    this.listed = true;
    this.search(query);
    this.emit("selectionchange", null);
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
    this.color = this.colorings.current = index;
    for (const viewer of this.viewers) viewer.setColoring(this.coloring);
    this.#layer();
    this.emit("colorchange", { index });
  }

  /** @param {import("../paint/themes.js").Theme} theme */
  setTheme(theme) {
    for (const viewer of this.viewers) viewer.setTheme(theme);
    this.#layer();
    this.emit("themechange", { theme });
  }

  destroy() {
    for (const viewer of this.viewers) viewer.destroy();
  }
}
