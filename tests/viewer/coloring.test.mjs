import assert from "node:assert/strict";
import { test } from "node:test";
import {
  FIRST_STEP,
  MISSING,
  NAN,
  NO_DATA,
  OTHER,
  PLUS_INF,
  STEPS,
  metricColoring,
  roleColoring,
  styleOf,
} from "../../fxstore/render/viewer/paint/coloring.js";
import { THEMES, inkOn, luminance, mixed } from "../../fxstore/render/viewer/paint/themes.js";
import { badness, domainOf, ticksOf, valueAt } from "../../fxstore/render/viewer/paint/scales.js";
import { specialEntries } from "../../fxstore/render/viewer/panels/legend.js";
import { metricText } from "../../fxstore/render/viewer/paint/colorings.js";
import {
  brief,
  cellText,
  formatted,
  grouped,
  withUnit,
} from "../../fxstore/render/viewer/scene/numbers.js";
import { makeScene } from "./fixture.mjs";

/**
 * What each kind of colour blindness leaves of a colour (Viénot, Brettel and Mollon 1999, linear RGB; tritan: Machado,
 * Oliveira and Fernandes 2009).
 */
const SEEN_BY = {
  protan: [
    [0.11238, 0.88762, 0],
    [0.11238, 0.88762, 0],
    [0.00401, -0.00401, 1],
  ],
  deutan: [
    [0.29275, 0.70725, 0],
    [0.29275, 0.70725, 0],
    [-0.02234, 0.02234, 1],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
};

function seen(hex, eyes) {
  const linear = [1, 3, 5].map((at) => (parseInt(hex.slice(at, at + 2), 16) / 255) ** 2.2);
  return SEEN_BY[eyes].map((row) => row.reduce((sum, part, i) => sum + part * linear[i], 0));
}

function distance(a, b, eyes) {
  const [one, two] = [seen(a, eyes), seen(b, eyes)].map((rgb) => rgb.map((value) => Math.max(0, value) ** (1 / 2.2)));
  return Math.hypot(...one.map((value, i) => value - two[i]));
}

test("each node gets its bucket: a step of the scale, NaN, infinite, a reason, or no data", () => {
  const coloring = metricColoring(makeScene(), 0);
  const half = FIRST_STEP + Math.floor((1 - Math.log10(1 / 0.5) / 6) * STEPS); // a cosine of 0.5, of six decades
  assert.deepEqual([...coloring.buckets], [half, FIRST_STEP, NAN, PLUS_INF, MISSING, NO_DATA]);
  assert.equal(coloring.counts[MISSING], 1);
  assert.equal(coloring.order.at(-1), NAN, "what is broken is painted last");
});

test("worst is 1, whichever way is better", () => {
  const domain = { min: 0, max: 10, log: false };
  assert.equal(badness(10, domain, "lower"), 1);
  assert.equal(badness(10, domain, "higher"), 0);
  assert.equal(badness(5, domain, null), 0.5);
  for (const better of ["lower", "higher", null])
    assert.equal(badness(3, { min: 3, max: 3, log: false }, better), 0.5, "of equal numbers none is the worst");
});

test("what has no number is told apart by its pattern too", () => {
  const { hatches } = styleOf(metricColoring(makeScene(), 0), THEMES.light);
  assert.equal(new Set([hatches[MISSING], hatches[PLUS_INF], hatches[NAN], hatches[FIRST_STEP] ?? null]).size, 4);
});

test("stages that a metric is not of are neither no data nor counted", () => {
  const scene = makeScene();
  scene.columns.set("color0.status", Int32Array.from([5, 5, 0, 0, 4, 5]));
  const coloring = metricColoring(scene, 0);
  assert.deepEqual([...coloring.buckets].slice(0, 2), [OTHER, OTHER]);
  assert.equal(coloring.buckets[5], NO_DATA);
  assert.deepEqual(
    specialEntries(coloring).map(({ text }) => text),
    ["no number 1", "no data 1", "other stages"],
  );
  assert.equal(metricText(scene, coloring, 0), "not of this stage");
});

test("two decades are enough for a logarithmic scale, and its ticks read as people read times", () => {
  const domain = domainOf([1712, 20000, 201229], "lower");
  assert.equal(domain.log, true);
  assert.equal(domainOf([1712, 20000], "lower").log, false);
  const texts = (unit, shown) =>
    ticksOf(shown, { better: "lower", unit, metric: "m" }).marks.map(({ text }) => text);
  assert.deepEqual(texts("ns", domain), ["1.71 µs", "18.6 µs", "201 µs"]);
  assert.deepEqual(texts("bytes", { min: 0, max: 4096, log: false }), ["0", "2050", "4100"]);
});

test("times are told in the unit that suits them, other units as they are", () => {
  const cases = [
    [0, "ns", "0 ns"],
    [999, "ns", "999 ns"],
    [1000, "ns", "1 µs"],
    [201229, "ns", "201.23 µs"],
    [-1.5e9, "ns", "−1.5 s"],
    [0.25, "ms", "250 µs"],
    [0.25, "us", "250 ns"],
    [4096, "bytes", "4096 bytes"],
    [3, null, "3"],
    [NaN, "ns", "NaN ns"],
  ];
  for (const [value, unit, text] of cases) assert.equal(withUnit(value, unit), text);
});

test("errors that span magnitudes get a logarithmic scale, zeros included", () => {
  const domain = domainOf([0, 1e-6, 1e-3, 1], "lower");
  assert.deepEqual(domain, { min: 1e-6, max: 1, log: true });
  assert.equal(badness(0, domain, "lower"), 0);
  assert.ok(Math.abs(badness(1e-3, domain, "lower") - 0.5) < 1e-9);
  assert.ok(Math.abs(valueAt(0.5, domain) - 1e-3) < 1e-9);
  assert.equal(domainOf([0.2, 0.9], "lower").log, false);
  assert.equal(domainOf([], "lower"), null);
  assert.equal(domainOf([0, 0], "lower").log, false);
});

for (const theme of Object.values(THEMES)) {
  test(`${theme.name}: the scales' lightness changes one way only, so that any eyes can order them`, () => {
    for (const stops of [theme.scale, theme.neutral]) {
      const steps = Array.from({ length: 33 }, (_, i) => luminance(mixed(stops, i / 32)));
      const signs = new Set(steps.slice(1).map((value, i) => Math.sign(value - steps[i])));
      assert.equal(signs.size, 1);
      assert.ok(Math.abs(steps[0] - steps[32]) > 0.5);
    }
  });

  for (const eyes of Object.keys(SEEN_BY)) {
    test(`${theme.name}, ${eyes}: NaN, infinite, no number and no data differ from each other and from every number`, () => {
      const { nan, inf, nodata, missing } = theme.graph;
      const special = [nan, inf, nodata, missing];
      for (const [i, a] of special.entries())
        for (const b of special.slice(i + 1)) assert.ok(distance(a, b, eyes) > 0.18, `${a} ${b}`);
      for (const stops of [theme.scale, theme.neutral])
        for (let i = 0; i < 32; i++)
          for (const color of [nodata, missing])
            assert.ok(distance(mixed(stops, i / 31), color, eyes) > 0.09, `${color} at ${i}: ${mixed(stops, i / 31)}`);
      for (const color of [nodata, missing]) assert.ok(distance(theme.scale[0], color, eyes) > 0.17, color);
      const least = eyes === "tritan" ? 0.08 : 0.15; // the pattern tells NaN from a bad number where colour hardly does
      for (let i = 0; i < 32; i++)
        for (const color of [nan, inf])
          assert.ok(
            distance(mixed(theme.scale, i / 31), color, eyes) > least,
            `${color} at ${i}: ${mixed(theme.scale, i / 31)}`,
          );
    });
  }

  test(`${theme.name}: text is readable on every fill (WCAG AA)`, () => {
    const fills = [
      ...styleOf(metricColoring(makeScene(), 0), theme).fills,
      ...styleOf(roleColoring(makeScene()), theme).fills,
    ];
    for (const fill of fills) {
      const [light, dark] = [luminance(fill), luminance(inkOn(fill))].sort((a, b) => b - a);
      assert.ok((light + 0.05) / (dark + 0.05) >= 4.5, fill);
    }
  });
}

test("without a metric, nodes are coloured by role", () => {
  const coloring = roleColoring(makeScene());
  assert.deepEqual(coloring.categories, ["delegate", "op"]);
  assert.equal(coloring.counts[FIRST_STEP + 1], 5);
});

test("a metric in words", () => {
  const scene = makeScene();
  const coloring = metricColoring(scene, 0);
  assert.deepEqual(
    [0, 2, 3, 4, 5].map((node) => metricText(scene, coloring, node)),
    ["0.5", "NaN", "∞", "no number: too large", "no data"],
  );
});

test("numbers keep what tells them apart", () => {
  const cases = [
    [0, "0"],
    [12, "12"],
    [-3.5, "−3.5"],
    [0.99998, "0.99998"],
    [1.2345678e-7, "1.235e-7"],
    [3.5e15 + 0.5, "3.500e15"],
    [NaN, "NaN"],
    [-Infinity, "−∞"],
  ];
  for (const [value, text] of cases) assert.equal(formatted(value), text);
  assert.notEqual(formatted(0.9999999), formatted(1));
  assert.equal(formatted(5027621737857108), "5027621737857108", "node keys are shown whole");
  assert.deepEqual(brief([1, 0.98765, 0.9]), ["1", "0.988", "0.9"]);
  assert.deepEqual(brief([0.99999, 0.99992, 0.99985]), ["0.99999", "0.99992", "0.99985"]);
  assert.deepEqual(brief([0.5, 0.5, 0.5]), ["0.5", "0.5", "0.5"]);
  assert.deepEqual([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
});

test("cells of an answer", () => {
  assert.deepEqual(cellText({ number: "Infinity" }), { text: "∞", number: true, muted: false });
  assert.deepEqual(cellText({ number: "9007199254740993" }).text, "9007199254740993");
  assert.deepEqual(cellText(null), { text: "NULL", number: false, muted: true });
  assert.equal(cellText(false).text, "false");
});
