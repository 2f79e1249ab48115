// What the colours mean.

import { FIRST_STEP, MINUS_INF, MISSING, NAN, NO_DATA, PLUS_INF, STEPS, styleOf, valueAt } from "./coloring.js";
import { brief, formatted, grouped } from "./numbers.js";

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
  const rest = `${unit ? ` ${unit}` : ""}${domain.log ? ", logarithmic" : ""}`;
  return brief(values).map((text, i) => ({ text, title: `${metric} ${formatted(values[i])}${rest}` }));
}

function scale(h, coloring, style) {
  const { domain, better, unit } = coloring;
  if (!domain) return h("span", { class: "fx-muted" }, "no number on this page");
  const [left, middle, right] = ticks(coloring).map(({ text, title }) => h("span", { title }, text));
  const bar = h("span", { class: "fx-bar", role: "img", "aria-label": "colour scale" });
  const stops = style.fills.slice(FIRST_STEP, FIRST_STEP + STEPS);
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const ends = better ? ["good", "bad"] : ["low", "high"];
  const hint = [unit, domain.log && "log"].filter(Boolean).join(", ");
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
  const entries = [
    [[NAN], "NaN", "stripe", "not a number"],
    [[PLUS_INF, MINUS_INF], "±∞", "cross", "infinite"],
    [[MISSING], "not compared", "dash", "there is a reason why there is no number; the details tell it"],
    [[NO_DATA], "no data", "", "nothing is known about these nodes"],
  ];
  return entries.map(([buckets, text, hatch, title]) => {
    const count = buckets.reduce((sum, bucket) => sum + coloring.counts[bucket], 0);
    return count ? swatch(h, style.fills[buckets[0]], `${text} ${grouped(count)}`, hatch, title, theme) : null;
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
  const hatches = { stripe: `${lines(135)}, `, cross: `${lines(135)}, ${lines(45)}, ` };
  box.style.background = `${hatches[hatch] ?? ""}${fill}`;
  if (hatch === "dash") box.style.borderStyle = "dashed";
  return h("span", { class: "fx-key", title }, box, text);
}
