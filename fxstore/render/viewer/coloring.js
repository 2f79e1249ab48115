// From a metric to a bucket per node: no data, no number for a reason, the steps of a scale, infinite, NaN; and the
// stages that the metric is not of.

import { colorReader } from "./csscolor.js";
import { inkOn, mixed } from "./themes.js";

export const STEPS = 32;
export const NO_DATA = 0;
export const MISSING = 1;
export const MINUS_INF = 2;
export const PLUS_INF = 3;
export const NAN = 4;
/** No data, in a pane of which the metric knows no node at all. */
export const OTHER = 5;
export const FIRST_STEP = 6;
const BUCKET_OF_STATUS = [FIRST_STEP, NAN, PLUS_INF, MINUS_INF, MISSING, NO_DATA];
const LOG_RATIO = 100;
const MOST_CATEGORIES = 24;
const hexColor = colorReader(null);

/**
 * @typedef {{name: string, metric: string, unit: string|null, better: string|null, buckets: Uint8Array, values: Float64Array,
 *   reasons: Int32Array, domain: Domain|null, own: Domain|null, counts: number[], order: number[], categories: string[]|null, texts?: ArrayLike<number>, source?: NumberSource,
 *   legend?: {label: string, color: string|null, of?: string}[], fillsOf?: (theme: import("./themes.js").Theme, styleOf: any) => string[],
 *   said?: (node: number) => string|null, fills?: Record<string, string[]>,
 *   samples?: string[], allSamples?: number, sample?: number, notes?: ArrayLike<number>}} Coloring
 *   samples: their names; allSamples: how many there are, on the page or not; sample: the one that is shown, -1 for the worst of each node; notes: a text per node, or -1
 *   fills: of categories, on a light and on a dark ground
 *   legend, fillsOf: of colours that the payload gives, instead of those of the theme
 *   own: the domain that it has unless another one is asked for; order: buckets as they are painted, what matters most last
 *   source: of numbers, what it was made from
 * @typedef {{about: {name: string, metric: string, unit: string|null, better: string|null}, signed?: boolean,
 *   numbers: {status: ArrayLike<number>, value: ArrayLike<number>, reason: ArrayLike<number>}, span?: ArrayLike<number>[]|null}} NumberSource
 *   a status per node, a value per node with status 0, a reason per node with status 4; signed: a difference;
 *   span: what else the scale spans: the values of all samples, so that a colour means one number in each of them
 * @typedef {{min: number, max: number, log: boolean, diverging?: boolean}} Domain diverging: zero is in the middle
 * @typedef {{fills: string[], inks: string[], hatches: (string|null)[]}} BucketStyle
 */

/**
 * @param {import("./scene.js").Scene} scene @param {number} index of the metric
 * @param {{min: number, max: number}|null} [range] what the scale spans instead of all values
 * @param {number} [sample] whose numbers; -1: of each node the worst
 * @returns {Coloring}
 */
export function metricColoring(scene, index, range = null, sample = -1) {
  const about = scene.header.colors[index];
  const column = (part) => scene.columns.get(`color${index}.${part}`);
  const of = (part) => ({ status: column(`${part}status`), value: column(`${part}value`), reason: column(`${part}reason`) });
  const samples = about.samples ?? [];
  const span = samples.length ? samples.map((_, i) => column(`sample${i}.value`)) : null;
  const source = { about, numbers: of(sample < 0 ? "" : `sample${sample}.`), span };
  const notes = sample < 0 ? column("note") : undefined;
  return { ...numberColoring(scene, source, range), samples, allSamples: about.allSamples, sample, notes };
}

/**
 * @param {import("./scene.js").Scene} scene @param {NumberSource} source
 * @param {{min: number, max: number}|null} [range] what the scale spans instead of all values
 * @returns {Coloring}
 */
export function numberColoring(scene, source, range = null) {
  const { status, value, reason } = source.numbers;
  const { name, metric, unit, better } = source.about;
  const own = domainOf(source.span ? concatenated([value, ...source.span]) : value, better, source.signed);
  const domain = own && range ? narrowed(own, range) : own;
  const spread = spreadColor(status, value, reason, stepsOf(value, domain, better));
  silence(scene, spread.buckets);
  const counts = countsOf(spread.buckets, FIRST_STEP + STEPS);
  const steps = Array.from({ length: STEPS }, (_, i) => FIRST_STEP + i);
  const order = [OTHER, NO_DATA, MISSING, ...steps, MINUS_INF, PLUS_INF, NAN];
  return { name, metric, unit, better, ...spread, domain, own, counts, order, categories: null, source };
}

