// Where a number stands on a scale. A scale stands on what the metric means where that is known: a cosine's on 1 − value,
// a time's on its share of the whole; else on the range of the values. The same as fxstore/colors/scales.py.

import COLORS from "../../../colors/colors.json" with { type: "json" };
import { brief, formatted, isTime, UNSAID, withUnit } from "../scene/numbers.js";

const LOG_RATIO = 100;
/** A tick nearer than this to that of the gate is left out. */
const TICKS_APART = 0.3;

/**
 * @typedef {{metric: string, unit: string|null, better: string|null, whole?: number|null, threshold?: number|null,
 *   signed?: boolean}} Measure whole: what its numbers are a share of; threshold: worst number that still passes the gate;
 *   signed: a difference, which no scale of the metric fits
 * @typedef {{min: number, max: number, log: boolean, diverging?: boolean, reach?: number, middle?: number, anchored?: boolean}} Domain
 *   diverging: zero is in the middle; reach: the number whose distance is what stands on the axis; middle: the number
 *   that stands in the middle; anchored: the metric gives its ends, not the values
 */

/** @param {Measure} measure @returns {any} what colors.json knows of a metric's scale, or null */
export function anchorsOf({ metric, unit, better, whole, signed }) {
  if (signed) return null;
  if (whole && better !== "higher") return COLORS.scales.share;
  const name = COLORS.metrics[metric.toLowerCase().split("(")[0]] ?? COLORS.units[unit];
  const found = COLORS.scales[name];
  return found?.better === better ? found : null;
}

/** @param {Measure} measure @returns {Domain|null} what its scale spans, whatever the values are */
export function anchoredDomain(measure) {
  const scale = anchorsOf(measure);
  if (!scale) return null;
  const whole = measure.whole || 1;
  const [min, max] = [scale.good * whole, scale.bad * whole].sort((a, b) => a - b);
  const domain = { min, max, log: scale.log, reach: scale.from, anchored: true };
  const middle = measure.threshold ?? null;
  const at = middle === null ? 0 : positionIn(middle, domain);
  return at > 0 && at < 1 ? { ...domain, middle } : domain;
}

/** @param {ArrayLike<number>} values finite ones @param {string|null} better @param {boolean} [signed] zero is in the middle @returns {Domain|null} their range */
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

function smallestPositive(values) {
  let least = Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > 0) least = Math.min(least, values[i]);
  return least;
}

/** @param {Domain} own @param {{min: number, max: number}} range @returns {Domain} */
export function narrowed(own, range) {
  const diverging = own.diverging && range.min < 0 && range.max > 0;
  return { ...range, log: own.log && range.min > 0, diverging };
}

/** @param {number} value @param {Domain} domain @param {string|null} better @returns {number} 0 to 1: 1 is worst, or highest */
export function badness(value, domain, better) {
  const part = positionIn(value, domain);
  return better === "higher" ? 1 - part : part;
}

/** @param {number} value @param {any} scale @returns {boolean} whether no number of the metric is better */
export function isPerfect(value, scale) {
  return scale?.perfect !== undefined && value === Number(scale.perfect);
}

/** @param {number} value @param {Domain} domain @returns {number} 0 to 1 */
export function positionIn(value, domain) {
  const part = plainPosition(value, domain);
  if (domain.middle === undefined) return part;
  const at = plainPosition(domain.middle, domain);
  return part <= at ? part / at / 2 : 0.5 + (part - at) / (1 - at) / 2;
}

function plainPosition(value, { min, max, log, diverging, reach }) {
  if (max <= min) return 0.5;
  if (!Number.isFinite(value)) return value > 0 ? 1 : 0;
  if (reach !== undefined) {
    const [at, low, high] = [Math.max(reach - value, reach - max), reach - max, reach - min].map(Math.log);
    return 1 - Math.min(1, (at - low) / (high - low));
  }
  if (diverging) return value < 0 ? Math.max(0, 0.5 - value / min / 2) : Math.min(1, 0.5 + value / max / 2);
  if (log) {
    const [at, low, high] = [Math.max(value, min), min, max].map(Math.log);
    return Math.min(1, Math.max(0, (at - low) / (high - low)));
  }
  const half = Number.isFinite(max - min) ? 1 : 0.5; // a span may be larger than any number
  return Math.min(1, Math.max(0, (value * half - min * half) / (max * half - min * half)));
}

