// What a node depends on and what depends on it, hop by hop.

import { edgesInto, edgesOutOf } from "./adjacency.js";

/**
 * @param {import("./scene.js").Scene} scene
 * @param {number[]} from nodes
 * @param {number} hops Infinity for all
 * @param {"up"|"down"} direction up: what they depend on
 * @returns {Map<number, number>} node to its distance, without the nodes it began at
 */
export function reached(scene, from, hops, direction) {
  const [edgesOf, end] = direction === "up" ? [edgesInto, scene.edgeSrc] : [edgesOutOf, scene.edgeDst];
  const out = new Map(from.map((node) => [node, 0]));
  let front = from;
  for (let hop = 1; hop <= hops && front.length; hop++) {
    const next = [];
    for (const node of front)
      for (const edge of edgesOf(scene, node))
        if (!out.has(end[edge])) {
          out.set(end[edge], hop);
          next.push(end[edge]);
        }
    front = next;
  }
  for (const node of from) out.delete(node);
  return out;
}
