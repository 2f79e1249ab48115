// Colourings of a scene that was made from JSON: the payload's own colours, one colouring per layer, and what a node is.

import {
  FIRST_STEP,
  MINUS_INF,
  NAN,
  NO_DATA,
  OTHER,
  PLUS_INF,
  roleColoring,
} from "../paint/coloring.js";
import { colorName } from "../paint/colorings.js";
import { BASE } from "./layers.js";

/** What JSON has no number for, as payloads write it. */
const WRITTEN = { NaN: NAN, Infinity: PLUS_INF, "-Infinity": MINUS_INF };

export class LayerColorings {
  #made = new Map();
  #added = [];
  /** The one that fills the boxes. */
  current = 0;
  relative = false;

  /** @param {import("../scene/scene.js").Scene} scene @param {import("./layers.js").LayerSet} layers */
  constructor(scene, layers) {
    Object.assign(this, { scene, layers });
    this.refresh();
  }

  /** After layers have changed. */
  refresh() {
    this.#made.clear();
    this.numbers = null;
    const layers = [...this.layers.names()];
    /** @type {string[]} */
    this.keys = [BASE, ...layers.map(([id]) => id), ...this.#added.map((_, i) => `added ${i}`)];
    this.names = [BASE, ...layers.map(([, name]) => name), ...this.#added.map(colorName)];
    this.metricNames = this.names;
    this.firstAdded = 1 + layers.length;
  }

  /** @param {string} key `base` or a layer's id @returns {number} 0, the base, where there is no such layer */
  indexOf(key) {
    return Math.max(0, this.keys.slice(0, this.firstAdded).indexOf(key));
  }

  /** @param {number} index @returns {import("../paint/coloring.js").Coloring} */
  at(index) {
    if (index >= this.firstAdded) return this.#added[index - this.firstAdded];
    if (!this.#made.has(index)) this.#made.set(index, this.#make(index));
    return this.#made.get(index);
  }

  /** Offers one more, after all others. @param {import("../paint/coloring.js").Coloring} coloring @returns {number} its index */
  add(coloring) {
    const at = this.#added.findIndex((one) => colorName(one) === colorName(coloring));
    if (at >= 0) this.#added[at] = coloring;
    else this.#added.push(coloring);
    this.refresh();
    return this.firstAdded + (at >= 0 ? at : this.#added.length - 1);
  }

  #make(index) {
    const { scene, layers } = this;
    const key = this.keys[index];
    const legend = joinedLegend(scene, layers.legends(key));
    if (index) {
      const coloring = givenColoring(scene, this.names[index], legend, (node) => layers.fill(key, node), NO_DATA);
      return { ...coloring, said: (node) => layers.words(key, node) };
    }
    const role = roleColoring(scene);
    const given = Array.from({ length: scene.nodeCount }, (_, node) => layers.fill(BASE, node));
    if (!given.some(Boolean)) return legend.length ? { ...role, legend } : role;
    return givenColoring(scene, BASE, legend, (node) => given[node], role);
  }

  setRange() {}

  setRelative() {}

  overlays() {
    return this.#added;
  }

  categorical() {
    return [this.at(0), ...this.#added].filter(({ texts }) => texts?.length);
  }

  /** @returns {any[]} numbers that layers know of nodes, for the search: `ms>3`, `Latency.ms>3` */
  numeric() {
    this.numbers ??= this.layers.numericFields().flatMap(({ layer, name, field }) => {
      const read = fieldNumbers(this.scene, (node) => this.layers.value(layer, field, node));
      return [field, `${name}.${field}`].map((metric) => ({ ...read, metric, name: metric, unit: null }));
    });
    return this.numbers;
  }

  warm() {}
}

/** Buckets and values of a field, as a metric has them. */
function fieldNumbers(scene, valueOf) {
  const buckets = new Uint8Array(scene.nodeCount).fill(NO_DATA);
  const values = new Float64Array(scene.nodeCount).fill(NaN);
  for (let node = 0; node < buckets.length; node++) {
    const value = valueOf(node);
    if (Object.hasOwn(WRITTEN, value)) buckets[node] = WRITTEN[value];
    else if (typeof value === "number") [buckets[node], values[node]] = [FIRST_STEP, value];
  }
  return { buckets, values, categories: null };
}

/** One legend where all graphs have the same, else each one's own under its pane's title. */
function joinedLegend(scene, legends) {
  const different = new Map(legends.map((own, pane) => [JSON.stringify(own), pane]).reverse());
  different.delete("[]");
  const kept = [...different.values()].sort((a, b) => a - b);
  return kept.flatMap((pane) =>
    legends[pane].map((entry, i) => (i || kept.length < 2 ? entry : { ...entry, of: scene.panes[pane].title })),
  );
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {string} name @param {{label: string, color: string|null}[]} legend
 * @param {(node: number) => string|null} fill `#rrggbb`
 * @param {number|import("../paint/coloring.js").Coloring} rest the bucket of nodes without a colour, or the colouring that gives theirs
 * @returns {import("../paint/coloring.js").Coloring}
 */
export function givenColoring(scene, name, legend, fill, rest) {
  const numbers = new Map();
  const buckets = new Uint32Array(scene.nodeCount);
  const bucketOf = (key) => {
    if (!numbers.has(key)) numbers.set(key, FIRST_STEP + numbers.size);
    return numbers.get(key);
  };
  for (let node = 0; node < buckets.length; node++) {
    const color = fill(node);
    if (color) buckets[node] = bucketOf(color);
    else buckets[node] = typeof rest === "number" ? rest : bucketOf(rest.buckets[node]);
  }
  for (const { first, end } of typeof rest === "number" ? scene.panes : []) {
    if (buckets.subarray(first, end).every((bucket) => bucket === rest)) buckets.fill(OTHER, first, end);
  }
  const counts = new Array(FIRST_STEP + numbers.size).fill(0);
  for (const bucket of buckets) counts[bucket]++;
  const keys = [...numbers.keys()];
  const own = (theme, styleOf) => {
    const other = typeof rest === "number" ? null : styleOf(rest, theme).fills;
    return keys.map((key) => (typeof key === "string" ? key : other[key]));
  };
  return {
    ...{ name, metric: name, unit: null, better: null, buckets, counts, domain: null, own: null, legend },
    values: new Float64Array(0),
    reasons: new Int32Array(0),
    order: [OTHER, NO_DATA, ...keys.map((_, i) => FIRST_STEP + i)],
    categories: [],
    texts: new Int32Array(0),
    fillsOf: own,
  };
}
