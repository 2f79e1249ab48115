// From a metric to a bucket per node: no data, no number for a reason, the steps of a scale, infinite, NaN; and the
// stages that the metric is not of.

import { colorReader, inkOn, mixed } from "./themes.js";
import {
  anchoredDomain,
  anchorsOf,
  badness,
  domainOf,
  isPerfect,
  narrowed,
  standingOf,
} from "./scales.js";

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
const STATUS_OK = 0;
const STATUS_MISSING = 4;
const STATUS_NO_DATA = 5;
const INFINITE = [0, 0, Infinity, -Infinity];
const NUMBERS = new Set([0, 2, 3]); // statuses of numbers that may stand on a scale
const MOST_CATEGORIES = 24;
const hexColor = colorReader(null);

/**
 * @typedef {{name: string, metric: string, unit: string|null, better: string|null, buckets: Uint8Array, values: Float64Array,
 *   reasons: Int32Array, domain: Domain|null, own: Domain|null, anchored?: Domain|null, measure?: import("./scales.js").Measure, standing?: [string, number][], counts: number[], order: number[], categories: string[]|null, texts?: ArrayLike<number>, source?: NumberSource,
 *   legend?: {label: string, color: string|null, of?: string}[], fillsOf?: (theme: import("./themes.js").Theme, styleOf: any) => string[],
 *   said?: (node: number) => string|null, fills?: Record<string, string[]>,
 *   samples?: string[], allSamples?: number, sample?: number, notes?: ArrayLike<number>}} Coloring
 *   samples: their names; allSamples: how many there are, on the page or not; sample: the one that is shown, -1 for the worst of each node; notes: a text per node, or -1
 *   fills: of categories, on a light and on a dark ground
 *   legend, fillsOf: of colours that the payload gives, instead of those of the theme
 *   measure: what is known of the metric; own: the range of its values; anchored: the domain that the metric gives;
 *   standing: in words how many are identical or nearly so; order: buckets as they are painted, what matters most last
 *   source: of numbers, what it was made from
 * @typedef {{about: {name: string, differ?: number[]|null} & import("./scales.js").Measure, signed?: boolean,
 *   numbers: {status: ArrayLike<number>, value: ArrayLike<number>, reason: ArrayLike<number>}, span?: ArrayLike<number>[]|null}} NumberSource
 *   a status per node, a value per node with status 0, a reason per node with status 4; signed: a difference;
 *   differ: nodes whose tensors are known to differ although the metric is perfect
 *   span: what else the scale spans: the values of all samples, so that a colour means one number in each of them
 * @typedef {import("./scales.js").Domain} Domain
 * @typedef {{fills: string[], inks: string[], hatches: (string|null)[]}} BucketStyle
 */

/**
 * @param {import("../scene/scene.js").Scene} scene @param {number} index of the metric
 * @param {{min: number, max: number}|null} [range] what the scale spans instead
 * @param {number} [sample] whose numbers; -1: of each node the worst
 * @param {boolean} [relative] whether it spans the range of the values, whatever the metric means
 * @returns {Coloring}
 */
export function metricColoring(scene, index, range = null, sample = -1, relative = false) {
  const about = scene.header.colors[index];
  const samples = about.samples ?? [];
  const column = (of, part) => scene.columns.get(`color${of}.${part}`);
  const parts = about.parts ?? [index];
  const numbersOf = (of) => {
    const place = sample < 0 ? "" : `sample${(scene.header.colors[of].samples ?? []).indexOf(samples[sample])}.`;
    return { status: column(of, `${place}status`), value: column(of, `${place}value`), reason: column(of, `${place}reason`) };
  };
  const spans = parts.flatMap((of) => (scene.header.colors[of].samples ?? []).map((_, i) => column(of, `sample${i}.value`)));
  const known = sample < 0 ? about : { ...about, differ: null }; // which is of the worst of each node
  const numbers = about.parts ? unitedNumbers(parts.map(numbersOf).filter(({ status }) => status)) : numbersOf(index);
  const source = { about: known, numbers, span: spans.length ? spans : null };
  const notes = sample < 0 && !about.parts ? column(index, "note") : undefined;
  return { ...numberColoring(scene, source, range, relative), samples, allSamples: about.allSamples, sample, notes };
}

/**
 * The numbers of several overlays as those of one: of each node those of the first that knows it.
 * @param {NumberSource["numbers"][]} parts @returns {NumberSource["numbers"]}
 */
