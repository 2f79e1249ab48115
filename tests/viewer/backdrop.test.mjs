import assert from "node:assert/strict";
import { test } from "node:test";
import { Backdrop } from "../../fxstore/render/viewer/paint/backdrop.js";
import { panned } from "../../fxstore/render/viewer/paint/viewport.js";

const context = { setTransform() {}, fillRect() {}, drawImage() {} };
const SIZE = { width: 501, height: 333 };
const EXTENT = { left: 0, top: 0, right: 4000, bottom: 90000 };

function shot(view, ratio = 1) {
  return { view, size: SIZE, extent: EXTENT, ratio, paper: "#fff" };
}

test("a picture fits what it was drawn for, at any scale, and keeps its size from jump to jump", () => {
  let seed = 1;
  const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (const ratio of [1, 1.25, 2]) {
    const backdrop = new Backdrop(() => ({ width: 0, height: 0, getContext: () => context }));
    for (let round = 0; round < 200; round++) {
      const scale = 0.4 + next();
      const view = { x: 200 + next() * 2000, y: 200 + next() * 80000, scale };
      backdrop.stale = true;
      backdrop.render(shot(view, ratio), () => {});
      assert.ok(backdrop.fits(view, SIZE, EXTENT));
      assert.equal(backdrop.canvas.width, Math.ceil(SIZE.width * ratio));
      assert.equal(backdrop.canvas.height, Math.ceil(SIZE.height * ratio));
    }
  }
});

test("once it is moved a picture is larger, so that it need not be drawn for every step", () => {
  const backdrop = new Backdrop(() => ({ width: 0, height: 0, getContext: () => context }));
  let view = { x: 1000, y: 5000, scale: 0.8 };
  let drawn = 0;
  for (let step = 0; step < 20; step++) {
    if (!backdrop.fits(view, SIZE, EXTENT)) backdrop.render(shot(view), () => drawn++);
    view = panned(view, -7, 5);
  }
  assert.equal(drawn, 2);
});
