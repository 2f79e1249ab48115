// Graph payloads in JSON, layers, synchronisation and layouts, without a page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { colorReader, THEMES } from "../../fxstore/render/viewer/paint/themes.js";
import { controlsOf, layoutOf, merged } from "../../fxstore/render/viewer/embed/layout.js";
import { detailRows } from "../../fxstore/render/viewer/panels/facts.js";
import { GraphModel, isCompare, readCompare } from "../../fxstore/render/viewer/embed/graphjson.js";
import { opTypeOf, sceneOf } from "../../fxstore/render/viewer/embed/jsonscene.js";
import { labelOf, linesOf } from "../../fxstore/render/viewer/paint/label.js";
import { givenColoring, LayerColorings } from "../../fxstore/render/viewer/embed/layercolors.js";
import { LayerSet } from "../../fxstore/render/viewer/embed/layers.js";
import { FIRST_STEP, NO_DATA, OTHER, styleOf } from "../../fxstore/render/viewer/paint/coloring.js";
import { SearchIndex } from "../../fxstore/render/viewer/scene/search.js";
import { selectionOf } from "../../fxstore/render/viewer/scene/selection.js";
import {
  Matcher,
  SceneSync,
  SetMatcher,
  syncMode,
} from "../../fxstore/render/viewer/embed/sync.js";

/** A chain of nodes, as the prototype would write it. */
function chain(infos, extensions = {}) {
  const nodes = infos.map(({ id, ...info }, i) => ({
    id,
    label: `label ${id}`,
    x: 100,
    y: 60 * i,
    width: 120,
    height: 56,
    info,
  }));
  const edges = nodes.slice(1).map(({ id }, i) => ({ v: nodes[i].id, w: id }));
  return { base: { legend: [], nodes, edges }, extensions };
}

function show(...payloads) {
  const models = payloads.map((payload) => new GraphModel(payload));
  const layers = new LayerSet(models);
  const scene = sceneOf(models.map((model, i) => ({ name: `pane ${i}`, model })));
  scene.layers = layers;
  return { models, layers, scene };
}

test("a payload of the prototype becomes a scene", () => {
  const { scene } = show(
    chain([
      { id: "x", op: "placeholder", target: "x" },
      {
        id: "conv",
        op: "call_function",
        target: "aten.conv2d.default",
        dtype: "torch.float32",
        tensor_shape: [1, "s0"],
        source_line: 7,
      },
    ]),
  );
  assert.equal(scene.nodeCount, 2);
  assert.equal(scene.panes.length, 1);
  assert.equal(scene.text("name", 1), "conv");
  assert.equal(scene.text("op_type", 1), "conv2d");
  assert.equal(scene.text("role", 0), "input");
  assert.equal(scene.text("shape", 1), "[1, s0]");
  assert.equal(scene.columns.get("node.source_line")[1], 7);
  assert.deepEqual([scene.edgeSrc[0], scene.edgeDst[0]], [0, 1]);
  assert.equal(scene.y[1] - scene.y[0], 60);
  assert.equal(scene.cornerStart[1], 2);
  assert.deepEqual(labelOf(scene, 1), ["label conv", "conv"]);
});

test("a later version, another schema and what is no graph are refused in one line", () => {
  assert.throws(
    () => new GraphModel({ schema: "fxstore.graph", version: 2, base: { nodes: [] } }),
    /reads payload version 1, not 2/,
  );
  assert.throws(() => new GraphModel({ schema: "fxstore.page", base: { nodes: [] } }), /not fxstore\.graph/);
  for (const wrong of [null, 7, [], "graph", {}, { base: 3 }, { base: { nodes: {} } }])
    assert.throws(() => new GraphModel(wrong), TypeError);
  assert.throws(() => readCompare({ viewers: [] }), /no list viewers/);
  assert.throws(() => readCompare({ viewers: [null] }), /viewer 1/);
  assert.throws(() => readCompare({ version: 9, viewers: [chain([])] }), RangeError);
});

