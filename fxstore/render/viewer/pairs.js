// Value pairs: which value of one stage must equal which of another.

import { starts } from "./scene.js";

/** From the surest to the weakest; a pair is as sure as the weaker of its two. */
const EVIDENCE = ["identity", "from_node", "handle", "signature", "delegate", "observer", "structure", "name"];

/**
 * @typedef {{node: number, port: number, evidence: string}} Partner
 */

/**
 * @param {import("./scene.js").Scene} scene @param {number} node @param {number} port
 * @returns {Partner[]} the values in other stages that this one can be compared with
 */
export function partnersOf(scene, node, port) {
  const [nodes, ports, told] = ["node", "port", "evidence"].map((name) => scene.columns.get(`value.${name}`) ?? []);
  const own = scene.paneOf(node);
  const elsewhere = (other) => other < own.first || other >= own.end;
  const word = (i) => scene.strings[told[i]] ?? "";
  const out = [];
  for (const [from, to, self] of classesOf(scene, nodes, ports, node, port))
    for (let i = from; i < to; i++)
      if (elsewhere(nodes[i])) out.push({ node: nodes[i], port: ports[i], evidence: weaker(word(self), word(i)) });
  return out;
}

/** @returns {[number, number, number][]} where each class that holds the value begins, ends, and holds it */
function classesOf(scene, nodes, ports, node, port) {
  const begin = starts(scene.columns.get("value.size") ?? []);
  const out = [];
  for (let at = 0, which = 0; at < nodes.length; at++) {
    while (begin[which + 1] <= at) which++;
    if (nodes[at] === node && ports[at] === port) out.push([begin[which], begin[which + 1], at]);
  }
  return out;
}

function weaker(a, b) {
  return EVIDENCE.indexOf(a) > EVIDENCE.indexOf(b) ? a : b;
}
