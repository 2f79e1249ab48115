import assert from "node:assert/strict";
import { test } from "node:test";
import { arranged, frameOf, placeGraphs } from "../../fxstore/render/viewer/scene/boxes.js";
import { BoxTree } from "../../fxstore/render/viewer/scene/blocks.js";
import {
  FAR,
  MIDDLE,
  NEAR,
  levelOf,
  typicalHeight,
} from "../../fxstore/render/viewer/paint/camera.js";
import {
  between,
  contains,
  fitted,
  opening,
  panned,
  toScene,
  toScreen,
  visibleBox,
  zoomed,
} from "../../fxstore/render/viewer/paint/viewport.js";

const SIZE = { width: 400, height: 300 };
const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b)), `${a} is not ${b}`);

/** A small generator with a seed, so that failures repeat. */
function random(seed) {
  return () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
}

test("zooming keeps the point under the pointer", () => {
  const next = random(7);
  let view = { x: -50, y: 900, scale: 0.3 };
  for (let i = 0; i < 200; i++) {
    const [px, py] = [next() * 400, next() * 300];
    const before = toScene(view, px, py);
    view = zoomed(view, px, py, 0.5 + next() * 1.6);
    const [x, y] = toScreen(view, ...before);
    assert.ok(Math.abs(x - px) < 1e-4 && Math.abs(y - py) < 1e-4);
  }
});

test("zoom stops at its limits", () => {
  assert.equal(zoomed({ x: 0, y: 0, scale: 1 }, 0, 0, 1e9).scale, 4);
  assert.equal(zoomed({ x: 0, y: 0, scale: 1 }, 0, 0, 1e-9).scale, 0.0005);
});

test("panning moves the picture by as many pixels", () => {
  const view = panned({ x: 10, y: 20, scale: 2 }, 30, -8);
  assert.deepEqual(toScreen(view, 10, 20), [30, -8]);
});

test("a fitted box is whole, centred, and never enlarged", () => {
  const box = { left: 100, top: 200, right: 900, bottom: 4200 };
  const view = fitted(box, SIZE);
  assert.ok(contains(visibleBox(view, SIZE), box));
  const [x, y] = toScreen(view, 500, 2200);
  close(x, 200);
  close(y, 150);
  assert.equal(fitted({ left: 0, top: 0, right: 5, bottom: 5 }, SIZE).scale, 1);
});

test("a very tall graph opens at its top, where its boxes can be seen", () => {
  const view = opening({ left: 0, top: 0, right: 300, bottom: 500000 }, SIZE);
  assert.ok(view.scale >= 0.12);
  const [x, y] = toScreen(view, 150, 0);
  close(x, 200);
  close(y, 12);
});

test("moving between views starts and ends where it should", () => {
  const [from, to] = [
    { x: 0, y: 0, scale: 0.1 },
    { x: 900, y: 5000, scale: 1.5 },
  ];
  const start = between(from, to, 0, SIZE);
  for (const key of ["x", "y", "scale"]) close(start[key], from[key]);
  assert.deepEqual(between(from, to, 1, SIZE), to);
});

test("the box tree finds exactly what a scan finds", () => {
  const next = random(3);
  for (const count of [0, 1, 15, 16, 17, 300, 5000]) {
    const boxes = Array.from({ length: count }, (_, i) => {
      const [left, top] = [next() * 500, i * 4 + next() * 100];
      return [left, top, left + next() * 60, top + next() * 200];
    });
    const tree = new BoxTree(Float32Array.from(boxes.flat()));
    for (let round = 0; round < 20; round++) {
      const [l, t] = [next() * 500, next() * count * 4];
      const [r, b] = [l + next() * 200, t + next() * 400];
      const found = [];
      tree.query(l, t, r, b, (i) => found.push(i));
      const rows = [...tree.levels[0]];
      const scanned = boxes
        .map((_, i) => i)
        .filter((i) => rows[i * 4] <= r && rows[i * 4 + 2] >= l && rows[i * 4 + 1] <= b && rows[i * 4 + 3] >= t);
      assert.deepEqual(
        found.sort((a, b) => a - b),
        scanned,
      );
    }
  }
});

