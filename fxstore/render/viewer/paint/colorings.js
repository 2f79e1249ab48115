// The colourings that a page offers, each made when it is first asked for.

import {
  categoryColoring,
  FIRST_STEP,
  metricColoring,
  MINUS_INF,
  MISSING,
  NAN,
  NO_DATA,
  numberColoring,
  OTHER,
  PLUS_INF,
  roleColoring,
  STEPS,
} from "./coloring.js";
import { grouped, isTime, withUnit } from "../scene/numbers.js";
import { anchorsOf, isPerfect, positionIn, valueAt } from "./scales.js";

export class Colorings {
  #made = [];
  #added = [];
  #ranges = new Map();
  /** Name of the sample that metrics show, where they have it; null: of each node the worst. */
  sample = null;
  /** The one that fills the boxes. */
  current = 0;
  /** Whether scales span the range of their values, whatever the metric means. */
  relative = false;

  /** @param {import("../scene/scene.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.names = [...scene.header.colors.map(colorName), "role"];
    this.metricNames = [...scene.header.colors.map(({ metric }) => metric), "role"];
  }

  /** @param {number} index @returns {import("./coloring.js").Coloring} each overlay, then what a node is */
  at(index) {
    return (this.#made[index] ??= this.#make(index));
  }

  /** Offers one more, after all others. @param {import("./coloring.js").Coloring} coloring @returns {number} its index */
  add(coloring) {
    const known = this.names.indexOf(colorName(coloring));
    const index = known >= 0 ? known : this.names.length;
    this.names[index] = colorName(coloring);
    this.metricNames[index] = coloring.metric;
    this.#made[index] = coloring;
    if (known < 0) this.#added.push(index);
    return index;
  }

  #make(index) {
    const entry = this.scene.header.colors[index];
    if (!entry) return roleColoring(this.scene);
    if (entry.categories) return categoryColoring(this.scene, index);
    const sample = (entry.samples ?? []).indexOf(this.sample);
    return metricColoring(this.scene, index, this.#ranges.get(index) ?? null, sample, this.relative);
  }

  /** Shows a sample's numbers. @param {string|null} name null: of each node the worst */
  setSample(name) {
    this.sample = name;
    for (const [index, { samples }] of this.scene.header.colors.entries()) if (samples) delete this.#made[index];
  }

  /** Gives a metric's scale other ends. @param {number} index @param {{min: number, max: number}|null} range null: its own */
  setRange(index, range) {
    const { source } = this.at(index);
    this.#ranges.set(index, range);
    if (this.scene.header.colors[index]) delete this.#made[index];
    else if (source) this.#made[index] = numberColoring(this.scene, source, range, this.relative);
  }

  /** Gives every metric the scale that its values span, or the one that it means. @param {boolean} on */
  setRelative(on) {
    this.relative = on;
    for (const index of this.#made.keys()) if (this.#made[index]?.source) this.setRange(index, null);
  }

  /** @returns {import("./coloring.js").Coloring[]} all but what a node is, and what only unites others */
  overlays() {
    const { colors } = this.scene.header;
    const own = [...colors.keys()].filter((index) => !colors[index].parts);
    return [...own, ...this.#added].map((index) => this.at(index));
  }

  /** @returns {import("./coloring.js").Coloring[]} those with categories, the one in use first */
  categorical() {
    const used = this.#made[this.current];
    return this.names
      .map((_, index) => this.at(index))
      .filter(({ categories }) => categories)
      .sort((a, b) => Number(b === used) - Number(a === used));
  }

  /** @returns {import("./coloring.js").Coloring[]} those with numbers, the one in use first */
  numeric() {
    const used = this.#made[this.current];
    return this.overlays()
      .filter(({ categories }) => !categories)
      .sort((a, b) => Number(b === used) - Number(a === used));
  }
}

/** @param {{metric: string, name: string}} color @returns {string} */
export function colorName({ metric, name }) {
  return name === metric ? metric : `${metric} · ${name}`;
}

// A node's metric in words.


/**
 * @param {import("../scene/scene.js").Scene} scene
 * @param {import("./coloring.js").Coloring} coloring
 * @param {number} node
 * @returns {string}
 */
export function metricText(scene, coloring, node) {
  const bucket = coloring.buckets[node];
  if (bucket === NO_DATA) return "no data";
  if (bucket === OTHER) return "not of this stage";
  if (coloring.said) return coloring.said(node) ?? "no data";
  if (coloring.categories) return scene.strings[coloring.texts[node]] ?? "no data";
  if (bucket === NAN) return "NaN";
  if (bucket === PLUS_INF) return "∞";
  if (bucket === MINUS_INF) return "−∞";
  if (bucket === MISSING) return `no number: ${scene.strings[coloring.reasons[node]] ?? "no reason given"}`;
  const note = scene.strings[coloring.notes?.[node] ?? -1];
  return withUnit(coloring.values[node], coloring.unit) + (note ? ` (${note})` : "");
}

// What a module's nodes are together: how many, the worst number, the sum of times.


/**
 * @typedef {{nodes: number, measured: number, worst: number, sum: number}} ModuleStats
 *   worst: the node with the worst number, or -1; sum: of its finite numbers
 */

/** How bad a bucket is: broken numbers first. @param {number} bucket @returns {number} -1 where there is no number */
export function severity(bucket) {
  if (bucket === NO_DATA || bucket === MISSING || bucket === OTHER) return -1;
  if (bucket === NAN) return 1e6;
  return bucket === PLUS_INF || bucket === MINUS_INF ? 1e5 : bucket - FIRST_STEP;
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../scene/scene.js").PaneScene} pane
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {ModuleStats[]} of each block of the pane
 */
export function moduleStats(scene, pane, coloring) {
  const { parent, of, first, end, firstNode } = scene.hierarchy(pane);
  const out = Array.from({ length: end - first }, () => ({ nodes: 0, measured: 0, worst: -1, sum: 0 }));
  for (let i = 0; i < of.length; i++) if (of[i] >= 0) count(out[of[i] - first], coloring, firstNode + i);
  for (let b = end - 1; b >= first; b--)
    if (parent[b - first] >= 0) add(out[parent[b - first] - first], out[b - first], coloring);
  return out;
}

function count(stats, coloring, node) {
  stats.nodes++;
  if (coloring.categories || severity(coloring.buckets[node]) < 0) return;
  stats.measured++;
  if (Number.isFinite(coloring.values[node])) stats.sum += coloring.values[node];
  if (worse(coloring, node, stats.worst)) stats.worst = node;
}

function add(stats, part, coloring) {
  stats.nodes += part.nodes;
  stats.measured += part.measured;
  stats.sum += part.sum;
  if (part.worst >= 0 && worse(coloring, part.worst, stats.worst)) stats.worst = part.worst;
}

function worse({ buckets, values, better }, node, than) {
  if (than < 0) return true;
  const apart = severity(buckets[node]) - severity(buckets[than]);
  if (apart) return apart > 0;
  return better === "higher" ? values[node] < values[than] : values[node] > values[than];
}

/** @param {import("../scene/scene.js").Scene} scene @param {ModuleStats} stats @param {import("./coloring.js").Coloring} coloring */
export function statsText(scene, stats, coloring) {
  const parts = [`${grouped(stats.nodes)} node${stats.nodes === 1 ? "" : "s"}`];
  if (stats.worst >= 0) {
    const word = coloring.better ? "worst" : "most";
    parts.push(`${word} ${metricText(scene, coloring, stats.worst)}`);
    if (isTime(coloring.unit)) parts.push(`sum ${withUnit(stats.sum, coloring.unit)}`);
  }
  return parts.join(" · ");
}

/** @param {import("../scene/scene.js").Scene} scene @param {number} block @returns {string} */
export function modulePath(scene, block) {
  return scene.strings[scene.columns.get("block.path")[block]] ?? "";
}

// A metric along the graph's order, and its distribution: what the strip and the histogram draw.


/**
 * @typedef {{node: number, low: number, high: number, broken: boolean}} Bin
 *   node: the one with the worst number; low, high: 0 to 1 on the scale; broken: NaN or infinite
 */

/**
 * @param {{first: number, end: number}} pane @param {import("./coloring.js").Coloring} coloring @param {number} bins
 * @returns {(Bin|null)[]} one per part of the order; null where nothing is measured
 */
export function profileOf({ first, end }, { buckets, values, domain }, bins) {
  const out = new Array(bins).fill(null);
  const count = Math.max(1, end - first);
  for (let node = domain ? first : end; node < end; node++) {
    const worth = severity(buckets[node]);
    if (worth < 0) continue;
    const i = Math.min(bins - 1, Math.floor(((node - first) * bins) / count));
    const bin = (out[i] ??= { node, low: Infinity, high: -Infinity, broken: false });
    if (worth > severity(buckets[bin.node])) bin.node = node;
    if (buckets[node] < FIRST_STEP) bin.broken = true;
    else {
      if (values[node] < bin.low) bin.low = values[node];
      if (values[node] > bin.high) bin.high = values[node];
    }
  }
  const place = ({ low, high }) =>
    low > high ? { low: 1, high: 0 } : { low: positionIn(low, domain), high: positionIn(high, domain) };
  return out.map((bin) => bin && { ...bin, ...place(bin) });
}

/** @param {{first: number, end: number}} pane @param {number} part 0 to 1 @param {import("./coloring.js").Coloring} coloring
 * @returns {number} the measured node nearest to that part of the order, or -1 */
export function nodeAlong({ first, end }, part, coloring) {
  const middle = first + Math.min(end - first - 1, Math.floor(part * (end - first)));
  for (let away = 0; away < end - first; away++)
    for (const node of [middle + away, middle - away])
      if (node >= first && node < end && severity(coloring.buckets[node]) >= 0) return node;
  return -1;
}

/**
 * @param {{first: number, end: number}} pane @param {import("./coloring.js").Coloring} coloring
 * @param {number} from node, or -1 @param {1|-1} step
 * @returns {number} the next measured node in the pane's order, or -1
 */
export function nextMeasured({ first, end }, coloring, from, step) {
  let node = from >= 0 ? from + step : step > 0 ? first : end - 1;
  while (node >= first && node < end && severity(coloring.buckets[node]) < 0) node += step;
  return node >= first && node < end ? node : -1;
}

/**
 * How finite values are spread over the scale, one bin for each of its steps; what lies beyond its ends is in the last ones.
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {{count: number, from: number, to: number, withFrom: boolean, withTo: boolean}[]} from best to worst, or from
 *   low to high; withFrom, withTo: whether that end belongs to the bin
 */
export function histogramOf({ counts, domain, own, better, measure }) {
  const least = own?.min ?? Infinity;
  const most = isPerfect(Infinity, anchorsOf(measure)) ? Infinity : (own?.max ?? -Infinity);
  const falling = better === "higher";
  const edge = (step) => valueAt(falling ? 1 - step / STEPS : step / STEPS, domain);
  return Array.from({ length: STEPS }, (_, step) => {
    const count = counts[FIRST_STEP + step];
    const [lowest, highest] = [step === (falling ? STEPS - 1 : 0), step === (falling ? 0 : STEPS - 1)];
    const [from, to] = falling ? [edge(step + 1), edge(step)] : [edge(step), edge(step + 1)];
    return {
      count,
      from: lowest ? least : from,
      to: highest ? most : to,
      withFrom: lowest || !falling,
      withTo: highest || falling,
    };
  });
}