test("what is missing, unknown or absurd in a payload is made up for, and what is left out is said", () => {
  const payload = {
    colour: "unknown",
    base: {
      nodes: [
        { id: "a", x: NaN, y: 1e300, width: -4, height: "tall", info: "none", tooltip: [1, null, {}], label: 7 },
        { id: "a", x: 0, y: 0 },
        null,
        { x: 1 },
        { id: 12, x: 0, y: 0, width: 10, height: 10 },
        { id: "__proto__", x: 5, y: 5, width: 10, height: 10, info: { name: "</script>\u202e" } },
      ],
      edges: [{ v: "a", w: "nowhere" }, 3, { v: "a", w: "12", points: [{ x: 0, y: 0 }] }, { v: "a", w: "a" }],
    },
  };
  const { scene, models } = show(payload);
  assert.equal(scene.nodeCount, 3);
  assert.equal(scene.edgeSrc.length, 2);
  assert.deepEqual(models[0].notes, [
    "3 nodes without an id of their own are left out",
    "2 edges that name no two nodes of one graph are left out",
  ]);
  assert.match(scene.header.leftOut, /3 nodes.*2 edges/);
  assert.ok([...scene.x, ...scene.y, ...scene.width, ...scene.height].every(Number.isFinite));
  assert.equal(models[0].place("__proto__"), 2);
  assert.equal(scene.text("name", 2), "</script>\u202e");
  assert.equal(show({ base: { nodes: [] } }).scene.nodeCount, 0);
});

test("graphs within graphs and module blocks stand in their own frames", () => {
  const payload = chain([{ id: "cond" }, { id: "out" }, { id: "true/add" }]);
  payload.base.edges = [{ v: "cond", w: "out" }];
  Object.assign(payload.base.nodes[2], { x: 1000, y: 500 });
  payload.base.graphs = [
    { title: "", parent: null, nodes: 2, edges: 1, left: 40, top: -30, width: 120, height: 120 },
    { title: "true", parent: "cond", nodes: 1, edges: 0, left: 940, top: 470, width: 120, height: 60 },
  ];
  payload.base.blocks = [
    { path: "m.inner", graph: 0, left: 40, top: -20, width: 60, height: 40 },
    { path: "m", graph: 0, left: 40, top: -30, width: 120, height: 120 },
  ];
  const { scene } = show(payload);
  const [pane] = scene.panes;
  assert.deepEqual(
    pane.graphs.map(({ title, nodes, parent, blocks }) => [title, nodes, parent, blocks]),
    [
      ["", 2, -1, 2],
      ["true", 1, 0, 0],
    ],
  );
  assert.deepEqual([...scene.hierarchy(pane).parent], [-1, 0]);
  scene.fold(pane, new Set([0]));
  assert.equal(scene.holder[0], 0);
});

test("graphs whose counts do not add up are shown as one", () => {
  const payload = chain([{ id: "a" }, { id: "b" }]);
  payload.base.graphs = [{ title: "t", nodes: 7, edges: 0, left: 0, top: 0, width: 1, height: 1 }];
  assert.equal(show(payload).scene.panes[0].graphs.length, 1);
});

test("operators lose namespace, overload and dialect", () => {
  const cases = {
    "aten.conv2d.default": "conv2d",
    aten_convolution_default: "convolution",
    "aten.add.Tensor": "add",
    "torch.ops.higher_order.cond": "cond",
    "quantized_decomposed.quantize_per_tensor.default": "quantize_per_tensor",
    "_operator.getitem": "getitem",
  };
  for (const [target, type] of Object.entries(cases)) assert.equal(opTypeOf(target, "call_function"), type);
  assert.equal(opTypeOf("<built-in function getitem>", "call_function"), null);
  assert.equal(opTypeOf("x", "placeholder"), null);
});

const LATENCY = {
  name: "Latency",
  legend: [{ label: "slow", color: "#ff0000" }],
  nodes: {
    a: { info: { ms: 3 }, label_append: ["3 ms", "hot"], tooltip: ["3 ms"], fill_color: "#f00" },
    c: { info: { ms: 1 }, fill_color: "#00ff00" },
  },
  sync_keys: ["ms"],
};

