// From a metric to a bucket per node: no data, no number for a reason, the steps of a scale, infinite, NaN; and the
// stages that the metric is not of.

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

/**
 * @typedef {{name: string, metric: string, unit: string|null, better: string|null, buckets: Uint8Array, values: Float64Array,
 *   reasons: Int32Array, domain: Domain|null, counts: number[], order: number[], categories: string[]|null}} Coloring
 *   order: buckets as they are painted, what matters most last
 * @typedef {{min: number, max: number, log: boolean}} Domain
 * @typedef {{fills: string[], inks: string[], hatches: (string|null)[]}} BucketStyle
 */

/** @param {import("./scene.js").Scene} scene @param {number} index of the metric @returns {Coloring} */
export function metricColoring(scene, index) {
  const { name, metric, unit, better } = scene.header.colors[index];
  const { status, values, reasons } = spreadColor(scene, index);
  const domain = domainOf(scene.columns.get(`color${index}.value`), better);
  const buckets = new Uint8Array(scene.nodeCount);
  for (let node = 0; node < scene.nodeCount; node++) {
    const step =
      status[node] === 0 ? Math.min(STEPS - 1, Math.floor(badness(values[node], domain, better) * STEPS)) : 0;
    buckets[node] = BUCKET_OF_STATUS[status[node]] + step;
  }
  for (const { first, end } of scene.panes)
    if (buckets.subarray(first, end).every((bucket) => bucket === NO_DATA)) buckets.fill(OTHER, first, end);
  const counts = countsOf(buckets, FIRST_STEP + STEPS);
  const steps = Array.from({ length: STEPS }, (_, i) => FIRST_STEP + i);
  const order = [OTHER, NO_DATA, MISSING, ...steps, MINUS_INF, PLUS_INF, NAN];
  return { name, metric, unit, better, buckets, values, reasons, domain, counts, order, categories: null };
}

/** @param {import("./scene.js").Scene} scene @returns {Coloring} by what a node is, for pages without a metric */
export function roleColoring(scene) {
  const column = scene.columns.get("node.role");
  const roles = [...new Set(column)]
    .filter((role) => role >= 0)
    .sort((a, b) => a - b)
    .slice(0, 200);
  const bucketOf = new Map(roles.map((role, i) => [role, FIRST_STEP + i]));
  const buckets = Uint8Array.from(column, (role) => bucketOf.get(role) ?? NO_DATA);
  return {
    name: "role",
    metric: "role",
    unit: null,
    better: null,
    buckets,
    domain: null,
    counts: countsOf(buckets, FIRST_STEP + roles.length),
    values: new Float64Array(0),
    reasons: new Int32Array(0),
    order: [NO_DATA, ...bucketOf.values()],
    categories: roles.map((role) => scene.strings[role]),
  };
}

/** @param {Coloring} coloring @param {import("./themes.js").Theme} theme @returns {BucketStyle} */
export function styleOf(coloring, theme) {
  const { nodata, missing, inf, nan, other } = theme.graph;
  const special = [nodata, missing, inf, inf, nan, other];
  const fills = [...special, ...(coloring.categories ? categoryFills(coloring, theme) : stepFills(coloring, theme))];
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

/** @param {ArrayLike<number>} values finite ones @param {string|null} better @returns {Domain|null} */
export function domainOf(values, better) {
  if (!values.length) return null;
  let [min, max] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    min = Math.min(min, values[i]);
    max = Math.max(max, values[i]);
  }
  if (better === "higher" || max <= 0 || min < 0) return { min, max, log: false };
  const least = smallestPositive(values);
  return max / least > LOG_RATIO ? { min: least, max, log: true } : { min, max, log: false };
}

/** @param {number} part 0 to 1 @param {Domain} domain @returns {number} the value there */
export function valueAt(part, { min, max, log }) {
  return log ? min * (max / min) ** part : min + (max - min) * part;
}

function countsOf(buckets, size) {
  const out = new Array(size).fill(0);
  for (const bucket of buckets) out[bucket]++;
  return out;
}

function positionIn(value, { min, max, log }) {
  if (max <= min) return 0;
  if (log) return Math.max(0, Math.log(Math.max(value, min) / min) / Math.log(max / min));
  return (value - min) / (max - min);
}

function smallestPositive(values) {
  let least = Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > 0) least = Math.min(least, values[i]);
  return least;
}

function stepFills(coloring, theme) {
  const stops = coloring.better ? theme.scale : theme.neutral;
  return Array.from({ length: STEPS }, (_, i) => mixed(stops, (i + 0.5) / STEPS));
}

function categoryFills(coloring, theme) {
  return coloring.categories.map((name) => theme.roles[name] ?? theme.roles.op);
}

/** Gives each node its status, value and reason, which the payload holds only where there is one. */
function spreadColor(scene, index) {
  const status = scene.columns.get(`color${index}.status`);
  const [given, why] = [scene.columns.get(`color${index}.value`), scene.columns.get(`color${index}.reason`)];
  const values = new Float64Array(status.length).fill(NaN);
  const reasons = new Int32Array(status.length).fill(-1);
  let [v, r] = [0, 0];
  for (let node = 0; node < status.length; node++) {
    if (status[node] === 0) values[node] = given[v++];
    else if (status[node] === 4) reasons[node] = why[r++];
  }
  return { status, values, reasons };
}
