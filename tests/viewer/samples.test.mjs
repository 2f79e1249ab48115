import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_STEP, NAN, OTHER, metricColoring } from "../../fxstore/render/viewer/paint/coloring.js";
import { Colorings, metricText } from "../../fxstore/render/viewer/paint/colorings.js";
import { detailRows } from "../../fxstore/render/viewer/panels/facts.js";
import { selectionOf } from "../../fxstore/render/viewer/scene/selection.js";
import { makeScene } from "./fixture.mjs";

/** Two samples: node 0 is 0.5 in the second, node 1 is 0.2 in the first; both are good in the other. */
function sampled() {
  const scene = makeScene();
  const put = (name, values) => scene.columns.set(name, values instanceof Float64Array ? values : Int32Array.from(values));
  scene.header.colors = [
    { ...scene.header.colors[0], better: "higher", samples: ["prefill", "step 1"], allSamples: 3 },
    { ...scene.header.colors[0], metric: "mse" },
  ];
  for (const part of ["status", "value", "reason"]) scene.columns.set(`color1.${part}`, scene.columns.get(`color0.${part}`));
  put("color0.status", [0, 0, 5, 5, 5, 5]);
  put("color0.value", Float64Array.from([0.5, 0.2]));
  put("color0.reason", []);
  put("color0.note", [scene.strings.push("worst of 3: step 1") - 1, -1, -1, -1, -1, -1]);
  for (const [i, [status, values]] of [[[0, 0, 5, 5, 5, 5], [1, 0.2]], [[0, 1, 5, 5, 5, 5], [0.5]]].entries()) {
    put(`color0.sample${i}.status`, status);
    put(`color0.sample${i}.value`, Float64Array.from(values));
    put(`color0.sample${i}.reason`, []);
  }
  return scene;
}

test("a sample colours by its own numbers, on a scale that spans all of them", () => {
  const scene = sampled();
  const [worst, first, second] = [-1, 0, 1].map((sample) => metricColoring(scene, 0, null, sample, true));
  for (const coloring of [worst, first, second])
    assert.deepEqual([coloring.domain.min, coloring.domain.max], [0.2, 1]);
  assert.equal(first.buckets[0], FIRST_STEP, "best of all samples");
  assert.equal(first.buckets[1], worst.buckets[1], "one number has one colour");
  assert.equal(second.buckets[0], worst.buckets[0]);
  assert.equal(second.buckets[1], NAN);
});

test("the sample that is chosen by name holds for each metric that has it", () => {
  const colorings = new Colorings(sampled());
  const values = () => [...colorings.at(0).values.slice(0, 2)];
  assert.deepEqual(values(), [0.5, 0.2]);
  colorings.setSample("prefill");
  assert.deepEqual(values(), [1, 0.2]);
  colorings.setRange(0, { min: 0, max: 1 });
  colorings.setSample("step 1");
  assert.equal(colorings.at(0).domain.min, 0, "the ends that were given stay");
  assert.equal(colorings.at(1).sample, -1, "a metric without samples shows what it has");
  colorings.setSample("no such step");
  assert.deepEqual(values(), [0.5, 0.2]);
});

test("the details name the sample", () => {
  const scene = sampled();
  const label = (coloring) => detailRows(scene, selectionOf(scene, 0), [0], [coloring]).map((row) => row.label);
  const worst = metricColoring(scene, 0);
  assert.equal(metricText(scene, worst, 0), "0.5 (worst of 3: step 1)");
  assert.ok(label(worst).some((text) => !text.includes("(")));
  const chosen = metricColoring(scene, 0, null, 1);
  assert.equal(metricText(scene, chosen, 0), "0.5");
  assert.ok(label(chosen).some((text) => text.endsWith("(step 1)")), label(chosen).join());
});

test("a metric of several overlays takes each node's number from the first that knows it", () => {
  const scene = makeScene();
  const put = (name, values) => scene.columns.set(name, values instanceof Float64Array ? values : Int32Array.from(values));
  scene.header.colors = [
    { name: "each stage", metric: "cosine", better: "higher", unit: null, parts: [1, 2] },
    { name: "new", metric: "cosine", better: "higher", unit: null },
    { name: "old", metric: "cosine", better: "higher", unit: null },
  ];
  put("color1.status", [5, 5, 0, 4, 5, 5]);
  put("color1.value", Float64Array.from([0.5]));
  put("color1.reason", [9]);
  put("color2.status", [5, 5, 0, 0, 0, 1]);
  put("color2.value", Float64Array.from([0.1, 0.2, 0.3]));
  put("color2.reason", []);
  const united = metricColoring(scene, 0);
  assert.deepEqual([...united.values].slice(2, 5), [0.5, NaN, 0.3]);
  assert.equal(metricText(scene, united, 3), "no number: too large");
  assert.equal(united.buckets[5], NAN);
  assert.equal(united.buckets[0], OTHER, "a pane of which no overlay knows a node");
  const colorings = new Colorings(scene);
  assert.deepEqual(colorings.overlays().map(({ name }) => name), ["new", "old"], "each number is listed once");
});
