// The arguments of a node, one line each: which argument, from which node, dtype and shape.

import { edgesInto } from "./adjacency.js";
import { argumentOf, outputOf } from "./edgefacts.js";

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
