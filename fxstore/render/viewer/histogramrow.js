// What is known of a node's value: its statistics in words, its distribution as bars.

import { formatted } from "./numbers.js";

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {Record<string, any>|null} */
export function statisticsOf(scene, node) {
  scene.statistics ??= new Map(scene.header.statistics ?? []);
  return scene.statistics.get(node) ?? null;
}

/** @param {Record<string, any>} statistics @returns {string} name and number, without the distribution */
export function statisticsText(statistics) {
  return Object.entries(statistics)
    .filter(([, value]) => !Array.isArray(value) && value !== null)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === "object" ? value.number : typeof value === "number" ? formatted(value) : value}`,
    )
    .join(", ");
}

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {Record<string, any>} statistics
 * @returns {HTMLElement|null} bars, as high as the counts' square roots so that few are seen beside many
 */
export function smallHistogram(h, statistics) {
  const counts = statistics.histogram;
  if (!Array.isArray(counts) || !counts.length) return null;
  const numbers = counts.map(Number);
  const most = Math.max(...numbers, 1);
  const label = `Distribution of values in ${counts.length} bins`;
  const bars = numbers.map((count) => {
    const bar = h("i", {});
    bar.style.height = count > 0 ? `${Math.max(6, 100 * Math.sqrt(count / most))}%` : "0";
    return bar;
  });
  return h("span", { class: "fx-bars", role: "img", "aria-label": label, title: label }, ...bars);
}
