import assert from "node:assert/strict";
import { test } from "node:test";
import { metricColoring } from "../../fxstore/render/viewer/paint/coloring.js";
import { anchorIn, followed } from "../../fxstore/render/viewer/panes/group.js";
import { targetUnder } from "../../fxstore/render/viewer/paint/hit.js";
import { moduleStats, statsText } from "../../fxstore/render/viewer/paint/colorings.js";
import { Scene } from "../../fxstore/render/viewer/scene/scene.js";
import { joined, squeezed, without } from "../../fxstore/render/viewer/scene/blocks.js";
import { makeScene } from "./fixture.mjs";

/** One pane: in, a module `m` with four nodes in a column (two of them in `m.k`), out; a node beside the module. */
function moduleScene() {
  const flat = makeScene();
  const y = [20, 140, 240, 340, 440, 560, 340];
  const count = y.length;
  const columns = flat.columns;
  const put = (name, values) => columns.set(name, Int32Array.from(values));
  for (const name of [
    "op",
    "target",
    "op_type",
    "role",
    "dtype",
    "module_path",
    "backend",
    "attrs",
    "unmatched",
    "shape",
  ])
    put(`node.${name}`, Array(count).fill(-1));
  put("node.name", [0, 1, 2, 3, 4, 5, 0]);
  columns.set("node.nid", Float64Array.from(y.map((_, i) => 100 + i)));
  put("node.x", [...Array(6).fill(200), 900]);
  put(
    "node.y",
    y.map((at) => 2 * at),
  );
  put("node.width", Array(count).fill(160));
  put("node.height", Array(count).fill(60));
  put("node.focus", Array(count).fill(-1));
  put("edge.src", [0, 1, 2, 3, 4]);
  put("edge.dst", [1, 2, 3, 4, 5]);
  put("edge.src_port", Array(5).fill(0));
  put("edge.dst_arg", Array(5).fill(-1));
  put("edge.feedback", Array(5).fill(0));
  put("edge.corners", Array(5).fill(2));
  put("corner.x", Array(10).fill(200));
  put(
    "corner.y",
    [0, 1, 2, 3, 4].flatMap((i) => [2 * y[i] + 30, 2 * y[i + 1] - 30]),
  );
  put("block.left", [20, 40]);
  put("block.top", [200, 430]);
  put("block.width", [360, 320]);
  put("block.height", [760, 320]);
  put("block.path", [8, 8]);
  put("set.size", []);
  put("set.node", []);
  put("set.primary", []);
  put("color0.status", [5, 0, 0, 1, 0, 5, 4]);
  columns.set("color0.value", Float64Array.from([0.9, 0.5, 0.7]));
  put("color0.reason", [9]);
  const graph = { title: "", nodes: count, edges: 5, blocks: 2, parent: -1, width: 1000, height: 1200 };
  const header = {
    ...flat.header,
    panes: [{ title: "float", subtitle: "", graphs: 1 }],
    graphs: [graph],
    answer: null,
  };
  return new Scene({ header, columns });
}

test("spans are joined, cut out of others, and squeezed away in order", () => {
  const all = joined([
    { from: 5, to: 7 },
    { from: 0, to: 2 },
    { from: 1, to: 3 },
  ]);
  assert.deepEqual(all, [
    { from: 0, to: 3 },
    { from: 5, to: 7 },
  ]);
  const left = without(all, [
    { from: 1, to: 2 },
    { from: 6, to: 9 },
  ]);
  assert.deepEqual(left, [
    { from: 0, to: 1 },
    { from: 2, to: 3 },
    { from: 5, to: 6 },
  ]);
  const map = squeezed(left);
  assert.deepEqual([-1, 0, 0.5, 1, 1.5, 2.5, 4, 10].map(map), [-1, 0, 0, 0, 0.5, 1, 2, 7]);
});

