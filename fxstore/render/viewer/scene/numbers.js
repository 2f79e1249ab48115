// Numbers as people read them.

/** @param {number} value @returns {string} at most five significant digits */
export function formatted(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isSafeInteger(value)) return String(value).replace("-", "−");
  const text = size >= 1e6 || size < 1e-3 ? value.toExponential(3) : precise(value, size);
  return text.replace("-", "−").replace("e−", "e-").replace("e+", "e");
}

/** Keeps what tells 0.99998 from 1. */
function precise(value, size) {
  const distance = Math.abs(1 - size);
  const digits = distance > 0 && distance < 1e-3 ? Math.min(12, 2 - Math.floor(Math.log10(distance))) : 5;
  return String(Number(value.toPrecision(Math.max(5, digits))));
}

/** Units that say nothing to a reader: of a ratio, and of a tensor's own values. */
export const UNSAID = new Set(["1", "value"]);

const SECONDS = [
  ["ns", 1e-9],
  ["µs", 1e-6],
  ["ms", 1e-3],
  ["s", 1],
];

/** @param {string|null} unit @returns {number} the length in seconds of a unit of time; 0 of any other unit */
function secondsIn(unit) {
  return SECONDS.find(([name]) => name === (unit === "us" ? "µs" : unit))?.[1] ?? 0;
}

/** @param {string|null} unit @returns {boolean} */
export function isTime(unit) {
  return secondsIn(unit) > 0;
}

/**
 * @param {number} value @param {string|null} from a unit of time, or null @param {string|null} to
 * @returns {number} the value in the other unit, where both are units of time
 */
export function converted(value, from, to) {
  const [given, wanted] = [secondsIn(from?.toLowerCase() ?? null), secondsIn(to)];
  return given && wanted ? Number(((value * given) / wanted).toPrecision(12)) : value;
}

/**
 * @param {number} value @param {string|null} unit
 * @returns {string} times in the unit that people would use: 201229 ns are 201.23 µs
 */
export function withUnit(value, unit) {
  if (!unit || UNSAID.has(unit)) return formatted(value);
  const size = Math.abs(value * secondsIn(unit)) * (1 + 1e-9);
  const [name, length] = SECONDS.findLast(([, seconds]) => size >= seconds) ?? [unit, 0];
  return length
    ? `${formatted(Number(((value * secondsIn(unit)) / length).toPrecision(12)))} ${name}`
    : `${formatted(value)} ${unit}`;
}

/**
 * @param {number[]} values
 * @param {string|null} [unit] of time, which then stands in each text
 * @returns {string[]} as few digits, from three on, as tell them apart; for scales
 */
export function brief(values, unit = null) {
  const distinct = new Set(values).size;
  for (let digits = 3; ; digits++) {
    const texts = values.map((value) => withUnit(Number(value.toPrecision(digits)), unit));
    if (digits === 15 || new Set(texts).size === distinct) return texts;
  }
}

/** @param {number} count @returns {string} with separated thousands */
export function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {unknown} cell of an answer @returns {{text: string, number: boolean, muted: boolean}} */
export function cellText(cell) {
  if (cell === null) return { text: "NULL", number: false, muted: true };
  if (typeof cell === "number") return { text: formatted(cell), number: true, muted: false };
  if (typeof cell === "object") return { text: wide(cell.number), number: true, muted: false };
  return { text: String(cell), number: false, muted: false };
}

function wide(text) {
  return { NaN: "NaN", Infinity: "∞", "-Infinity": "−∞" }[text] ?? text;
}