function concatenated(parts) {
  const out = new Float64Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** @returns {Uint8Array} where each value stands on the scale, 0 is best, or lowest */
function stepsOf(values, domain, better) {
  const out = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++)
    out[i] = Math.min(STEPS - 1, Math.floor(badness(values[i], domain, better) * STEPS));
  return out;
}

/** Nodes of panes of which an overlay knows none are of other stages. */
function silence(scene, buckets) {
  for (const { first, end } of scene.panes) {
    let node = first;
    while (node < end && buckets[node] === NO_DATA) node++;
    if (node === end) buckets.fill(OTHER, first, end);
  }
}

/** @param {import("./scene.js").Scene} scene @returns {Coloring} by what a node is, for pages without a metric */
export function roleColoring(scene) {
  return textColoring(scene, scene.columns.get("node.role"), "role", "role");
}

/** @param {import("./scene.js").Scene} scene @param {number} index of the overlay @returns {Coloring} */
export function categoryColoring(scene, index) {
  const { name, metric, fills } = scene.header.colors[index];
  const coloring = textColoring(scene, scene.columns.get(`color${index}.text`), name, metric, fills);
  silence(scene, coloring.buckets);
  coloring.counts = countsOf(coloring.buckets, coloring.counts.length);
  return coloring;
}

/**
 * The most frequent texts have a colour of their own; the others share one.
 * @param {import("./scene.js").Scene} scene @param {ArrayLike<number>} column a text per node, or -1
 * @param {string} name @param {string} metric
 * @param {Record<string, string[]>} [fills] of a text, on a light and on a dark ground; texts stand in their order
 * @returns {Coloring}
 */
export function textColoring(scene, column, name, metric, fills = {}) {
  const places = new Map(Object.keys(fills).map((text, place) => [text, place]));
  const rank = (text) => places.get(scene.strings[text]) ?? places.size;
  const counts = new Int32Array(scene.strings.length);
  for (let node = 0; node < column.length; node++) if (column[node] >= 0) counts[column[node]]++;
  const known = [...counts.keys()].filter((text) => counts[text]);
  const shown = known
    .slice()
    .sort((a, b) => counts[b] - counts[a] || a - b)
    .slice(0, MOST_CATEGORIES)
    .sort((a, b) => rank(a) - rank(b) || a - b);
  const rest = known.length > shown.length ? FIRST_STEP + shown.length : NO_DATA;
  const bucketOf = new Uint8Array(scene.strings.length).fill(rest);
  for (const [i, text] of shown.entries()) bucketOf[text] = FIRST_STEP + i;
  const buckets = new Uint8Array(column.length);
  for (let node = 0; node < column.length; node++) buckets[node] = column[node] < 0 ? NO_DATA : bucketOf[column[node]];
  const categories = shown.map((text) => scene.strings[text]);
  if (rest !== NO_DATA) categories.push(`${known.length - shown.length} others`);
  return {
    name,
    metric,
    unit: null,
    better: null,
    buckets,
    domain: null,
    own: null,
    counts: countsOf(buckets, FIRST_STEP + categories.length),
    values: new Float64Array(0),
    reasons: new Int32Array(0),
    order: [OTHER, NO_DATA, ...categories.map((_, i) => FIRST_STEP + i)],
    categories,
    fills,
    texts: column,
  };
}

/** @param {Coloring} coloring @param {import("./themes.js").Theme} theme @returns {BucketStyle} */
export function styleOf(coloring, theme) {
  const { nodata, missing, inf, nan, other } = theme.graph;
  const special = [nodata, missing, inf, inf, nan, other];
  const fills = [...special, ...fillsOf(coloring, theme)];
  const hatches = [null, "dot", "cross", "cross", "stripe", null];
  return { fills, inks: fills.map(inkOn), hatches };
}