test("a closed module keeps x and order, gives its height away and hides what it holds", () => {
  const scene = moduleScene();
  const [pane] = scene.panes;
  const before = { x: [...scene.x], y: [...scene.y], bottom: pane.extent.bottom };
  scene.fold(pane, new Set([0]));
  assert.deepEqual([...scene.holder], [-1, 0, 0, 0, 0, -1, -1]);
  assert.equal(scene.y[0], before.y[0]);
  assert.ok(scene.y[5] < before.y[5] - 200, "what stands under it moves up");
  assert.equal(scene.x[5], before.x[5]);
  assert.ok(scene.blocks[3][0] >= 34);
  assert.ok(
    scene.y[6] + 15 <= scene.blocks[1][0] + scene.blocks[3][0] + 200,
    "what stands beside it keeps its place in the order",
  );
  assert.ok(pane.extent.bottom < before.bottom);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((edge) => scene.isHidden(edge)),
    [false, true, true, true, false],
  );
  scene.fold(pane, new Set());
  assert.deepEqual([...scene.y], before.y);
  assert.equal(pane.extent.bottom, before.bottom);
});

test("closing one inner module leaves the outer one open", () => {
  const scene = moduleScene();
  const [pane] = scene.panes;
  assert.deepEqual([...scene.hierarchy(pane).depth], [0, 1]);
  scene.fold(pane, new Set([1]));
  assert.deepEqual([...scene.holder], [-1, -1, 1, 1, -1, -1, -1]);
  assert.equal(pane.around[0], -1);
});

test("modules add up what they hold: nodes, the worst number first NaN, the sum", () => {
  const scene = moduleScene();
  const coloring = metricColoring(scene, 0);
  const [outer, inner] = moduleStats(scene, scene.panes[0], coloring);
  assert.deepEqual([outer.nodes, outer.measured, outer.worst], [4, 4, 3]);
  assert.deepEqual([inner.nodes, inner.measured, inner.worst], [2, 2, 3]);
  assert.equal(outer.sum.toFixed(3), "2.100");
  assert.equal(statsText(scene, outer, coloring), "4 nodes · worst NaN");
  assert.equal(
    statsText(scene, { nodes: 3, measured: 2, worst: 1, sum: 1500 }, { ...coloring, unit: "us", better: "lower" })
      .split(" · ")
      .at(-1),
    "sum 1.5 ms",
  );
});

test("a point is on a node, a module's head, an edge, or nothing", () => {
  const scene = moduleScene();
  const [pane] = scene.panes;
  const view = { x: 0, y: 0, scale: 1 };
  const at = (x, y) => targetUnder(scene, pane, view, x, y);
  assert.deepEqual(at(100, 140), { kind: "node", number: 1 });
  assert.deepEqual(at(40, 105), { kind: "module", number: 0 });
  assert.deepEqual(at(103, 80), { kind: "edge", number: 0 });
  assert.deepEqual(at(300, 80), { kind: "none", number: -1 });
  scene.fold(pane, new Set([0]));
  assert.deepEqual(at(100, 112), { kind: "module", number: 0 }, "a closed module anywhere");
});

test("a closed graph leaves its title, and opens again", () => {
  const scene = makeScene();
  const pane = scene.panes[2];
  const before = pane.extent.bottom;
  scene.fold(pane, new Set(), new Set([3]));
  assert.equal(scene.holder[5], -2);
  assert.ok(pane.extent.bottom < before);
  const [x, y] = [scene.x[5], scene.y[5]];
  assert.deepEqual(targetUnder(scene, pane, { x: 0, y: 0, scale: 1 }, x, y), { kind: "graph", number: 3 });
  scene.fold(pane, new Set(), new Set());
  assert.equal(scene.holder[5], -1);
});

test("a pane that follows shows the counterpart where the anchor is, at the same scale", () => {
  const scene = makeScene();
  const anchor = anchorIn(scene, [1, 0], scene.panes[1]);
  assert.deepEqual(anchor, { from: 1, to: 3 });
  const view = followed(
    scene,
    anchor,
    { x: 0, y: 0, scale: 2 },
    { width: 100, height: 100 },
    { width: 300, height: 100 },
  );
  assert.equal(view.scale, 2);
  assert.equal((scene.x[3] - view.x) * 2 - 150, (scene.x[1] - 0) * 2 - 50);
  assert.equal(anchorIn(scene, [5], scene.panes[0]), null);
});
