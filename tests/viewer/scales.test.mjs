import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  FIRST_STEP,
  NAN,
  PLUS_INF,
  metricColoring,
} from "../../fxstore/render/viewer/paint/coloring.js";
import { Colorings, histogramOf, profileOf } from "../../fxstore/render/viewer/paint/colorings.js";
import {
  anchoredDomain,
  badness,
  domainOf,
  endWords,
  positionIn,
  standingOf,
  ticksOf,
  valueAt,
} from "../../fxstore/render/viewer/paint/scales.js";
import { makeScene } from "./fixture.mjs";

const CASES = JSON.parse(readFileSync(new URL("../scales.json", import.meta.url), "utf8"));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

for (const one of CASES)
  test(`scale: ${one.why}`, () => {
    const values = new Float64Array(10).fill(NaN);
    for (const [node, value] of Object.entries(one.values)) values[node] = Number(value);
    const domain = anchoredDomain(one) ?? domainOf(values.filter(Number.isFinite), one.better);
    for (const [node, at] of Object.entries(one.at)) near(badness(values[node], domain, one.better), at);
    assert.deepEqual(standingOf(values, one, one.differ && new Set(one.differ)), one.standing ?? []);
    if (one.ends) assert.deepEqual(endWords(domain, one), one.ends);
    const { marks, note } = ticksOf(domain, one);
    if (one.note !== undefined) assert.equal(note, one.note);
    if (!one.marks) return;
    assert.deepEqual(marks.map(({ text }) => text), one.marks.map(([, text]) => text));
    for (const [i, { at }] of marks.entries()) near(at, one.marks[i][0]);
  });

test("the value at each part of a scale stands there", () => {
  for (const one of CASES) {
    const domain = anchoredDomain(one);
    for (const part of domain ? [0.01, 0.3, 0.5, 0.8, 0.99] : []) near(positionIn(valueAt(part, domain), domain), part);
  }
});

/** A scene whose metric is in decibels: two equal tensors, 20 dB, and one of a reference of zeros. */
function decibels() {
  const scene = makeScene({ colors: [{ name: "run", metric: "sqnr", unit: "dB", better: "higher" }] });
  scene.columns.set("color0.status", Int32Array.from([2, 2, 0, 1, 3, 5]));
  scene.columns.set("color0.value", Float64Array.from([20]));
  return scene;
}

test("+∞ dB of equal tensors has the good colour, counts as a number, and is found", () => {
  const scene = decibels();
  const coloring = metricColoring(scene, 0);
  assert.deepEqual([...coloring.buckets.slice(0, 2)], [FIRST_STEP, FIRST_STEP]);
  assert.equal(coloring.buckets[3], NAN);
  assert.ok(coloring.buckets[4] !== FIRST_STEP && coloring.buckets[4] < FIRST_STEP, "−∞ dB is broken");
  assert.equal(coloring.counts[PLUS_INF], 0);
  assert.deepEqual(coloring.standing, [["identical", 2]]);
  assert.equal(histogramOf(coloring)[0].to, Infinity);
  assert.equal(profileOf(scene.panes[0], coloring, 1)[0].high, 1);
});

test("where all are identical there is a scale, and all stand at its good end", () => {
  const scene = decibels();
  scene.columns.set("color0.status", Int32Array.from([2, 2, 5, 5, 5, 5]));
  scene.columns.set("color0.value", new Float64Array(0));
  for (const relative of [false, true]) {
    const coloring = metricColoring(scene, 0, null, -1, relative);
    assert.deepEqual([...coloring.buckets.slice(0, 2)], [FIRST_STEP, FIRST_STEP]);
    assert.equal(coloring.domain.anchored, true);
  }
});

test("colours spread over the values' own range when asked, and back", () => {
  const colorings = new Colorings(makeScene());
  const before = colorings.at(0).domain;
  colorings.setRelative(true);
  assert.deepEqual([colorings.at(0).domain.min, colorings.at(0).domain.max], [0.5, 1]);
  colorings.setRelative(false);
  assert.deepEqual(colorings.at(0).domain, before);
});