/**
 * @param {number} value
 * @param {Domain} domain
 * @param {string|null} better
 * @returns {number} 0 to 1: where it stands on the scale, 1 is worst, or highest
 */
export function badness(value, domain, better) {
  const part = positionIn(value, domain);
  return better === "higher" ? 1 - part : part;
}

/** @param {ArrayLike<number>} values finite ones @param {string|null} better @param {boolean} [signed] zero is in the middle @returns {Domain|null} */
export function domainOf(values, better, signed = false) {
  if (!values.length) return null;
  let [min, max] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    min = Math.min(min, values[i]);
    max = Math.max(max, values[i]);
  }
  if (signed) [min, max] = [Math.min(min, -max), Math.max(max, -min)];
  if ((!better || signed) && min < 0 && max > 0) return { min, max, log: false, diverging: true };
  if (better === "higher" || max <= 0 || min < 0) return { min, max, log: false };
  const least = smallestPositive(values);
  return max / least > LOG_RATIO ? { min: least, max, log: true } : { min, max, log: false };
}

/** @param {Domain} own @param {{min: number, max: number}} range @returns {Domain} */
function narrowed(own, range) {
  const diverging = own.diverging && range.min < 0 && range.max > 0;
  return { ...range, log: own.log && range.min > 0, diverging };
}

/** @param {number} part 0 to 1 @param {Domain} domain @returns {number} the value there */
export function valueAt(part, { min, max, log, diverging }) {
  if (diverging) return part < 0.5 ? min * (1 - 2 * part) : max * (2 * part - 1);
  if (log) return Math.exp(Math.log(min) * (1 - part) + Math.log(max) * part);
  return min * (1 - part) + max * part;
}

function countsOf(buckets, size) {
  const out = new Array(size).fill(0);
  for (const bucket of buckets) out[bucket]++;
  return out;
}

/** @param {number} value @param {Domain} domain @returns {number} 0 to 1 */
export function positionIn(value, { min, max, log, diverging }) {
  if (max <= min) return 0;
  if (diverging) return value < 0 ? Math.max(0, 0.5 - value / min / 2) : Math.min(1, 0.5 + value / max / 2);
  if (log) {
    const [at, low, high] = [Math.max(value, min), min, max].map(Math.log);
    return Math.min(1, Math.max(0, (at - low) / (high - low)));
  }
  const half = Number.isFinite(max - min) ? 1 : 0.5; // a span may be larger than any number
  return Math.min(1, Math.max(0, (value * half - min * half) / (max * half - min * half)));
}

function smallestPositive(values) {
  let least = Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > 0) least = Math.min(least, values[i]);
  return least;
}

function fillsOf(coloring, theme) {
  if (coloring.fillsOf) return coloring.fillsOf(theme, styleOf);
  return coloring.categories ? categoryFills(coloring, theme) : stepFills(coloring, theme);
}

function stepFills(coloring, theme) {
  const sequential = coloring.better ? theme.scale : theme.neutral;
  const stops = coloring.domain?.diverging ? theme.diverging : sequential;
  return Array.from({ length: STEPS }, (_, i) => mixed(stops, (i + 0.5) / STEPS));
}

function categoryFills(coloring, theme) {
  const known = coloring.metric === "role" ? theme.roles : coloring.metric === "change" ? theme.changes : {};
  const given = new Map(Object.entries(coloring.fills ?? {}).map(([name, both]) => [name, hexColor(both[Number(theme.dark)])]));
  return coloring.categories.map(
    (name, i) => given.get(name) ?? known[name] ?? theme.categories[i % theme.categories.length],
  );
}

/** Gives each node its bucket, value and reason, which the payload holds only where there is one. */
function spreadColor(status, given, why, steps) {
  const buckets = new Uint8Array(status.length);
  const values = new Float64Array(status.length).fill(NaN);
  const reasons = new Int32Array(status.length).fill(-1);
  let [v, r] = [0, 0];
  for (let node = 0; node < status.length; node++) {
    const own = status[node];
    buckets[node] = BUCKET_OF_STATUS[own];
    if (own === 0) {
      buckets[node] += steps[v];
      values[node] = given[v++];
    } else if (own === 4) reasons[node] = why[r++];
  }
  return { buckets, values, reasons };
}
