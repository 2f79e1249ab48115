// What an edge carries: the value, its port, dtype and shape, and the values that it is compared with.

import { starts } from "./scene.js";
import { edgesInto } from "./adjacency.js";

// Value pairs: which value of one stage must equal which of another.


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

/**
 * @typedef {{node: number, port: number, pane: number, evidence: string}} Other
 * @typedef {{source: number, target: number, port: number, argument: string, dtype: string, shape: string, uses: number,
 *   others: Other[]}} EdgeFacts
 */

/** @param {import("./scene.js").Scene} scene @param {number} edge @returns {EdgeFacts} */
export function edgeFacts(scene, edge) {
  const [source, target] = [scene.edgeSrc[edge], scene.edgeDst[edge]];
  const port = scene.columns.get("edge.src_port")[edge];
  const { dtype, shape } = outputOf(scene, source, port);
  const { outStart, outEdge } = scene.adjacency;
  const ports = scene.columns.get("edge.src_port");
  let uses = 0;
  for (let i = outStart[source]; i < outStart[source + 1]; i++) if (ports[outEdge[i]] === port) uses++;
  const others = partnersOf(scene, source, port).map((partner) => ({
    ...partner,
    pane: scene.paneOf(partner.node).number,
  }));
  return { source, target, port, argument: argumentOf(scene, edge), dtype, shape, uses, others };
}

/** @param {import("./scene.js").Scene} scene @param {number} edge @returns {string} path of the argument that reads it */
export function argumentOf(scene, edge) {
  const index = scene.columns.get("edge.dst_arg")[edge];
  return index < 0 || index === undefined ? "" : scene.strings[index];
}

/**
 * @param {import("./scene.js").Scene} scene @param {number} node @param {number} port
 * @returns {{dtype: string, shape: string}} of that output; '' where it is not known
 */
export function outputOf(scene, node, port) {
  const [dtype, shape] = declared(scene.text("attrs", node), port) ?? [];
  if (dtype !== undefined) return { dtype: dtype ?? "", shape: Array.isArray(shape) ? `[${shape.join(", ")}]` : "" };
  return { dtype: scene.text("dtype", node) ?? "", shape: scene.text("shape", node) ?? "" };
}

function declared(json, port) {
  try {
    const outputs = json ? JSON.parse(json)?.outputs : null;
    return Array.isArray(outputs) && Array.isArray(outputs[port]) ? outputs[port] : null;
  } catch {
    return null;
  }
}

// The arguments of a node, one line each: which argument, from which node, dtype and shape.


const MOST_INPUTS = 24;

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {string|null} */
export function inputsText(scene, node) {
  const ports = scene.columns.get("edge.src_port");
  const edges = edgesInto(scene, node);
  const lines = [...edges.subarray(0, MOST_INPUTS)].map((edge) => {
    const source = scene.edgeSrc[edge];
    const { dtype, shape } = outputOf(scene, source, ports[edge]);
    const port = ports[edge] > 0 ? `:${ports[edge]}` : "";
    const value = [`${scene.text("name", source) ?? "?"}${port}`, dtype, shape].filter(Boolean).join(" ");
    return `${argumentOf(scene, edge) || "·"} ← ${value}`;
  });
  if (edges.length > MOST_INPUTS) lines.push(`${edges.length - MOST_INPUTS} more`);
  return lines.join("\n") || null;
}
