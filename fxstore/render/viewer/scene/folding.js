// A pane with some of its modules and nested graphs closed: x and order stay, empty height goes.

import { closedAround, joined, squeezed, without } from "./blocks.js";

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

/**
 * Writes the corners of a graph's edges, folded. Within a closed module there are none: an edge that leaves one begins
 * where it crosses its lower border, and one that enters it ends at its upper border.
 * @param {import("./scene.js").Scene} scene @param {import("./boxes.js").Graph} graph @param {(y: number) => number} map
 * @param {Float32Array} x where to write, at the corners' own places @param {Float32Array} y
 */
export function foldCorners({ base, holder, edgeSrc, edgeDst }, graph, map, x, y) {
  const { cornerX, cornerY, cornerStart, blocks } = base;
  const [, tops, , heights] = blocks;
  for (let edge = graph.firstEdge; edge < graph.firstEdge + graph.edges; edge++) {
    const [first, end] = [cornerStart[edge], cornerStart[edge + 1]];
    for (let i = first; i < end; i++) [x[i], y[i]] = [cornerX[i], map(cornerY[i])];
    if (first === end) continue;
    const up = cornerY[first] > cornerY[end - 1];
    const leaves = holder[up ? edgeDst[edge] : edgeSrc[edge]];
    const enters = holder[up ? edgeSrc[edge] : edgeDst[edge]];
    if (leaves === enters) continue;
    if (leaves >= 0) clip(tops[leaves] + heights[leaves], -1);
    if (enters >= 0) clip(tops[enters], 1);

    /** Moves the corners above (-1) or below (1) a height to where the edge passes it. */
    function clip(at, side) {
      const passes = passing(at);
      for (let i = first; i < end; i++)
        if (side * (cornerY[i] - at) > 0) [x[i], y[i]] = [passes, map(at)];
    }

    /** @returns {number} the x at which the edge passes a height */
    function passing(at) {
      for (let i = first + 1; i < end; i++) {
        const [a, b] = [cornerY[i - 1], cornerY[i]];
        if (a !== b && Math.min(a, b) <= at && at <= Math.max(a, b))
          return cornerX[i - 1] + ((cornerX[i] - cornerX[i - 1]) * (at - a)) / (b - a);
      }
      return cornerX[up === cornerY[first] > at ? first : end - 1];
    }
  }
}