test("active layers write into box, tooltip and details, in their order", () => {
  const { layers, scene } = show(
    chain([{ id: "a", args: ["x"], name: "a" }, { id: "b" }, { id: "c" }], {
      lat: LATENCY,
      other: { name: "Other", nodes: { a: { label_append: ["o"], info: { k: { deep: 1 } } } } },
    }),
  );
  assert.deepEqual(linesOf(scene, 0, null), ["label a", "a"]);
  assert.deepEqual(layers.rows(0), [["args", '["x"]']]);
  layers.setActive(["other", "lat", "unknown"]);
  assert.deepEqual(linesOf(scene, 0, null), ["label a", "o", "3 ms", "hot"]);
  assert.deepEqual(layers.tooltip(0), ["[Latency]", "3 ms"]);
  assert.deepEqual(layers.rows(0), [
    ["args", '["x"]'],
    ["Other.k", "deep: 1"],
    ["Latency.ms", "3"],
  ]);
  const rows = detailRows(scene, selectionOf(scene, 0), [0], []);
  assert.deepEqual(
    rows.filter(({ label }) => label.includes(".")).map(({ label, cells }) => [label, cells[0].text]),
    [
      ["Other.k", "deep: 1"],
      ["Latency.ms", "3"],
    ],
  );
});

test("lines that do not fit a box are cut, and that is shown", () => {
  const { layers, scene } = show(
    chain([{ id: "a" }], { l: { name: "L", nodes: { a: { label_append: ["1", "2", "3", "4"] } } } }),
  );
  layers.setActive(["l"]);
  assert.deepEqual(linesOf(scene, 0, null), ["label a", "1", "2", "3 …"]);
});

test("a layer's colours are the payload's own, and what it does not colour has no data", () => {
  const { layers, scene } = show(
    chain([{ id: "a" }, { id: "b" }, { id: "c" }], { lat: LATENCY }),
    chain([{ id: "z" }]),
  );
  const colorings = new LayerColorings(scene, layers);
  assert.deepEqual(colorings.names, ["base", "Latency"]);
  const coloring = colorings.at(colorings.indexOf("lat"));
  assert.deepEqual([...coloring.buckets], [FIRST_STEP, NO_DATA, FIRST_STEP + 1, OTHER]);
  assert.deepEqual(styleOf(coloring, THEMES.light).fills.slice(FIRST_STEP), ["#ff0000", "#00ff00"]);
  assert.deepEqual(coloring.legend, [{ label: "slow", color: "#ff0000" }]);
  assert.equal(colorings.indexOf("unknown"), 0);
});

test("legends that differ stand under their panes' titles, equal ones once", () => {
  const legended = (...labels) =>
    chain([{ id: "a" }], { l: { name: "L", legend: labels.map((label) => ({ label, color: "#112233" })), nodes: {} } });
  const told = (...payloads) => {
    const { layers, scene } = show(...payloads);
    return new LayerColorings(scene, layers).at(1).legend.map(({ label, of }) => [label, of]);
  };
  assert.deepEqual(told(legended("x", "y"), legended("x", "y")), [
    ["x", undefined],
    ["y", undefined],
  ]);
  assert.deepEqual(told(legended("x", "y"), legended(), legended("z")), [
    ["x", "pane 0"],
    ["y", undefined],
    ["z", "pane 2"],
  ]);
});

test("what layers know of nodes can be searched for", () => {
  const nodes = { a: { info: { ms: 3 } }, b: { info: { ms: "NaN" } }, c: { info: { ms: 0.5, part: "cpu" } } };
  const { layers, scene } = show(
    chain([{ id: "a" }, { id: "b", note: "Odd" }, { id: "c" }, { id: "d" }], { lat: { name: "Latency", nodes } }),
  );
  const index = new SearchIndex(scene, new LayerColorings(scene, layers));
  const found = (query) => index.find(query).nodes.map((node) => scene.text("name", node));
  assert.deepEqual(found("ms>1"), ["a"]);
  assert.deepEqual(found("latency.ms<=0.5"), ["c"]);
  assert.deepEqual(found("ms:nan"), ["b"]);
  assert.deepEqual(found("ms:none"), ["d"]);
  assert.deepEqual(found("info:odd"), ["b"]);
  assert.deepEqual(found("info:cpu"), []);
  layers.setActive(["lat"]);
  assert.deepEqual(found("info:cpu"), ["c"]);
});

