// Search over all panes: every term must hold; each distinct text is looked at once per key stroke.

import { MINUS_INF, MISSING, NAN, NO_DATA, OTHER, PLUS_INF } from "../paint/coloring.js";
import { converted } from "./numbers.js";

// What someone typed into a search field, as terms that must all hold.

const FIELDS = {
  name: "name",
  op: "op_type",
  type: "op_type",
  target: "target",
  module: "module_path",
  dtype: "dtype",
  shape: "shape",
  role: "role",
  backend: "backend",
  file: "source_file",
  source: "source_file",
  code: "source_code",
  attrs: "attrs",
  info: "attrs",
  stage: "stage",
  graph: "graph",
};
const COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)(.+)$/;
const NUMBER = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(ns|us|µs|ms|s)?$/i;
const BROKEN = { nan: NaN, inf: Infinity, "+inf": Infinity, "-inf": -Infinity, "∞": Infinity };
const STATES = ["nan", "inf", "missing", "none"];

/**
 * @typedef {{kind: "text", text: string, not: boolean}} TextTerm
 * @typedef {{kind: "field", field: string, text: string, not: boolean}} FieldTerm
 * @typedef {{kind: "number", metric: string, op: string, value: number, unit: string|null, not: boolean}} NumberTerm
 * @typedef {{kind: "state", metric: string, state: string, not: boolean}} StateTerm
 * @typedef {{kind: "category", metric: string, text: string, not: boolean}} CategoryTerm
 * @typedef {TextTerm|FieldTerm|NumberTerm|StateTerm|CategoryTerm} Term
 */

/**
 * @param {string} query words and "quoted words"; `field:value`, `metric<0.9`, `metric:nan`; `-` in front negates
 * @param {string[]} metrics names that a comparison may use
 * @param {string[]} [overlays] of categories, which `name:category` may use
 * @returns {Term[]}
 */
export function termsOf(query, metrics, overlays = []) {
  const byName = (names) => new Map(names.map((name) => [name.toLowerCase(), name]));
  return wordsOf(query).map((word) => termOf(word, byName(metrics), byName(overlays)));
}

/** @returns {string[]} words; quotes hold several together and are taken off */
function wordsOf(query) {
  return (query.match(/(?:[^\s"]|"[^"]*(?:"|$))+/g) ?? []).map((word) => word.replaceAll('"', "")).filter(Boolean);
}

function termOf(word, metrics, overlays) {
  const not = word.length > 1 && word.startsWith("-");
  const text = not ? word.slice(1) : word;
  return { ...(comparisonIn(text, metrics) ?? fieldIn(text, metrics, overlays) ?? { kind: "text", text }), not };
}

function comparisonIn(text, metrics) {
  const found = COMPARISON.exec(text);
  const metric = found && metrics.get(found[1].trim().toLowerCase());
  if (!metric) return null;
  const given = found[3].trim().toLowerCase();
  const number = NUMBER.exec(given);
  if (!number && !Object.hasOwn(BROKEN, given)) return null;
  const value = number ? Number(number[1]) : BROKEN[given];
  return { kind: "number", metric, op: found[2], value, unit: number?.[2] ?? null };
}

function fieldIn(text, metrics, overlays) {
  const at = text.indexOf(":");
  if (at < 1 || text[at + 1] === ":") return null;
  const [name, value] = [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
  if (metrics.has(name) && STATES.includes(value.toLowerCase()))
    return { kind: "state", metric: metrics.get(name), state: value.toLowerCase() };
  if (overlays.has(name) && !Object.hasOwn(FIELDS, name))
    return { kind: "category", metric: overlays.get(name), text: value };
  return Object.hasOwn(FIELDS, name) ? { kind: "field", field: FIELDS[name], text: value } : null;
}

// Finds a substring in many texts at once: all of them lie in one, so that one native search goes through all.

export class TextIndex {
  /** @param {string[]} texts */
  constructor(texts) {
    this.count = texts.length;
    const lowered = texts.map((text) => text.toLowerCase().replaceAll("\n", " "));
    this.starts = new Int32Array(texts.length + 1);
    for (let i = 0; i < lowered.length; i++) this.starts[i + 1] = this.starts[i] + lowered[i].length + 1;
    this.all = lowered.join("\n");
  }

  /** @param {string} needle @returns {Uint8Array} 1 for each text that holds it, whatever its case */
  find(needle) {
    const out = new Uint8Array(this.count);
    const wanted = needle.toLowerCase().replaceAll("\n", " ");
    if (!wanted) return out.fill(1);
    const { all, starts } = this;
    let text = 0;
    for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, starts[text + 1])) {
      text = this.#textAt(at, text);
      out[text] = 1;
    }
    return out;
  }

  #textAt(at, from) {
    let [low, high, step] = [from, from + 1, 1];
    while (high < this.count && this.starts[high] <= at) {
      low = high;
      step *= 2;
      high = Math.min(this.count, high + step);
    }
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= at) low = middle;
      else high = middle;
    }
    return low;
  }
}

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
  /** @param {import("./scene.js").Scene} scene @param {import("../paint/colorings.js").Colorings|null} [colorings] */
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

  /** @param {import("./search.js").Term} term @returns {(node: number) => boolean} */
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

/** @param {import("../paint/coloring.js").Coloring} coloring @param {number} node @returns {number} NaN and infinite included */
export function numberOf(coloring, node) {
  const bucket = coloring.buckets[node];
  return bucket === PLUS_INF ? Infinity : bucket === MINUS_INF ? -Infinity : coloring.values[node];
}
