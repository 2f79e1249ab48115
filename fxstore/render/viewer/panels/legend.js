// What the colours mean: the scale with its ends, how the values are spread over it, and what is no number.

import {
  FIRST_STEP,
  MINUS_INF,
  MISSING,
  NAN,
  NO_DATA,
  OTHER,
  PLUS_INF,
  STEPS,
  styleOf,
} from "../paint/coloring.js";
import { colorName, histogramOf } from "../paint/colorings.js";
import { formatted, grouped, withUnit } from "../scene/numbers.js";
import { endWords, ticksOf } from "../paint/scales.js";

const LEAST_HISTOGRAM = 3;
const MOST_LAYER_KEYS = 4;
const LEAST_AXIS_LETTERS = 24;

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../paint/coloring.js").Coloring} coloring
 * @param {import("../paint/themes.js").Theme} theme
 * @param {{range: (range: {min: number, max: number}|null) => void, find: (query: string) => void,
 *   relative: (on: boolean) => void}|null} actions relative: whether colours spread over the values' own range
 * @returns {HTMLElement}
 */
export function legend(h, coloring, theme, actions = null) {
  const style = styleOf(coloring, theme);
  const given = coloring.legend?.flatMap(({ label, color, of }) => [
    ...(of ? [h("span", { class: "fx-muted" }, of)] : []),
    swatch(h, color ?? theme.graph.nodata, label, "", label, theme),
  ]);
  const parts = given
    ? [...given, ...specials(h, coloring, style, theme)]
    : coloring.categories
      ? [...categories(h, coloring, style, theme, actions?.find), ...specials(h, coloring, style, theme)]
      : [scale(h, coloring, style, actions), ...standing(h, coloring, style, theme), ...specials(h, coloring, style, theme)];
  return h("div", { class: "fx-legend", role: "group", "aria-label": "Legend" }, ...parts);
}

/** What an overlay beside the one that fills the boxes means, in brief. @returns {HTMLElement} */
export function layerLegend(h, slot, coloring, theme) {
  const style = styleOf(coloring, theme);
  const keys = coloring.categories ? categories(h, coloring, style, theme).slice(0, MOST_LAYER_KEYS) : [];
  const rest = (coloring.categories?.length ?? 0) - keys.length;
  const parts = coloring.categories ? [...keys, rest > 0 && `${rest} more`] : [scale(h, coloring, style, null)];
  const name = h("span", { class: "fx-muted", title: colorName(coloring) }, `${slot}: ${coloring.metric}`);
  return h("div", { class: "fx-legend fx-layer", role: "group", "aria-label": `Legend of ${slot}` }, name, ...parts);
}

function scale(h, coloring, style, actions) {
  const { domain, measure } = coloring;
  if (!domain) return h("span", { class: "fx-muted" }, "no number on this page");
  const { marks, note } = ticksOf(domain, measure);
  const places = marks.map(({ at, text, title }) => {
    const mark = h("span", { title }, text);
    mark.style.left = `${100 * at}%`;
    mark.style.transform = `translateX(${-100 * at}%)`;
    return mark;
  });
  const bar = h("span", { class: "fx-bar", role: "img", "aria-label": "colour scale" });
  const stops = style.fills.slice(FIRST_STEP, FIRST_STEP + STEPS);
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const ends = endWords(domain, measure);
  const axis = h("span", { class: "fx-axis" }, bar, h("span", { class: "fx-ticks" }, ...places));
  axis.style.minWidth = `${lettersOf(marks)}ch`;
  if (actions) axis.prepend(histogram(h, coloring, actions.find));
  return h(
    "span",
    { class: "fx-scale" },
    h("span", { class: "fx-end" }, ends[0]),
    axis,
    h("span", { class: "fx-end" }, ends[1]),
    note && h("span", { class: "fx-muted" }, note),
    actions && coloring.own && rangeEditor(h, coloring, actions.range),
    actions?.relative && coloring.anchored && coloring.own && relativeSwitch(h, coloring, actions.relative),
  );
}

