// Every colour of the page, for light and dark; the style sheet reads them as variables.

import COLORS from "../../../colors/colors.json" with { type: "json" };

/**
 * @typedef {Record<string, string>} Palette
 * @typedef {{name: string, dark: boolean, chrome: Palette, graph: Palette, scale: string[], neutral: string[], diverging: string[],
 *   roles: Record<string, string>, categories: string[], changes: Record<string, string>}} Theme
 *   scale: good to bad; neutral: low to high where neither is good; both read by lightness alone, whatever the eyes;
 *   diverging: below zero, zero, above zero. All have been seen as eyes without one kind of cones see them.
 *   graph.missing: a reason why there is no number; nodata: nothing known; other: a stage that the metric is not of
 */

/** @type {Record<string, Theme>} */
export const THEMES = COLORS.themes;

/** @param {string} hex `#rrggbb` @returns {number[]} */
function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** @param {string[]} stops evenly spaced @param {number} t 0 to 1 @returns {string} */
export function mixed(stops, t) {
  const at = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  const mix = from.map((value, i) => Math.round(value + (to[i] - value) * (at - low)));
  return `#${mix.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Relative luminance as WCAG 2 defines it. @param {string} hex @returns {number} 0 to 1 */
export function luminance(hex) {
  const [r, g, b] = channels(hex).map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} fill @returns {string} black or white, whichever reads better on it */
export function inkOn(fill) {
  return luminance(fill) > 0.179 ? "#000000" : "#ffffff";
}

// Colours as a payload or a host writes them, as `#rrggbb`. Nothing else of CSS gets through.

const HEX = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
const WORDS = /^[a-z]+$|^(?:rgb|hsl)a?\([\d\s.,%/deg+-]*\)$/i;
const PROBES = ["#010203", "#040506"];

/**
 * @param {CanvasRenderingContext2D|null} context knows names and functions; without one only `#…` is read
 * @returns {(text: any) => string|null} null for what is no colour
 */
export function colorReader(context) {
  const known = new Map();
  return (text) => {
    if (typeof text !== "string") return null;
    if (!known.has(text)) known.set(text, read(text.trim(), context));
    return known.get(text);
  };
}

function read(text, context) {
  if (HEX.test(text)) return long(text.toLowerCase());
  if (!context || !WORDS.test(text)) return null;
  const [first, second] = PROBES.map((probe) => {
    context.fillStyle = probe;
    context.fillStyle = text;
    return String(context.fillStyle);
  });
  if (first !== second) return null;
  if (HEX.test(first)) return first;
  const parts = /^rgba?\((\d+), (\d+), (\d+)/.exec(first);
  return (
    parts &&
    `#${parts
      .slice(1)
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("")}`
  );
}

function long(hex) {
  if (hex.length > 5) return hex.slice(0, 7);
  return `#${[...hex.slice(1, 4)].map((digit) => digit + digit).join("")}`;
}
