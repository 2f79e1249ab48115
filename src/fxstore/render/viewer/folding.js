// A pane with some of its modules and nested graphs closed: x and order stay, empty height goes.

import { closedAround } from "./blocks.js";
import { joined, squeezed, without } from "./squeeze.js";

export const CLOSED_HEIGHT = 34;
const AROUND_NODE = 16;
const HEAD = 18;
const FOOT = 6;

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./scene.js").PaneScene} pane
 * @returns {{holder: Int32Array, around: Int32Array|null, maps: ((y: number) => number)[]}} holder: of each node of the
 *   pane the closed block that holds it, or -1; around: the same of each block, null where all are open; maps: of each
 *   graph, from its own drawing's y to the folded one's
 */
export function foldingOf(scene, pane) {
  const holder = new Int32Array(pane.end - pane.first).fill(-1);
  const same = (y) => y;
  if (!pane.closed.size) return { holder, around: null, maps: pane.graphs.map(() => same) };
  const around = closedAround(pane.hierarchy, pane.closed);
  const { of, first } = pane.hierarchy;
  for (let i = 0; i < holder.length; i++) if (of[i] >= 0) holder[i] = around[of[i] - first];
  const maps = pane.graphs.map((graph) => mapOf(scene, pane, graph, holder, around));
  return { holder, around, maps };
}

function mapOf(scene, pane, graph, holder, around) {
  const { y, height, blocks } = scene.base;
  const [, tops, , heights] = blocks;
  const [hollow, kept] = [[], []];
  for (let b = graph.firstBlock; b < graph.firstBlock + graph.blocks; b++) {
    const [top, bottom] = [tops[b], tops[b] + heights[b]];
    const by = around[b - pane.hierarchy.first];
    if (by === b) {
      hollow.push({ from: top + CLOSED_HEIGHT, to: bottom });
      kept.push({ from: top, to: top + CLOSED_HEIGHT });
    } else if (by < 0) kept.push({ from: top, to: top + HEAD }, { from: bottom - FOOT, to: bottom });
  }
  for (let node = graph.first; node < graph.first + graph.nodes; node++) {
    if (holder[node - pane.first] >= 0) continue;
    const reach = height[node] / 2 + AROUND_NODE;
    kept.push({ from: y[node] - reach, to: y[node] + reach });
  }
  return squeezed(without(joined(hollow), joined(kept)));
}
