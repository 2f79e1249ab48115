import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { styleOf } from "../../fxstore/render/viewer/paint/coloring.js";
import { THEMES, mixed } from "../../fxstore/render/viewer/paint/themes.js";
import { KINDS, apart, seen } from "./eyes.mjs";

const LEAST_APART = 0.045;
const STEPS = 32;
const TRAINING = JSON.parse(
  readFileSync(new URL("../../fxstore/render/training_colors.json", import.meta.url), "utf8"),
);

for (const theme of Object.values(THEMES))
  for (const kind of KINDS) {
    const steps = (stops) => Array.from({ length: STEPS }, (_, i) => mixed(stops, (i + 0.5) / STEPS));
    const light = (color) => seen(color, kind)[0];
    const told = (colors, why) => {
      const distinct = [...new Set(colors)];
      for (const [i, one] of distinct.entries())
        for (const other of distinct.slice(0, i))
          assert.ok(apart(one, other, kind) >= LEAST_APART, `${why}: ${one} and ${other}, ${apart(one, other, kind)}`);
    };

    test(`scales rise or fall in lightness alone: ${theme.name}, ${kind}`, () => {
      for (const stops of [theme.scale, theme.neutral]) {
        const levels = steps(stops).map(light);
        const rise = Math.sign(levels.at(-1) - levels[0]);
        for (let i = 1; i < STEPS; i++) assert.ok(rise * (levels[i] - levels[i - 1]) > 0.007);
      }
    });

    test(`a diverging scale has its middle at zero and ends that differ: ${theme.name}, ${kind}`, () => {
      const colors = steps(theme.diverging);
      const sign = theme.dark ? 1 : -1;
      for (let i = 1; i < STEPS / 2; i++) {
        assert.ok(sign * (light(colors[i - 1]) - light(colors[i])) > 0, "towards zero from below");
        assert.ok(sign * (light(colors[STEPS - i]) - light(colors[STEPS - 1 - i])) > 0, "towards zero from above");
      }
      for (let i = 0; i < STEPS / 4; i++) assert.ok(apart(colors[i], colors[STEPS - 1 - i], kind) > 0.1);
    });

    test(`what is no number is no colour of a scale, or has a pattern: ${theme.name}, ${kind}`, () => {
      const { nodata, missing, other, nan, inf } = theme.graph;
      const coloring = { better: null, categories: null, domain: null };
      const { hatches, fills } = styleOf(coloring, theme);
      const patterns = new Map(fills.slice(0, hatches.length).map((fill, i) => [fill, hatches[i]]));
      assert.equal(new Set([missing, nan, inf].map((fill) => patterns.get(fill))).size, 3);
      for (const stops of [theme.scale, theme.neutral, theme.diverging])
        for (const color of steps(stops))
          for (const special of [nodata, other]) {
            const distance = apart(color, special, kind);
            assert.ok(distance >= LEAST_APART, `${color} and ${special}: ${distance}`);
          }
      told([nodata, other], "no data and other stages");
    });

    test(`categories, changes and roles are told apart: ${theme.name}, ${kind}`, () => {
      told(theme.categories, "categories");
      told(Object.values(theme.changes), "changes");
      told(Object.values(theme.roles), "roles");
      told(
        Object.values(TRAINING).map((both) => both[Number(theme.dark)]),
        "categories of a training step",
      );
    });
  }
