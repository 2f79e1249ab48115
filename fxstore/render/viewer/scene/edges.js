// What an edge carries: the value, its port, dtype and shape, and the values that it is compared with.

import { partnersOf } from "./pairs.js";

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
