// Value pairs: which value of one stage must equal which of another.

/**
 * @typedef {{node: number, port: number, evidence: string}} Partner
 */

/** @param {import("./scene.js").Scene} scene @param {number} node @param {number} port @returns {Partner[]} */
export function partnersOf(scene, node, port) {
  const [refs, refPorts, nodes, ports, evidence] = ["ref", "ref_port", "node", "port", "evidence"].map((name) =>
    scene.columns.get(`pair.${name}`),
  );
  const out = [];
  for (let i = 0; i < (refs?.length ?? 0); i++) {
    const told = scene.strings[evidence[i]] ?? "";
    if (refs[i] === node && refPorts[i] === port) out.push({ node: nodes[i], port: ports[i], evidence: told });
    if (nodes[i] === node && ports[i] === port) out.push({ node: refs[i], port: refPorts[i], evidence: told });
  }
  return out;
}