/** @returns {number} as many letters as the axis must be wide so that no two of its numbers touch */
function lettersOf(marks) {
  const needs = marks.slice(1).map((mark, i) => {
    const before = marks[i];
    return (mark.at * mark.text.length + (1 - before.at) * before.text.length + 1) / (mark.at - before.at);
  });
  return Math.ceil(Math.max(LEAST_AXIS_LETTERS, ...needs));
}

/** From what the metric means to what this page's values span, and back. */
function relativeSwitch(h, { domain, anchored }, change) {
  const on = domain !== anchored;
  return h(
    "button",
    {
      class: "fx-relative",
      "aria-pressed": String(on),
      title: on ? "Back to the metric's own scale" : "Spread the colours over the range of these values alone",
      onclick: () => change(!on),
    },
    "relative",
  );
}

/** What stands at the good end, in words: identical, equal up to rounding. */
function standing(h, { standing: told = [], values, buckets }, style, theme) {
  const numbers = buckets.reduce((sum, bucket) => sum + (bucket >= FIRST_STEP || (bucket > 1 && bucket < OTHER)), 0);
  return told.map(([text, count]) => {
    const all = count === numbers && values.length > 0;
    return swatch(h, style.fills[FIRST_STEP], all ? `all ${grouped(count)} ${text}` : `${text} ${grouped(count)}`, "", text, theme);
  });
}

/** Bars above the scale; one finds the nodes whose values lie there. */
function histogram(h, coloring, find) {
  const bins = histogramOf(coloring);
  const most = Math.max(...bins.map(({ count }) => count));
  const bars = bins.map((bin) => {
    const told = (value) => withUnit(value, coloring.unit);
    const title = `${grouped(bin.count)} node${bin.count === 1 ? "" : "s"} from ${told(bin.from)} to ${told(bin.to)}`;
    const onclick = () => bin.count && find(betweenQuery(coloring.metric, bin));
    const bar = h("button", { class: "fx-bin", title, "aria-label": title, tabindex: -1, onclick }, h("i", {}));
    bar.firstChild.style.height = bin.count ? `${Math.max(LEAST_HISTOGRAM, 100 * Math.sqrt(bin.count / most))}%` : "0";
    return bar;
  });
  const filled = bars.filter((_, i) => bins[i].count);
  if (filled[0]) filled[0].tabIndex = 0;
  return h(
    "span",
    {
      class: "fx-histogram",
      role: "group",
      "aria-label": `Distribution of ${coloring.metric}`,
      onkeydown: (event) => stepBar(event, filled),
    },
    ...bars,
  );
}

/** One stop of the Tab key; arrow keys go from bar to bar. */
function stepBar(event, bars) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = step && bars[bars.indexOf(event.target) + step];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/**
 * @param {string} metric @param {{from: number, to: number, withFrom: boolean, withTo: boolean}} bin
 * @returns {string} what finds the nodes whose values lie there
 */
