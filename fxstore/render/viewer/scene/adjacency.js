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