test("base colours are the payload's where it has any, else those of roles", () => {
  const plain = chain([{ id: "a", op: "placeholder" }, { id: "b" }]);
  const { layers, scene } = show(plain);
  assert.deepEqual(new LayerColorings(scene, layers).at(0).categories, ["input"]);
  plain.base.nodes[1].fill_color = "#123456";
  const colored = show(plain);
  const coloring = new LayerColorings(colored.scene, colored.layers).at(0);
  const { fills } = styleOf(coloring, THEMES.dark);
  assert.equal(fills[coloring.buckets[0]], THEMES.dark.roles.input);
  assert.equal(fills[coloring.buckets[1]], "#123456");
});

test("thousands of different colours stay themselves", () => {
  const { scene } = show(chain(Array.from({ length: 3000 }, (_, i) => ({ id: `n${i}` }))));
  const color = (node) => `#${node.toString(16).padStart(6, "0")}`;
  const coloring = givenColoring(scene, "all", [], color, NO_DATA);
  const { fills } = styleOf(coloring, THEMES.light);
  for (const node of [0, 255, 256, 2999]) assert.equal(fills[coloring.buckets[node]], color(node));
});

test("nothing but colours gets through as a colour", () => {
  const read = colorReader(null);
  assert.equal(read("#ABC"), "#aabbcc");
  assert.equal(read("#11223344"), "#112233");
  for (const bad of ["url(http://x/y)", "#12", "expression(1)", 7, null, "red; background: url(x)", "var(--x)"])
    assert.equal(read(bad), null);
});

test("layers are changed at run time without changing the payload, and keep it when switched off and on", () => {
  const payload = chain([{ id: "a" }, { id: "b" }, { id: "c" }], { lat: LATENCY });
  const before = JSON.stringify(payload);
  const { layers, models } = show(payload);
  layers.setActive(["lat"]);
  layers.patch("lat", { a: { label_append: ["4 ms"], info: { note: "n" } }, b: { fill_color: "#0000ff" } });
  assert.deepEqual(models[0].said("lat", 0).info, { ms: 3, note: "n" });
  layers.setActive([]);
  assert.deepEqual(layers.lines(0), []);
  layers.setActive(["lat"]);
  assert.deepEqual(layers.lines(0), ["4 ms"]);
  assert.equal(layers.fill("lat", 1), "#0000ff");
  layers.recolor("lat", {
    type: "threshold",
    field: "ms",
    thresholds: [
      { value: 2, color: "#222222" },
      { value: 0, color: "#000000" },
    ],
  });
  assert.deepEqual(
    [layers.fill("lat", 0), layers.fill("lat", 1), layers.fill("lat", 2)],
    ["#222222", "#0000ff", "#000000"],
  );
  layers.recolor("lat", ({ info }, id) => (info?.ms > 2 && id === "a" ? "#333333" : null));
  assert.equal(layers.fill("lat", 0), "#333333");
  layers.rename("lat", "Time");
  layers.upsert("lat", { legend: [] });
  assert.deepEqual([...layers.names()], [["lat", "Time"]]);
  assert.equal(models[0].said("lat", 2).info.ms, 1);
  layers.patch("new", { a: { label_append: ["x"] } });
  layers.upsert("plain", { name: "P", nodes: { b: {} } });
  layers.remove("lat");
  assert.deepEqual([...layers.names().keys()], ["new", "plain"]);
  assert.deepEqual(layers.active, []);
  assert.throws(() => layers.upsert("", {}), TypeError);
  assert.throws(() => layers.patch("lat", 3), TypeError);
  assert.throws(() => layers.recolor("new", "red"), TypeError);
  assert.equal(JSON.stringify(payload), before);
});