export function betweenQuery(metric, { from, to, withFrom, withTo }) {
  const name = /[\s"]/.test(metric) ? metric.replaceAll('"', "") : metric;
  const word = (op, bound) => quoted(op, Number.isFinite(bound) ? bound : bound > 0 ? "inf" : "-inf");
  const quoted = (op, value) => (name.includes(" ") ? `"${name}${op}${value}"` : `${name}${op}${value}`);
  return `${word(withFrom ? ">=" : ">", from)} ${word(withTo ? "<=" : "<", to)}`;
}

/** Two fields for the ends of the scale; empty ones give it its own again. */
function rangeEditor(h, { domain, own, anchored, metric }, change) {
  const field = (label, value) =>
    h("input", {
      type: "text",
      inputmode: "decimal",
      size: 8,
      "aria-label": `${label} of the scale of ${metric}`,
      value: String(value),
    });
  const [least, most] = [field("Lower end", domain.min), field("Upper end", domain.max)];
  const changed = domain !== anchored && (domain.min !== own.min || domain.max !== own.max);
  const apply = () => {
    const range = rangeOf(least.value, most.value, own);
    if (range === undefined) most.setAttribute("aria-invalid", "true");
    else change(range);
  };
  const onkeydown = (event) => event.key === "Enter" && apply();
  return h(
    "details",
    { class: "fx-menu fx-range" },
    h(
      "summary",
      { title: "Change the ends of the scale", class: changed ? "fx-on" : null, "aria-label": "Range" },
      "⇹",
    ),
    h(
      "div",
      { class: "fx-pop", onkeydown },
      h("label", {}, "from ", least),
      h("label", {}, "to ", most),
      h("button", { onclick: apply }, "Apply"),
      h("button", { onclick: () => change(null) }, `Whole range (${formatted(own.min)} to ${formatted(own.max)})`),
    ),
  );
}

/**
 * @param {string} least @param {string} most what was typed; '' for the metric's own end
 * @param {{min: number, max: number}} own @returns {{min: number, max: number}|null|undefined} undefined: no range
 */
export function rangeOf(least, most, own) {
  const [min, max] = [least.trim() ? Number(least) : own.min, most.trim() ? Number(most) : own.max];
  if (!Number.isFinite(min) || !Number.isFinite(max) || min >= max) return undefined;
  return min === own.min && max === own.max ? null : { min, max };
}

function specials(h, coloring, style, theme) {
  return specialEntries(coloring).map(({ bucket, text, title }) =>
    swatch(h, style.fills[bucket], text, style.hatches[bucket], title, theme),
  );
}

/**
 * @param {import("../paint/coloring.js").Coloring} coloring
 * @returns {{bucket: number, text: string, title: string}[]} what stands beside the scale: nodes are counted in the
 *   stages that the metric is of
 */
export function specialEntries({ counts }) {
  const entries = [
    [[NAN], "NaN", "not a number"],
    [[PLUS_INF, MINUS_INF], "±∞", "infinite"],
    [[MISSING], "no number", "there is a reason why there is no number; the details tell it"],
    [[NO_DATA], "no data", "nodes of a measured stage about which nothing is known"],
    [[OTHER], "other stages", "stages that this metric is not of"],
  ];
  return entries.flatMap(([buckets, text, title]) => {
    const count = buckets.reduce((sum, bucket) => sum + counts[bucket], 0);
    if (!count) return [];
    return [{ bucket: buckets[0], text: buckets[0] === OTHER ? text : `${text} ${grouped(count)}`, title }];
  });
}

/** A click on one finds its nodes. */
function categories(h, coloring, style, theme, find) {
  return coloring.categories.map((name, i) => {
    const bucket = FIRST_STEP + i;
    const text = `${name} ${grouped(coloring.counts[bucket])}`;
    const key = swatch(h, style.fills[bucket], text, "", find ? `Find: ${name}` : name, theme);
    const query = `${coloring.metric}:${name}`;
    const onclick = () => find(/\s/.test(query) ? `"${query.replaceAll('"', "")}"` : query);
    return find ? h("button", { class: "fx-find", onclick }, key) : key;
  });
}

function swatch(h, fill, text, hatch, title, theme) {
  const box = h("span", { class: "fx-swatch" });
  const lines = (angle) => `repeating-linear-gradient(${angle}deg, transparent 0 3px, ${theme.graph.paper} 3px 4.4px)`;
  const dots = `radial-gradient(${theme.graph.border} 0.8px, transparent 1.1px) 0 0 / 4px 4px`;
  const hatches = { stripe: `${lines(135)}, `, cross: `${lines(135)}, ${lines(45)}, `, dot: `${dots}, ` };
  box.style.background = `${hatches[hatch] ?? ""}${fill}`;
  if (hatch === "dot") box.style.borderStyle = "dashed";
  return h("span", { class: "fx-key", title }, box, text);
}
