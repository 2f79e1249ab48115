import assert from "node:assert/strict";
import { test } from "node:test";
import { metricColoring } from "../../fxstore/render/viewer/paint/coloring.js";
import { targetUnder } from "../../fxstore/render/viewer/paint/hit.js";
import { moreBox, moreTextOf } from "../../fxstore/render/viewer/paint/nodes.js";
import { gapAt } from "../../fxstore/render/viewer/panes/panes.js";
import { nextMeasured } from "../../fxstore/render/viewer/paint/colorings.js";
import { makeScene } from "./fixture.mjs";

/** The last pane has a node with neighbours that are not drawn, one of which is held beside it. */
function sceneWithOneBeside() {
  const graph = (nodes, edges, more = {}) => ({
    title: "",
    nodes,
    edges,
    blocks: 0,
    parent: -1,
    width: 200,
    height: 220,
    ...more,
  });
  const scene = makeScene({
    graphs: [graph(2, 1), graph(2, 1), graph(1, 0), graph(1, 0, { parent: 4, title: "beside it", beside: true })],
  });
  scene.columns.set("node.more", Int32Array.from([0, 0, 0, 0, 4951, 0]));
  return scene;
}

test("what is left out takes no room and stands where its node is, until it is opened beside everything", () => {
  const scene = sceneWithOneBeside();
  const pane = scene.panes[2];
  const before = { ...pane.extent };
  const first = [scene.x[4], scene.y[4]];
  assert.deepEqual([scene.x[5], scene.y[5]], first);
  assert.equal(moreTextOf(scene, 4), "+4,951 ▸");
  assert.equal(moreTextOf(scene, 5), "");
  scene.fold(pane, new Set(), new Set());
  assert.deepEqual([scene.x[4], scene.y[4]], first, "nothing else moves");
  assert.ok(scene.x[5] - scene.width[5] / 2 > before.right, "it stands to the right of all that is drawn");
  assert.ok(pane.extent.right > before.right);
  assert.equal(moreTextOf(scene, 4), "−1");
  scene.fold(pane, new Set(), new Set([3]));
  assert.deepEqual({ ...pane.extent }, before);
  assert.deepEqual([scene.x[5], scene.y[5]], first);
});

test("a click on the number means it, beside it the node", () => {
  const scene = sceneWithOneBeside();
  const view = { x: 0, y: 0, scale: 1 };
  const { left, top, width, height } = moreBox(scene, 4);
  const under = (x, y) => targetUnder(scene, scene.panes[2], view, x, y);
  assert.deepEqual(under(left + width - 1, top + height - 1), { kind: "more", number: 4 });
  assert.deepEqual(under(scene.x[4], scene.y[4]), { kind: "node", number: 4 });
  scene.columns.set("node.more", new Int32Array(6));
  assert.equal(under(left + width - 1, top + 1).kind, "node");
});

test("steps go from measured node to measured node and stay within the pane", () => {
  const scene = makeScene();
  const coloring = metricColoring(scene, 0);
  assert.equal(nextMeasured({ first: 0, end: 4 }, coloring, -1, 1), 0);
  assert.equal(nextMeasured({ first: 0, end: 6 }, coloring, 3, 1), -1, "neither a reason nor no data is a number");
  assert.equal(nextMeasured({ first: 0, end: 6 }, coloring, -1, -1), 3);
  assert.equal(nextMeasured({ first: 1, end: 4 }, coloring, 1, -1), -1);
});

test("a pane is dropped in the gap whose neighbours' middles are on both sides", () => {
  const boxes = [0, 100, 200].map((left) => ({ left, right: left + 100 }));
  assert.deepEqual(
    [10, 60, 149, 151, 990].map((x) => gapAt(boxes, x)),
    [0, 1, 1, 2, 3],
  );
});
