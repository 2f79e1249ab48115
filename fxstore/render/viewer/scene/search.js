// Search over all panes: every term must hold; each distinct text is looked at once per key stroke.

import { MINUS_INF, MISSING, NAN, NO_DATA, OTHER, PLUS_INF } from "./coloring.js";
import { converted } from "./numbers.js";
import { termsOf } from "./terms.js";
import { TextIndex } from "./textindex.js";

const TEXT_FIELDS = ["name", "op_type", "module_path", "target"];
const STATE_BUCKETS = { nan: [NAN], inf: [PLUS_INF, MINUS_INF], missing: [MISSING], none: [NO_DATA] };
const COMPARE = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b)),
  "!=": (a, b) => a !== b && !Number.isNaN(a),
};

export class SearchIndex {
  /** @param {import("./scene.js").Scene} scene @param {import("./colorings.js").Colorings|null} [colorings] */
  constructor(scene, colorings = null) {
    this.scene = scene;
    this.colorings = colorings;
    /** @type {TextIndex|null} */
    this.texts = null;
  }

  /**
   * @param {string} query
   * @returns {{nodes: number[], counts: number[], hits: Uint8Array|null}} matching nodes in order, how many there are in
   *   each pane, and 1 for each node that matches; null where nothing was asked
   */
  find(query) {
    const { scene } = this;
    const counts = scene.panes.map(() => 0);
    const overlays = this.colorings?.categorical().map(({ metric }) => metric) ?? [];
    const terms = termsOf(query, this.metrics(), overlays);
    if (!terms.length) return { nodes: [], counts, hits: null };
    const kept = new Uint8Array(scene.nodeCount).fill(1);
    for (const term of terms) {
      const test = this.test(term);
      for (let node = 0; node < kept.length; node++) if (kept[node] && test(node) === term.not) kept[node] = 0;
    }
    const nodes = [];
    for (const { first, end, number } of scene.panes) {
      const before = nodes.length;
      for (let node = first; node < end; node++) if (kept[node]) nodes.push(node);
      counts[number] = nodes.length - before;
    }
    return { nodes, counts, hits: kept };
  }

  metrics() {
    return this.colorings?.numeric().map(({ metric }) => metric) ?? [];
  }

  /** @param {import("./terms.js").Term} term @returns {(node: number) => boolean} */
  test(term) {
    if (term.kind === "text") return this.inTexts(TEXT_FIELDS, term.text);
    if (term.kind === "field") return this.inField(term.field, term.text);
    if (term.kind === "category") return this.inCategory(term.metric, term.text);
    const coloring = this.colorings.numeric().find(({ metric }) => metric === term.metric);
    if (term.kind === "state") {
      const buckets = STATE_BUCKETS[term.state];
      return (node) => buckets.includes(coloring.buckets[node]);
    }
    const [holds, value] = [COMPARE[term.op], converted(term.value, term.unit, coloring.unit)];
    return (node) => hasNumber(coloring.buckets[node]) && holds(numberOf(coloring, node), value);
  }

  inCategory(metric, text) {
    const { texts } = this.colorings.categorical().find((one) => one.metric === metric);
    const wanted = text.toLowerCase();
    const holds = new Map();
    return (node) => {
      const at = texts[node];
      if (at < 0) return false;
      if (!holds.has(at)) holds.set(at, this.scene.strings[at].toLowerCase().includes(wanted));
      return holds.get(at);
    };
  }

  /** Makes what the first search needs. */
  prepare() {
    this.texts ??= new TextIndex(this.scene.strings);
    for (const field of TEXT_FIELDS) this.scene.columns.get(`node.${field}`);
  }

  inTexts(fields, text) {
    this.prepare();
    const hits = this.texts.find(text);
    const columns = fields.map((field) => this.scene.columns.get(`node.${field}`));
    if (columns.length !== TEXT_FIELDS.length) return (node) => hits[columns[0][node]] === 1;
    const [names, types, modules, targets] = columns;
    return (node) =>
      hits[names[node]] === 1 || hits[types[node]] === 1 || hits[modules[node]] === 1 || hits[targets[node]] === 1;
  }

  inField(field, text) {
    const wanted = text.toLowerCase();
    const within = (title) => title.toLowerCase().includes(wanted);
    if (field === "stage") {
      const ends = this.scene.panes.map((pane) => ({ end: pane.end, holds: within(pane.title) }));
      return (node) => ends.find(({ end }) => node < end).holds;
    }
    if (field === "graph") {
      const graphs = this.scene.panes.flatMap((pane) => pane.graphs);
      const ends = graphs.map((graph) => ({ end: graph.first + graph.nodes, holds: within(graph.title) }));
      return (node) => ends.find(({ end }) => node < end).holds;
    }
    const { layers } = this.scene;
    if (field === "attrs" && layers) return (node) => layers.rows(node).some((row) => within(row.join(" ")));
    return this.inTexts([field], text);
  }
}

/** @param {number} bucket @returns {boolean} whether there is a number, NaN and infinite included */
export function hasNumber(bucket) {
  return bucket !== NO_DATA && bucket !== MISSING && bucket !== OTHER;
}

/** @param {import("./coloring.js").Coloring} coloring @param {number} node @returns {number} NaN and infinite included */
export function numberOf(coloring, node) {
  const bucket = coloring.buckets[node];
  return bucket === PLUS_INF ? Infinity : bucket === MINUS_INF ? -Infinity : coloring.values[node];
}