const quantize = "quantized_decomposed.quantize_per_tensor.default";
const FLOAT = chain([
  { id: "x" },
  { id: "linear", debug_handle: 6, from_node_root: "linear" },
  { id: "relu", debug_handle: 7 },
]);
const EDGE = chain([
  { id: "x" },
  { id: "t", debug_handle: [6], from_node_root: "linear" },
  { id: "mm", debug_handle: 6, from_node_root: "linear" },
  { id: "q", from_node_root: "linear", target: quantize },
  { id: "fused", debug_handle: [7, 9] },
  { id: "zero", debug_handle: 0 },
]);

function found(mode, from, id, extensions = [{}, {}]) {
  const models = [FLOAT, EDGE].map((payload, i) => new GraphModel({ ...payload, extensions: extensions[i] }));
  const matches = new Matcher(models, syncMode(mode)).matches(from, models[from].place(id), 1 - from);
  return matches.map(({ place, primary }) => `${models[1 - from].nodes[place].id}${primary ? "*" : ""}`);
}

test("automatic sync goes by origin, then by handle, then by id", () => {
  assert.deepEqual(found({}, 0, "linear"), ["t", "mm*", "q"]);
  assert.deepEqual(found({}, 0, "relu"), ["fused*"]);
  assert.deepEqual(found({}, 1, "fused"), ["relu*"]);
  assert.deepEqual(found({}, 0, "x"), ["x*"]);
  assert.deepEqual(found({}, 1, "zero"), []);
  assert.deepEqual(found({ mode: "id" }, 0, "linear"), []);
  assert.deepEqual(found({ mode: "none" }, 0, "x"), []);
});

test("sync by a layer's field: equal values, lists by what they share, the last is primary", () => {
  const layer = (values) => ({
    acc: { name: "A", nodes: Object.fromEntries(Object.entries(values).map(([id, key]) => [id, { info: { key } }])) },
  });
  const extensions = [layer({ x: "1", linear: [1, 2], relu: null }), layer({ t: [2, 5], mm: 1, q: "1", zero: null })];
  const mode = { mode: "layer", layer: "acc", field: "key" };
  assert.deepEqual(found(mode, 0, "linear", extensions), ["t", "mm*"]);
  assert.deepEqual(found(mode, 0, "x", extensions), ["q*"]);
  assert.deepEqual(found(mode, 0, "relu", extensions), []);
  assert.deepEqual(found({ ...mode, layer: "none" }, 0, "x", extensions), []);
  assert.throws(() => syncMode({ mode: "layer", layer: "acc" }), RangeError);
  assert.throws(() => syncMode({ mode: "magic" }), RangeError);
});

test("sync sets of the payload are followed, by focus where a node is in several", () => {
  const compare = {
    schema: "fxstore.compare",
    version: 1,
    title: "t",
    viewers: [FLOAT, EDGE].map((payload, i) => ({ name: `v${i}`, payload })),
    sync: { mode: "auto" },
    sync_sets: [
      [[0, "linear", true], [1, "mm", true], [1, "t", false], [5, "x", true], ["constructor", "x", true], "bad"],
      [
        [0, "relu", true],
        [1, "fused", true],
        [0, "linear", false],
      ],
    ],
    focus: [{ linear: 1, nobody: 0, x: "length" }],
    state: {},
  };
  assert.ok(isCompare(compare));
  const read = readCompare(compare);
  const scene = sceneOf(read.viewers, read);
  const counterparts = (node) =>
    selectionOf(scene, node).shares[1].members.map(({ node: other }) => scene.text("name", other));
  assert.deepEqual(counterparts(1), ["fused"]);
  assert.deepEqual(counterparts(0), []);
  const models = read.viewers.map(({ model }) => model);
  const matcher = new SetMatcher(models, compare.sync_sets, compare.focus);
  assert.deepEqual(matcher.matches(0, 1, 1), [{ place: 4, primary: true }]);
  assert.deepEqual(matcher.matches(1, 2, 0), [{ place: 1, primary: true }]);
  assert.deepEqual(matcher.matches(0, 0, 1), []);
  scene.sync = new SceneSync(new LayerSet(models).parts, new Matcher(models, syncMode({ mode: "id" })));
  assert.deepEqual(counterparts(0), ["x"]);
});

