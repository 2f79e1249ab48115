// A small scene: three panes, six nodes, two sync sets; written as the payload would hold it.

import { Scene } from "../../fxstore/render/viewer/scene/scene.js";

const TEXTS = [
  "name",
  "op",
  "target",
  "op_type",
  "role",
  "dtype",
  "module_path",
  "backend",
  "source_file",
  "source_code",
  "attrs",
  "unmatched",
  "shape",
];

export function makeScene(overrides = {}) {
  const strings = [
    "conv",
    "relu",
    "conv_q",
    "relu_q",
    "convolution",
    "delegate",
    "op",
    "folded into conv",
    "layer.0",
    "too large",
  ];
  const columns = new Map();
  for (const name of TEXTS) columns.set(`node.${name}`, Int32Array.from([-1, -1, -1, -1, -1, -1]));
  const put = (name, values) => columns.set(name, values instanceof Float64Array ? values : Int32Array.from(values));
  put("node.nid", Float64Array.from([100, 101, 200, 201, 300, 301]));
  put("node.name", [0, 1, 2, 3, 4, 5]);
  put("node.op_type", [0, 1, 0, 1, 4, -1]);
  put("node.role", [6, 6, 6, 6, 6, 5]);
  put("node.module_path", [8, 8, -1, -1, -1, -1]);
  put("node.unmatched", [-1, 7, -1, -1, -1, -1]);
  put("node.source_line", [-1, -1, -1, -1, -1, -1]);
  put("node.x", [100, 100, 100, 100, 100, 100]);
  put("node.y", [40, 160, 40, 160, 40, 40]);
  put("node.width", [120, 120, 120, 120, 120, 120]);
  put("node.height", [60, 60, 60, 60, 60, 60]);
  put("node.focus", [0, 1, 0, 1, 0, -1]);
  put("edge.src", [0, 2]);
  put("edge.dst", [1, 3]);
  put("edge.src_port", [0, 1]);
  put("edge.dst_arg", [-1, -1]);
  put("edge.feedback", [0, 0]);
  put("edge.corners", [2, 2]);
  put("corner.x", [100, 100, 100, 100]);
  put("corner.y", [70, 130, 70, 130]);
  for (const side of ["left", "top", "width", "height", "path"]) put(`block.${side}`, []);
  put("set.size", [4, 2]);
  put("set.node", [0, 2, 3, 4, 1, 3]);
  put("set.primary", [1, 0, 1, 1, 1, 1]);
  put("highlight", [2]);
  put("answer.size", [1, 0, 1]);
  put("answer.node", [2, 0]);
  put("color0.status", [0, 0, 1, 2, 4, 5]);
  put("color0.value", Float64Array.from([0.5, 1]));
  put("color0.reason", [9]);
  const graph = (nodes, edges, parent = -1, title = "") => ({
    title,
    nodes,
    edges,
    blocks: 0,
    parent,
    width: 200,
    height: 220,
  });
  const header = {
    panes: [
      { title: "float", subtitle: "", graphs: 1 },
      { title: "quantized", subtitle: "", graphs: 1 },
      { title: "edge", subtitle: "", graphs: 2 },
    ],
    graphs: [graph(2, 1), graph(2, 1), graph(1, 0), graph(1, 0, 4, "inner")],
    colors: [{ name: "run", metric: "cosine", unit: null, better: "higher" }],
    answer: { query: "q", columns: ["name"], rows: [["conv_q"], ["none"], ["conv"]], note: "" },
    strings,
    ...overrides,
  };
  return new Scene({ header, columns });
}
