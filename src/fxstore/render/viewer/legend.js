// What the colours mean.

import { FIRST_STEP, MINUS_INF, MISSING, NAN, NO_DATA, OTHER, PLUS_INF, STEPS, styleOf, valueAt } from "./coloring.js";
import { brief, grouped, isTime, withUnit } from "./numbers.js";

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {import("./coloring.js").Coloring} coloring
 * @param {import("./themes.js").Theme} theme @returns {HTMLElement}
 */
export function legend(h, coloring, theme) {
  const style = styleOf(coloring, theme);
  const parts = coloring.categories
    ? categories(h, coloring, style, theme)
    : [scale(h, coloring, style), ...specials(h, coloring, style, theme)];
  return h("div", { class: "fx-legend", role: "group", "aria-label": "Legend" }, ...parts);
}

/**
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {{text: string, title: string}[]} left, middle and right of the bar, as it is painted
 */
export function ticks({ domain, better, unit, metric }) {
  const values = (better === "higher" ? [1, 0.5, 0] : [0, 0.5, 1]).map((part) => valueAt(part, domain));
  const rest = domain.log ? ", logarithmic" : "";
  const texts = brief(values, isTime(unit) ? unit : null);
  return texts.map((text, i) => ({ text, title: `${metric} ${withUnit(values[i], unit)}${rest}` }));
}

function scale(h, coloring, style) {
  const { domain, better, unit } = coloring;
  if (!domain) return h("span", { class: "fx-muted" }, "no number on this page");
  const [left, middle, right] = ticks(coloring).map(({ text, title }) => h("span", { title }, text));
  const bar = h("span", { class: "fx-bar", role: "img", "aria-label": "colour scale" });
  const stops = style.fills.slice(FIRST_STEP, FIRST_STEP + STEPS);
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const ends = better ? ["good", "bad"] : ["low", "high"];
  const hint = [!isTime(unit) && unit, domain.log && "log"].filter(Boolean).join(", ");
  return h(
    "span",
    { class: "fx-scale" },
    h("span", { class: "fx-end" }, ends[0]),
    h("span", { class: "fx-axis" }, bar, h("span", { class: "fx-ticks" }, left, middle, right)),
    h("span", { class: "fx-end" }, ends[1]),
    hint && h("span", { class: "fx-muted" }, hint),
  );
}

function specials(h, coloring, style, theme) {
  return specialEntries(coloring).map(({ bucket, text, title }) =>
    swatch(h, style.fills[bucket], text, style.hatches[bucket], title, theme),
  );
}

/**
 * @param {import("./coloring.js").Coloring} coloring
 * @returns {{bucket: number, text: string, title: string}[]} what stands beside the scale: nodes are counted in the
 *   stages that the metric is of
 */
export function specialEntries({ counts }) {
  const entries = [
    [[NAN], "NaN", "not a number"],
    [[PLUS_INF, MINUS_INF], "±∞", "infinite"],
    [[MISSING], "not compared", "there is a reason why there is no number; the details tell it"],
    [[NO_DATA], "no data", "nodes of a measured stage about which nothing is known"],
    [[OTHER], "other stages", "stages that this metric is not of"],
  ];
  return entries.flatMap(([buckets, text, title]) => {
    const count = buckets.reduce((sum, bucket) => sum + counts[bucket], 0);
    if (!count) return [];
    return [{ bucket: buckets[0], text: buckets[0] === OTHER ? text : `${text} ${grouped(count)}`, title }];
  });
}

function categories(h, coloring, style, theme) {
  return coloring.categories.map((name, i) =>
    swatch(h, style.fills[FIRST_STEP + i], `${name} ${grouped(coloring.counts[FIRST_STEP + i])}`, "", name, theme),
  );
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