test("slots go before layout, layout before preset, preset before defaults", () => {
  const visible = (layout, slots = []) =>
    Object.fromEntries(Object.entries(layoutOf(layout, slots).panels).map(([name, panel]) => [name, panel.visible]));
  assert.deepEqual(visible(undefined), { sidebar: true, info: true, minimap: true, legend: true });
  assert.deepEqual(visible({ preset: "compact" }), { sidebar: false, info: false, minimap: false, legend: true });
  assert.deepEqual(visible({ preset: "headless" }), { sidebar: false, info: false, minimap: false, legend: false });
  assert.deepEqual(visible({ preset: "custom" }), { sidebar: false, info: false, minimap: false, legend: true });
  assert.equal(visible({ preset: "headless" }, ["info"]).info, true);
  assert.equal(visible({ preset: "headless", panels: { info: { visible: false } } }, ["info"]).info, false);
  assert.deepEqual(visible({ preset: "compact", panels: { info: { visible: true } } }), {
    sidebar: true,
    info: true,
    minimap: false,
    legend: true,
  });
  assert.equal(layoutOf({}, []).panels.sidebar.width, 500);
  assert.equal(layoutOf({}, []).panels.minimap.height, 240);
  assert.throws(() => layoutOf({ preset: "wide" }, []), /no preset wide/);
  for (const odd of [{ panels: 3 }, { panels: { sidebar: null, minimap: "x" }, fullscreen: true }])
    assert.deepEqual(layoutOf(odd, []), layoutOf({}, []));
  for (const size of ["x", -3, 0, NaN, Infinity, null])
    assert.equal(layoutOf({ panels: { sidebar: { width: size } } }, []).panels.sidebar.width, 500);
});

test("controls follow preset, slot and flags", () => {
  const controls = (ui, layout, slots = []) => controlsOf(ui, layoutOf(layout, slots), slots);
  assert.equal(controls(undefined, {}).toolbar, true);
  assert.equal(controls(undefined, {}).fullscreenButton, false);
  assert.equal(controls(undefined, { fullscreen: { button: true } }).fullscreenButton, true);
  assert.equal(controls(undefined, { preset: "headless" }).search, false);
  assert.equal(controls({ controls: { search: true } }, { preset: "headless" }).search, true);
  assert.equal(controls(undefined, { preset: "headless" }, ["toolbar"]).toolbar, true);
  assert.equal(controls({ controls: { theme: false } }, {}).theme, false);
  assert.deepEqual(merged({ a: { b: 1, c: [1] } }, { a: { c: [2], d: undefined } }), { a: { b: 1, c: [2] } });
});

test("payloads that were saved once stay readable", () => {
  const saved = (name) => JSON.parse(readFileSync(new URL(`./saved/${name}.json`, import.meta.url), "utf8"));
  const graph = show(saved("prototype_graph"));
  assert.deepEqual([graph.scene.nodeCount, graph.scene.edgeSrc.length, graph.models[0].notes.length], [6, 3, 0]);
  assert.deepEqual([...graph.layers.names().keys()], ["lat", "part"]);
  const counterpart = (read, node) => {
    const scene = sceneOf(read.viewers, read);
    const models = read.viewers.map(({ model }) => model);
    if (!read.sets.length)
      scene.sync = new SceneSync(new LayerSet(models).parts, new Matcher(models, syncMode(read.sync)));
    return selectionOf(scene, node).shares[1].members.map(({ node: other }) => scene.text("name", other));
  };
  assert.deepEqual(counterpart(readCompare(saved("prototype_compare")), 2), ["n2"]);
  const ours = readCompare(saved("compare_v1"));
  assert.deepEqual(counterpart(ours, 0), ["n1", "n2"]);
  const [pane] = sceneOf(ours.viewers, ours).panes;
  assert.deepEqual(
    pane.graphs.map(({ title, nodes, blocks }) => [title, nodes, blocks]),
    [
      ["", 5, 1],
      ["true", 1, 0],
    ],
  );
});