test("what is drawn depends on a box's height in pixels", () => {
  assert.deepEqual(
    [0.05, 0.2, 1].map((scale) => levelOf(scale, 36)),
    [FAR, MIDDLE, NEAR],
  );
  assert.equal(typicalHeight([10, 36, 36, 400], 0, 4), 36);
  assert.equal(typicalHeight([], 0, 0), 1);
});

function graph(number, first, nodes, parent, title = `g${number}`) {
  return {
    number,
    title,
    first,
    nodes,
    parent,
    width: 100,
    height: 300,
    x: 0,
    y: 0,
    firstEdge: 0,
    edges: 0,
    firstBlock: 0,
    blocks: 0,
  };
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

test("nested graphs stand beside or under their caller, and no two frames overlap", () => {
  const graphs = [
    graph(0, 0, 10, -1, ""),
    graph(1, 10, 5, 3),
    graph(2, 15, 5, 2),
    graph(3, 20, 5, 12),
    graph(4, 25, 5, -1),
  ];
  const extent = placeGraphs(graphs, (node) => node * 8);
  const frames = graphs.map(frameOf);
  for (const [i, a] of frames.entries()) for (const b of frames.slice(i + 1)) assert.ok(!overlap(a, b));
  for (const [child, caller] of [
    [1, 0],
    [2, 0],
    [3, 1],
  ])
    assert.ok(frames[child].left > frames[caller].right || frames[child].top > frames[caller].bottom);
  for (const frame of frames) assert.ok(contains(extent, frame));
});

test("parts never overlap each other or what they belong to, and stay within the extent", () => {
  const next = random(11);
  for (let round = 0; round < 60; round++) {
    const size = () => ({ width: 50 + next() * 900, height: 30 + next() * 900 });
    const head = round % 3 ? size() : null;
    const parts = Array.from({ length: Math.floor(next() * 12) }, () => ({ ...size(), wanted: next() * 900 }));
    const { width, height, at } = arranged(parts, head);
    const boxes = parts.map((part, i) => ({
      left: at[i].x,
      top: at[i].y,
      right: at[i].x + part.width,
      bottom: at[i].y + part.height,
    }));
    if (head) boxes.push({ left: 0, top: 0, right: head.width, bottom: head.height });
    for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) assert.ok(!overlap(a, b));
    for (const box of boxes) assert.ok(contains({ left: 0, top: 0, right: width, bottom: height }, box));
  }
});

test("many wide graphs end up tall and narrow, as panes are, instead of in one long row or column", () => {
  const parts = Array.from({ length: 6 }, (_, i) => ({ width: 1300, height: 1100, wanted: i * 250 }));
  const { width, height } = arranged(parts, { width: 900, height: 1600 });
  const scale = (w, h) => Math.min(1 / w, 2.5 / h);
  assert.ok(scale(width, height) >= 0.9 * scale(1300, 1600 + 6 * 1130), "as large as one column");
  assert.ok(scale(width, height) > 2 * scale(900 + 6 * 1356, 1600), "larger than one row");
});

test("a graph stands beside its caller, at its height, where that costs little", () => {
  const { at } = arranged([{ width: 400, height: 1400, wanted: 120 }], { width: 200, height: 260 });
  assert.deepEqual(at, [{ x: 256, y: 120 }]);
});

test("hundreds of graphs are arranged at once", () => {
  const next = random(5);
  const parts = Array.from({ length: 300 }, (_, i) => ({
    width: 200 + next() * 600,
    height: 100 + next() * 900,
    wanted: i * 100,
  }));
  const began = performance.now();
  const { width, height } = arranged(parts, { width: 900, height: 30000 });
  assert.ok(performance.now() - began < 3000);
  assert.ok(width < height);
});

test("graphs that call each other are still all placed", () => {
  const graphs = [graph(0, 0, 5, 7), graph(1, 5, 5, 2)];
  const extent = placeGraphs(graphs, () => 0);
  assert.ok(!overlap(frameOf(graphs[0]), frameOf(graphs[1])));
  assert.ok(extent.right > 200 || extent.bottom > 600);
});
