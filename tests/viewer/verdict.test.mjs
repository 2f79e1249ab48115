import assert from "node:assert/strict";
import { test } from "node:test";
import { firstNamed, openingPanes } from "../../fxstore/render/viewer/panels/verdict.js";
import { makeScene } from "./fixture.mjs";

const VERDICT = { level: "bad", caption: "", panes: [0, 1], sentences: [["it starts at ", ["relu_q", 3], "."], ["end"]] };

/** Five panes of one node each. */
function sceneOf(verdict, highlight = []) {
  const panes = [0, 1, 2, 3, 4].map((number) => ({ number, first: number, end: number + 1 }));
  const columns = new Map([["highlight", Int32Array.from(highlight)]]);
  return { header: { verdict }, panes, columns, paneOf: (node) => panes[node] };
}

test("the first name of a verdict is the node where the error starts", () => {
  assert.equal(firstNamed(VERDICT), 3);
  assert.equal(firstNamed({ ...VERDICT, sentences: [["nothing"]] }), undefined);
  assert.equal(firstNamed(undefined), undefined);
});

test("a page opens with the panes that tell the story, and with those of the answer", () => {
  const verdict = { ...VERDICT, panes: [0, 3, 4] };
  assert.deepEqual(openingPanes(sceneOf(verdict), 1600), [0, 3, 4]);
  assert.deepEqual(openingPanes(sceneOf(verdict, [2]), 1600), [0, 2, 3, 4]);
  assert.deepEqual(openingPanes(sceneOf(undefined), 1600), [0, 1, 2, 3, 4], "nothing says which of them matter");
  assert.deepEqual(openingPanes(sceneOf({ ...verdict, panes: [] }), 1600), [0, 1, 2, 3, 4]);
});

test("a narrow page opens with one pane: that of the answer, else that of the verdict's node", () => {
  assert.deepEqual(openingPanes(sceneOf(VERDICT), 390), [3]);
  assert.deepEqual(openingPanes(sceneOf(VERDICT, [2]), 390), [2]);
  assert.deepEqual(openingPanes(sceneOf(undefined), 390), [0, 1, 2, 3, 4]);
});

test("three panes or fewer are all shown", () => {
  const scene = makeScene();
  scene.header.verdict = VERDICT;
  scene.columns.set("highlight", Int32Array.from([]));
  assert.deepEqual(openingPanes(scene, 1600), [0, 1, 2]);
});