/** @param {number} part 0 to 1 @param {Domain} domain @returns {number} the value there */
export function valueAt(part, domain) {
  if (domain.middle === undefined) return plainValue(part, domain);
  const at = plainPosition(domain.middle, domain);
  return plainValue(part <= 0.5 ? 2 * part * at : at + (2 * part - 1) * (1 - at), domain);
}

function plainValue(part, { min, max, log, diverging, reach }) {
  if (diverging) return part < 0.5 ? min * (1 - 2 * part) : max * (2 * part - 1);
  const between = (low, high, share) => Math.exp(Math.log(low) * (1 - share) + Math.log(high) * share);
  if (reach !== undefined) return reach - between(reach - max, reach - min, 1 - part);
  return log ? between(min, max, part) : min * (1 - part) + max * part;
}

/**
 * @param {ArrayLike<number>} values of each node, NaN where it has none @param {Measure} measure
 * @param {Set<number>|null} differ nodes whose tensors are known to differ although the metric is perfect; null: unknown
 * @returns {[string, number][]} in words how many are perfect, or nearly so
 */
export function standingOf(values, measure, differ) {
  const scale = anchorsOf(measure);
  if (!scale) return [];
  const sign = scale.better === "higher" ? 1 : -1;
  let [perfect, apart, close] = [0, 0, 0];
  for (let node = 0; node < values.length; node++)
    if (isPerfect(values[node], scale)) {
      perfect++;
      if (differ?.has(node)) apart++;
    } else if (Number.isFinite(values[node]) && sign * values[node] >= sign * scale.rounding) close++; // false of undefined
  const alone = `${measure.metric} ${formatted(Number(scale.perfect))}`;
  const told = scale.word ?? (scale.exact || differ ? "identical" : alone);
  const found = [
    [told, perfect - apart],
    [`${alone}, not identical`, apart],
    ["equal up to rounding", close],
  ];
  return found.filter(([, count]) => count);
}

/** @param {Domain} domain @param {Measure} measure @returns {[string, string]} good and bad only where the metric says what is good */
export function endWords(domain, measure) {
  if (!measure.better && !domain.anchored) return ["low", "high"];
  return domain.anchored ? (anchorsOf(measure).ends ?? ["good", "bad"]) : ["best", "worst"];
}

/**
 * @param {Domain} domain @param {Measure} measure
 * @returns {{marks: {at: number, text: string, title: string}[], note: string}} numbers along the scale as it is painted
 */
export function ticksOf(domain, measure) {
  const { metric, unit, better } = measure;
  const rest = domain.log ? ", logarithmic" : "";
  if (domain.anchored) {
    const scale = anchorsOf(measure);
    const whole = measure.whole || 1;
    const mark = ([value, text]) => {
      const title = `${metric} ${withUnit(Number((value * whole).toPrecision(3)), unit)}${rest}`;
      return { at: badness(value * whole, domain, better), text, title };
    };
    const note = measure.whole ? `of ${withUnit(Number(whole.toPrecision(3)), unit)}, ${scale.note}` : scale.note;
    const marks = scale.ticks.map(mark);
    if (domain.middle === undefined) return { marks, note };
    const gate = { at: 0.5, text: `gate ${formatted(domain.middle)}`, title: `what the gate asks of ${metric}` };
    const apart = marks.filter(({ at }) => Math.abs(at - 0.5) > TICKS_APART);
    return { marks: [...apart, gate].sort((a, b) => a.at - b.at), note };
  }
  const parts = better === "higher" ? [1, 0.5, 0] : [0, 0.5, 1];
  const values = parts.map((part) => valueAt(part, domain));
  const texts = brief(values, isTime(unit) ? unit : null);
  const said = [!isTime(unit) && unit && !UNSAID.has(unit) && unit];
  if (domain.min === domain.max) {
    const title = `${metric} ${withUnit(values[0], unit)}`;
    return { marks: [{ at: 0.5, text: `all ${texts[0]}`, title }], note: said.filter(Boolean).join(", ") };
  }
  said.push(domain.log && "log", better && "range of these values");
  const marks = texts.map((text, i) => ({ at: i / 2, text, title: `${metric} ${withUnit(values[i], unit)}${rest}` }));
  return { marks, note: said.filter(Boolean).join(", ") };
}