export function unitedNumbers(parts) {
  const count = Math.max(0, ...parts.map(({ status }) => status.length));
  const status = new Uint8Array(count).fill(STATUS_NO_DATA);
  const value = [];
  const reason = [];
  const at = parts.map(() => ({ value: 0, reason: 0 }));
  for (let node = 0; node < count; node++) {
    for (const [i, part] of parts.entries()) {
      const own = part.status[node];
      const first = status[node] === STATUS_NO_DATA;
      if (first) status[node] = own;
      if (own === STATUS_OK) {
        const number = part.value[at[i].value++];
        if (first) value.push(number);
      } else if (own === STATUS_MISSING) {
        const why = part.reason[at[i].reason++];
        if (first) reason.push(why);
      }
    }
  }
  return { status, value: Float64Array.from(value), reason: Int32Array.from(reason) };
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {NumberSource} source
 * @param {{min: number, max: number}|null} [range] what the scale spans instead
 * @param {boolean} [relative] whether it spans the range of the values, whatever the metric means
 * @returns {Coloring}
 */
export function numberColoring(scene, source, range = null, relative = false) {
  const { status, value, reason } = source.numbers;
  const { name, metric, unit, better, differ } = source.about;
  const measure = { ...source.about, signed: source.signed };
  const own = domainOf(source.span ? concatenated([value, ...source.span]) : value, better, source.signed);
  const hasNumbers = status.some((one) => NUMBERS.has(one));
  const anchored = hasNumbers ? anchoredDomain(measure) : null;
  const domain = own && range ? narrowed(own, range) : relative ? (own ?? anchored) : (anchored ?? own);
  const stepOf = stepper(domain, measure);
  const spread = spreadColor(status, value, reason, stepOf);
  const standing = standingOf(spread.values, measure, differ ? new Set(differ) : null);
  silence(scene, spread.buckets);
  const counts = countsOf(spread.buckets, FIRST_STEP + STEPS);
  const steps = Array.from({ length: STEPS }, (_, i) => FIRST_STEP + i);
  const order = [OTHER, NO_DATA, MISSING, ...steps, MINUS_INF, PLUS_INF, NAN];
  const about = { name, metric, unit, better, measure, standing, anchored };
  return { ...about, ...spread, domain, own, counts, order, categories: null, source };
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

/** @returns {(value: number) => number} where a number stands on the scale, 0 is best, or lowest; -1: nowhere */
function stepper(domain, measure) {
  const scale = anchorsOf(measure);
  const { better } = measure;
  return (value) => {
    if (isPerfect(value, scale)) return 0;
    if (!Number.isFinite(value)) return -1;
    return Math.min(STEPS - 1, Math.floor(badness(value, domain, better) * STEPS));
  };
}

/** Nodes of panes of which an overlay knows none are of other stages. */
function silence(scene, buckets) {
  for (const { first, end } of scene.panes) {
    let node = first;
    while (node < end && buckets[node] === NO_DATA) node++;
    if (node === end) buckets.fill(OTHER, first, end);
  }
}

/** @param {import("../scene/scene.js").Scene} scene @returns {Coloring} by what a node is, for pages without a metric */
export function roleColoring(scene) {
  return textColoring(scene, scene.columns.get("node.role"), "role", "role");
}

/** @param {import("../scene/scene.js").Scene} scene @param {number} index of the overlay @returns {Coloring} */
export function categoryColoring(scene, index) {
  const { name, metric, fills } = scene.header.colors[index];
  const coloring = textColoring(scene, scene.columns.get(`color${index}.text`), name, metric, fills);
  silence(scene, coloring.buckets);
  coloring.counts = countsOf(coloring.buckets, coloring.counts.length);
  return coloring;
}

/**
 * The most frequent texts have a colour of their own; the others share one.
 * @param {import("../scene/scene.js").Scene} scene @param {ArrayLike<number>} column a text per node, or -1
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

function countsOf(buckets, size) {
  const out = new Array(size).fill(0);
  for (const bucket of buckets) out[bucket]++;
  return out;
}

function fillsOf(coloring, theme) {
  if (coloring.fillsOf) return coloring.fillsOf(theme, styleOf);
  return coloring.categories ? categoryFills(coloring, theme) : stepFills(coloring, theme);
}

function stepFills(coloring, theme) {
  const sequential = coloring.better ? theme.scale : theme.neutral; // of what has no direction nothing is good or bad
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

/** Gives each node its bucket, value and reason, which the payload holds only where there is one; +∞ dB is a value. */
function spreadColor(status, given, why, stepOf) {
  const buckets = new Uint8Array(status.length);
  const values = new Float64Array(status.length).fill(NaN);
  const reasons = new Int32Array(status.length).fill(-1);
  let [v, r] = [0, 0];
  for (let node = 0; node < status.length; node++) {
    const own = status[node];
    buckets[node] = BUCKET_OF_STATUS[own];
    if (own === 0) {
      values[node] = given[v++];
      buckets[node] += stepOf(values[node]);
    } else if (INFINITE[own]) {
      const step = stepOf(INFINITE[own]);
      if (step < 0) continue;
      values[node] = INFINITE[own];
      buckets[node] = FIRST_STEP + step;
    } else if (own === 4) reasons[node] = why[r++];
  }
  return { buckets, values, reasons };
}
