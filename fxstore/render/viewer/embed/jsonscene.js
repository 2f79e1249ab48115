// From graph payloads in JSON to what a scene is made of: the same header and columns that the page's own payload has.

import { Scene } from "../scene/scene.js";

const FRAME_MARGIN = 16;
/** Keys of `info` that a scene has a column for; the details table shows the others by their own names. */
export const KNOWN = new Set([
  ...["name", "op", "target", "op_type", "role", "dtype", "shape", "tensor_shape", "module_path", "backend"],
  ...["source_file", "source_line", "source_code", "unmatched"],
]);
const TEXT_COLUMNS = [
  ...["op", "target", "dtype", "module_path", "backend", "source_file", "source_code", "unmatched"],
];
const ROLES = { placeholder: "input", output: "output", get_attr: "parameter" };
const OPERATOR = /^(?:torch\.ops\.)?\w+(?:(?:\.|::)\w+)*$/;

/** Each distinct text once, numbered by first use. */
class TextPool {
  #numbers = new Map();

  /** @param {string|null} text @returns {number} -1 for null */
  number(text) {
    if (text === null) return -1;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  all() {
    return [...this.#numbers.keys()];
  }
}

/**
 * @param {{name: string, model: import("./graphjson.js").GraphModel}[]} viewers one pane each
 * @param {{title?: string, sets?: any[], focus?: any[]}} [compare] sync sets and focus as a compare payload has them
 * @returns {Scene}
 */
export function sceneOf(viewers, { title = "", sets = [], focus = [] } = {}) {
  const pool = new TextPool();
  const columns = new Map();
  const firsts = [];
  let count = 0;
  for (const { model } of viewers) {
    firsts.push(count);
    count += model.nodes.length;
  }
  const nodes = viewers.flatMap(({ model }) => model.nodes);
  const parts = viewers.map(({ model }) => partsOf(model));
  columns.set(
    "node.nid",
    filled(Float64Array, nodes, (_, i) => i),
  );
  addTexts(columns, pool, nodes);
  addPlaces(columns, viewers, parts);
  addEdges(columns, pool, viewers, firsts, parts);
  addBlocks(columns, pool, viewers, parts);
  addSets(columns, viewers, firsts, count, sets, focus);
  const notes = viewers.flatMap(({ name, model }) => model.notes.map((note) => (name ? `${name}: ${note}` : note)));
  const header = {
    title,
    facts: [],
    panes: viewers.map(({ name }, i) => ({ title: name, subtitle: "", graphs: parts[i].length })),
    graphs: viewers.flatMap(({ model }, i) => graphsOf(model, parts[i], firsts[i])),
    colors: [],
    answer: null,
    leftOut: notes.join("; "),
    strings: pool.all(),
  };
  const none = new Int32Array(0);
  return new Scene({ header, columns: { has: (name) => columns.has(name), get: (name) => columns.get(name) ?? none } });
}

/** As `type.from`, without its iterator, which is slow. @returns {any} a typed array of what is read of each thing */
function filled(type, things, read) {
  const out = new type(things.length);
  for (let i = 0; i < out.length; i++) out[i] = read(things[i], i);
  return out;
}

/** @returns {import("./graphjson.js").GraphPart[]} those of the payload, or one around everything */
function partsOf(model) {
  if (model.parts) return model.parts;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const grow = (x, y, w, h) => {
    left = Math.min(left, x - w);
    right = Math.max(right, x + w);
    top = Math.min(top, y - h);
    bottom = Math.max(bottom, y + h);
  };
  for (const { x, y, width, height } of model.nodes) grow(x, y, width / 2, height / 2);
  for (const { points } of model.edges) for (const [x, y] of points) grow(x, y, 0, 0);
  for (const block of model.blocks) {
    grow(block.left, block.top, 0, 0);
    grow(block.left + block.width, block.top + block.height, 0, 0);
  }
  if (left > right) [left, top, right, bottom] = [0, 0, 1, 1];
  const [width, height] = [right - left + 2 * FRAME_MARGIN, bottom - top + 2 * FRAME_MARGIN];
  return [{ title: "", parent: null, left: left - FRAME_MARGIN, top: top - FRAME_MARGIN, width, height }];
}

function graphsOf(model, parts, first) {
  const count = (things, of) => {
    const out = new Array(parts.length).fill(0);
    for (const thing of things) out[of(thing)]++;
    return out;
  };
  const nodes = count(model.nodes, (node) => node.graph);
  const edges = count(model.edges, (edge) => model.nodes[edge.from].graph);
  const blocks = count(model.blocks, (block) => block.graph);
  return parts.map(({ title, parent, width, height }, i) => {
    const caller = parent === null ? -1 : model.place(parent);
    return {
      title,
      nodes: nodes[i],
      edges: edges[i],
      blocks: blocks[i],
      parent: caller < 0 || model.nodes[caller].graph === i ? -1 : first + caller,
      width: 2 * width,
      height: 2 * height,
    };
  });
}

function addTexts(columns, pool, nodes) {
  const put = (name, read) =>
    columns.set(
      `node.${name}`,
      filled(Int32Array, nodes, (node) => pool.number(read(node))),
    );
  put("name", ({ info, id }) => plainText(info.name) ?? id);
  for (const name of TEXT_COLUMNS) put(name, ({ info }) => plainText(info[name]));
  put("op_type", ({ info }) => plainText(info.op_type) ?? opTypeOf(plainText(info.target), plainText(info.op)));
  put("role", ({ info }) => plainText(info.role) ?? roleOf(plainText(info.op), plainText(info.target)));
  put("shape", ({ info }) => shapeText(info.shape ?? info.tensor_shape));
  put("attrs", () => null);
  columns.set(
    "node.source_line",
    filled(Int32Array, nodes, ({ info }) =>
      Number.isInteger(info.source_line) && info.source_line >= 0 ? info.source_line : -1,
    ),
  );
}

/** @param {any} value @returns {string|null} */
export function plainText(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return String(value); // what a host made itself may hold itself
  }
}

function shapeText(shape) {
  if (!Array.isArray(shape)) return plainText(shape);
  if (shape.some(Array.isArray)) return shape.map((one) => shapeText(one) ?? "none").join(", ");
  return `[${shape.map((size) => plainText(size) ?? "?").join(", ")}]`;
}

/** The operator without namespace, overload and dialect: `aten.conv2d.default` and `aten_conv2d_default` are `conv2d`. */
export function opTypeOf(target, op) {
  if (target === null || (op !== null && !op.startsWith("call_")) || !OPERATOR.test(target)) return null;
  const parts = target.replace(/^torch\.ops\./, "").split(/\.|::/);
  if (parts.length === 1 || parts[1] === "default") return parts[0].replace(/^aten_|_default$/g, "");
  return parts[1];
}

function roleOf(op, target) {
  if (op === null) return null;
  if (target?.includes("executorch_call_delegate")) return "delegate";
  return ROLES[op] ?? "op";
}

/** Middle and extent of each node, in half pixels from its graph's own corner. */
function addPlaces(columns, viewers, parts) {
  const placed = viewers.flatMap(({ model }, i) => model.nodes.map((node) => ({ node, part: parts[i][node.graph] })));
  const put = (name, read) =>
    columns.set(
      `node.${name}`,
      filled(Float64Array, placed, ({ node, part }) => 2 * read(node, part)),
    );
  put("x", ({ x }, { left }) => x - left);
  put("y", ({ y }, { top }) => y - top);
  put("width", ({ width }) => width);
  put("height", ({ height }) => height);
}

function addEdges(columns, pool, viewers, firsts, parts) {
  const edges = viewers.flatMap(({ model }, i) =>
    model.edges.map((edge) => ({ edge, first: firsts[i], part: parts[i][model.nodes[edge.from].graph] })),
  );
  const put = (name, read) => columns.set(`edge.${name}`, filled(Int32Array, edges, read));
  put("src", ({ edge, first }) => first + edge.from);
  put("dst", ({ edge, first }) => first + edge.to);
  put("src_port", ({ edge }) => edge.port);
  put("dst_arg", ({ edge }) => pool.number(edge.arg));
  put("feedback", ({ edge }) => Number(edge.feedback));
  put("corners", ({ edge }) => edge.points.length);
  const corners = (axis, side) => {
    const out = new Float64Array(edges.reduce((sum, { edge }) => sum + edge.points.length, 0));
    let at = 0;
    for (const { edge, part } of edges) for (const point of edge.points) out[at++] = 2 * (point[axis] - part[side]);
    return out;
  };
  columns.set("corner.x", corners(0, "left"));
  columns.set("corner.y", corners(1, "top"));
}

/** Outermost blocks first, as the hierarchy of modules needs them. */
function addBlocks(columns, pool, viewers, parts) {
  const blocks = viewers.flatMap(({ model }, i) =>
    [...model.blocks]
      .sort((a, b) => a.graph - b.graph || b.width * b.height - a.width * a.height || a.path.length - b.path.length)
      .map((block) => ({ block, part: parts[i][block.graph] })),
  );
  const put = (name, read) => columns.set(`block.${name}`, filled(Float64Array, blocks, read));
  columns.set(
    "block.path",
    filled(Int32Array, blocks, ({ block }) => pool.number(block.path)),
  );
  put("left", ({ block, part }) => 2 * (block.left - part.left));
  put("top", ({ block, part }) => 2 * (block.top - part.top));
  put("width", ({ block }) => 2 * block.width);
  put("height", ({ block }) => 2 * block.height);
}

/** Members that are on the page; a set that has none stays, so that the numbers in `focus` hold. */
function addSets(columns, viewers, firsts, count, sets, focus) {
  const members = sets.map((set) =>
    (Array.isArray(set) ? set : []).flatMap((member) => {
      const [viewer, id, primary] = Array.isArray(member) ? member : [];
      const place = Number.isInteger(viewer) ? (viewers[viewer]?.model.place(id) ?? -1) : -1;
      return place < 0 ? [] : [[firsts[viewer] + place, Number(primary === true)]];
    }),
  );
  for (const set of members) set.sort(([a], [b]) => a - b);
  columns.set(
    "set.size",
    Int32Array.from(members, (set) => set.length),
  );
  columns.set("set.node", Int32Array.from(members.flatMap((set) => set.map(([node]) => node))));
  columns.set("set.primary", Int32Array.from(members.flatMap((set) => set.map(([, primary]) => primary))));
  columns.set("node.focus", focusOf(viewers, firsts, count, members, focus));
}

function focusOf(viewers, firsts, count, members, focus) {
  const out = new Int32Array(count).fill(-1);
  for (const [set, own] of members.entries()) for (const [node] of own) if (out[node] < 0) out[node] = set;
  for (const [viewer, shown] of focus.entries()) {
    if (typeof shown !== "object" || shown === null || !viewers[viewer]) continue;
    for (const [id, set] of Object.entries(shown)) {
      const place = viewers[viewer].model.place(id);
      if (place >= 0 && Number.isInteger(set) && members[set]) out[firsts[viewer] + place] = set;
    }
  }
  return out;
}
