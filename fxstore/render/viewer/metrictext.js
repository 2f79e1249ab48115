// A node's metric in words.

import { MINUS_INF, MISSING, NAN, NO_DATA, OTHER, PLUS_INF } from "./coloring.js";
import { withUnit } from "./numbers.js";

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./coloring.js").Coloring} coloring
 * @param {number} node
 * @returns {string}
 */
export function metricText(scene, coloring, node) {
  const bucket = coloring.buckets[node];
  if (bucket === NO_DATA) return "no data";
  if (bucket === OTHER) return "not of this stage";
  if (coloring.said) return coloring.said(node) ?? "no data";
  if (coloring.categories) return scene.strings[coloring.texts[node]] ?? "no data";
  if (bucket === NAN) return "NaN";
  if (bucket === PLUS_INF) return "∞";
  if (bucket === MINUS_INF) return "−∞";
  if (bucket === MISSING) return `no number: ${scene.strings[coloring.reasons[node]] ?? "no reason given"}`;
  const note = scene.strings[coloring.notes?.[node] ?? -1];
  return withUnit(coloring.values[node], coloring.unit) + (note ? ` (${note})` : "");
}
