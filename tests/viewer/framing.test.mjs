// Panes fitted together.

import assert from "node:assert/strict";
import test from "node:test";
import { framed, inFrame } from "../../fxstore/render/viewer/panes/group.js";
import { toScreen } from "../../fxstore/render/viewer/paint/viewport.js";

const part = (width, height, size = { width: 300, height: 600 }) => ({
  extent: { left: 0, top: 0, right: width, bottom: height },
  size,
});
const views = (parts) => framed(parts).map((one, i) => inFrame(one, parts[i].size));

test("panes that fit at nearly one scale take one, and begin at one height", () => {
  const [a, b, c] = views([part(500, 4000), part(900, 3600), part(700, 3000, { width: 340, height: 560 })]);
  assert.equal(a.scale, b.scale);
  assert.equal(b.scale, c.scale);
  assert.equal(a.y, b.y);
  assert.equal(b.y, c.y);
  for (const [view, { extent, size }] of [
    [a, part(500, 4000)],
    [b, part(900, 3600)],
    [c, part(700, 3000, { width: 340, height: 560 })],
  ]) {
    const [left, top] = toScreen(view, extent.left, extent.top);
    const [right, bottom] = toScreen(view, extent.right, extent.bottom);
    assert.ok(left >= 0 && top >= 0 && right <= size.width && bottom <= size.height, "all of it is in view");
    assert.ok(Math.abs(left - (size.width - right)) < 1e-6, "in the middle of its pane");
  }
});

test("none is drawn much smaller than by itself for the sake of a large one", () => {
  const [small, large, alone] = views([part(300, 600), part(3000, 6000), part(300, 600)]);
  assert.ok(small.scale > 5 * large.scale);
  assert.deepEqual(small, alone);
  const [own] = views([part(3000, 6000)]);
  assert.deepEqual(own, large);
});

test("nothing to show is no trouble", () => {
  assert.deepEqual(framed([]), []);
  assert.ok(Number.isFinite(views([part(0, 0)])[0].scale));
});
