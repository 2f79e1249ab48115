// What changed from one pane to another, node by node, by their counterparts.

import { OTHER, textColoring } from "./coloring.js";
import { counterpartsOf } from "./selection.js";

const COMPARED = ["op_type", "dtype", "shape"];

/**
 * @param {import("./scene.js").Scene} scene @param {number} base pane @param {number} head pane
 * @returns {import("./coloring.js").Coloring} categories `same`, `renamed`, `changed` (another operator, dtype or shape),
 *   `added` and `removed` (without a counterpart in the other pane)
 */
export function stageDiff(scene, base, head) {
  const column = new Int32Array(scene.nodeCount).fill(-1);
  const number = (text) => {
    const known = scene.strings.indexOf(text);
    return known >= 0 ? known : scene.strings.push(text) - 1;
  };
  for (const [pane, other, alone] of [
    [base, head, "removed"],
    [head, base, "added"],
  ]) {
    const { first, end } = scene.panes[pane];
    const there = scene.panes[other];
    for (let node = first; node < end; node++) {
      const partner = counterpartsOf(scene, node).find((one) => one >= there.first && one < there.end);
      column[node] = number(partner === undefined ? alone : changeOf(scene, node, partner));
    }
  }
  const coloring = textColoring(scene, column, `${titleOf(scene, base)} → ${titleOf(scene, head)}`, "change");
  for (const { number: pane, first, end } of scene.panes)
    if (pane !== base && pane !== head) coloring.buckets.fill(OTHER, first, end);
  coloring.counts[0] = 0;
  coloring.counts[OTHER] = Number(scene.panes.length > 2);
  return coloring;
}

function changeOf(scene, node, partner) {
  const differs = (field) => {
    const [own, other] = [scene.text(field, node), scene.text(field, partner)];
    return own !== null && other !== null && own !== other; // what is not recorded tells nothing
  };
  if (COMPARED.some(differs)) return "changed";
  return scene.text("name", node) === scene.text("name", partner) ? "same" : "renamed";
}

/** @param {import("./scene.js").Scene} scene @param {number} pane @returns {string} with its run, where there are several */
export function titleOf(scene, pane) {
  const { title, run } = scene.panes[pane];
  return scene.panes.some((other) => other.run !== run) ? `${title} (${run})` : title;
}
