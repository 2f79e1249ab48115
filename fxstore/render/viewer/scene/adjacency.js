// Which edges begin and end at each node.

/**
 * @typedef {{inStart: Int32Array, inEdge: Int32Array, outStart: Int32Array, outEdge: Int32Array}} Adjacency
 *   edges into node n: `inEdge[inStart[n]]` up to, without, `inEdge[inStart[n + 1]]`
 */

/** @param {ArrayLike<number>} src @param {ArrayLike<number>} dst @param {number} nodes @returns {Adjacency} */
export function adjacencyOf(src, dst, nodes) {
  const [inStart, inEdge] = byEnd(dst, nodes);
  const [outStart, outEdge] = byEnd(src, nodes);
  return { inStart, inEdge, outStart, outEdge };
}

function byEnd(ends, nodes) {
  const start = new Int32Array(nodes + 1);
  for (let edge = 0; edge < ends.length; edge++) start[ends[edge] + 1]++;
  for (let node = 0; node < nodes; node++) start[node + 1] += start[node];
  const at = start.slice(0, nodes);
  const edges = new Int32Array(ends.length);
  for (let edge = 0; edge < ends.length; edge++) edges[at[ends[edge]]++] = edge;
  return [start, edges];
}

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {Int32Array} */
export function edgesInto(scene, node) {
  const { inStart, inEdge } = scene.adjacency;
  return inEdge.subarray(inStart[node], inStart[node + 1]);
}

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {Int32Array} */
export function edgesOutOf(scene, node) {
  const { outStart, outEdge } = scene.adjacency;
  return outEdge.subarray(outStart[node], outStart[node + 1]);
}

// What a node depends on and what depends on it, hop by hop.


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
