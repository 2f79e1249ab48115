import assert from "node:assert/strict";
import { test } from "node:test";
import { counterparts } from "../../fxstore/render/viewer/page/api.js";
import { linkIn, linkedNode } from "../../fxstore/render/viewer/page/deeplink.js";
import { detailRows, attrsText } from "../../fxstore/render/viewer/panels/facts.js";
import { metricColoring } from "../../fxstore/render/viewer/paint/coloring.js";
import { ownParts, statusOf } from "../../fxstore/render/viewer/panes/panes.js";
import { SearchIndex } from "../../fxstore/render/viewer/scene/search.js";
import {
  answerNodes,
  nextRow,
  ranksOf,
  selectionOf,
} from "../../fxstore/render/viewer/scene/selection.js";
import { sharedCells, shownOrder, sortedRows } from "../../fxstore/render/viewer/panels/answer.js";
import { makeScene } from "./fixture.mjs";

test("a selection holds its whole set, pane by pane, what holds the value first", () => {
  const { shares, members } = selectionOf(makeScene(), 0);
  assert.deepEqual(
    [...members],
    [
      [0, true],
      [2, false],
      [3, true],
      [4, true],
    ],
  );
  assert.deepEqual(
    shares.map((share) => share.lead),
    [0, 3, 4],
  );
  assert.deepEqual(shares[1].members, [
    { node: 3, primary: true },
    { node: 2, primary: false },
  ]);
});

test("the selected node leads its pane even where another one holds the value", () => {
  assert.equal(selectionOf(makeScene(), 2).shares[1].lead, 2);
});

test("a pane without a counterpart tells the reason, where there is one", () => {
  const scene = makeScene();
  assert.deepEqual(statusOf(scene, selectionOf(scene, 1), 2), {
    mark: "○",
    text: "no counterpart: folded into conv",
    kind: "none",
  });
  assert.equal(statusOf(scene, selectionOf(scene, 5), 0).text, "no counterpart");
});

test("a node outside every set selects itself alone", () => {
  const selection = selectionOf(makeScene(), 5);
  assert.deepEqual([...selection.members.keys()], [5]);
  assert.deepEqual(
    selection.shares.map((share) => share.lead),
    [-1, -1, 5],
  );
});

test("the API names counterparts by pane, nid and name, without the selected one", () => {
  const scene = makeScene();
  assert.deepEqual(counterparts(scene, selectionOf(scene, 0)), [
    { pane: 1, nid: 201, name: "relu_q", primary: true },
    { pane: 1, nid: 200, name: "conv_q", primary: false },
    { pane: 2, nid: 300, name: "convolution", primary: true },
  ]);
});

test("ranks: rows of the answer, and hollow for the counterparts that hold the value", () => {
  const ranks = ranksOf(makeScene());
  assert.deepEqual(ranks.get(2), { rank: 1, named: true });
  assert.deepEqual(ranks.get(0), { rank: 3, named: true });
  assert.deepEqual(ranks.get(4), { rank: 1, named: false });
});

test("stepping through rows skips those that name no node, and wraps", () => {
  const rows = answerNodes(makeScene());
  assert.deepEqual(rows, [[2], [], [0]]);
  assert.equal(nextRow(rows, -1, 1), 0);
  assert.equal(nextRow(rows, 0, 1), 2);
  assert.equal(nextRow(rows, 2, 1), 0);
  assert.equal(nextRow(rows, -1, -1), 2);
  assert.equal(nextRow([[], []], -1, 1), -1);
  assert.equal(nextRow([], -1, 1), -1);
});

test("search counts per pane, over name, operator and module, whatever the case", () => {
  const index = new SearchIndex(makeScene());
  const hits = Uint8Array.from([1, 0, 1, 0, 1, 0]);
  assert.deepEqual(index.find("CONV"), { nodes: [0, 2, 4], counts: [1, 1, 1], hits });
  assert.deepEqual(index.find("layer.0").counts, [2, 0, 0]);
  assert.deepEqual(index.find("  "), { nodes: [], counts: [0, 0, 0], hits: null });
  assert.deepEqual(index.find("folded").nodes, [], "reasons are not searched");
});

test("details: one cell per pane in view, tinted where it differs, rows without values left out", () => {
  const scene = makeScene();
  const rows = detailRows(scene, selectionOf(scene, 0), [0, 1, 2], [metricColoring(scene, 0)]);
  const row = (label) => rows.find((entry) => entry.label === label);
  assert.deepEqual(
    row("name").cells.map((cell) => cell.text),
    ["conv", "relu_q", "convolution"],
  );
  assert.deepEqual(
    row("op type").cells.map((cell) => cell.differs),
    [false, true, true],
  );
  assert.deepEqual(
    row("cosine · run").cells.map((cell) => cell.text),
    ["0.5", "∞", "no number: too large"],
  );
  assert.equal(row("dtype"), undefined);
  assert.deepEqual(detailRows(scene, selectionOf(scene, 0), [2], []).find((r) => r.label === "name").cells.length, 1);
});

test("attributes show as lines, and broken JSON as it is", () => {
  assert.equal(attrsText('{"a": [1, null], "b": "x"}'), "a: [1,null]\nb: x");
  assert.equal(attrsText("{oops"), "{oops");
  assert.equal(attrsText("{}"), null);
  assert.equal(attrsText("[1]"), "[1]");
});

test("a link names a node or nothing", () => {
  assert.equal(linkIn("#node=8388613").node, 8388613);
  for (const hash of ["", "#", "#node=", "#node=abc", "#node=1e9", "#node=12345678901234567"])
    assert.equal(linkIn(hash).node, null);
});

test("an answer shows name and value first and keys last", () => {
  const order = (columns) => shownOrder(columns).map((i) => columns[i]);
  assert.deepEqual(order(["nid", "stage", "name", "target", "value"]), ["name", "value", "stage", "target", "nid"]);
  assert.deepEqual(order(["value", "a", "ref_nid", "b"]), ["value", "a", "b", "ref_nid"]);
  assert.deepEqual(order([]), []);
});

test("columns that say one thing in all rows are said once, but for a ranking's name, value and keys", () => {
  const answer = {
    columns: ["name", "stage", "value", "nid", "reason"],
    rows: [
      ["a", "edge", 1, 7, null],
      ["a", "edge", 1, 7, null],
    ],
  };
  assert.deepEqual(
    [...sharedCells(answer)],
    [
      [1, "edge"],
      [4, null],
    ],
  );
  assert.equal(sharedCells({ ...answer, rows: answer.rows.slice(1) }).size, 0, "one row stays a row");
  const alike = { columns: ["a"], rows: [[1], [1]] };
  assert.equal(sharedCells(alike).size, 0, "a table keeps a column");
});

test("rows sort by a column: what is broken first, NULL last, equal cells as they came", () => {
  const cells = [2, null, { number: "NaN" }, -1, { number: "-Infinity" }, 2, { number: "9007199254740993" }];
  const rows = cells.map((cell) => [cell]);
  assert.deepEqual(sortedRows(rows, 0, "ascending"), [2, 4, 3, 0, 5, 6, 1]);
  assert.deepEqual(sortedRows(rows, 0, "descending"), [2, 4, 6, 0, 5, 3, 1]);
  assert.deepEqual(sortedRows(rows, 0, "none"), [0, 1, 2, 3, 4, 5, 6]);
  const texts = ["conv_10", "conv_9", "add"].map((cell) => [cell]);
  assert.deepEqual(sortedRows(texts, 0, "ascending"), [2, 1, 0]);
});

test("panes tell only what tells them apart", () => {
  assert.deepEqual(ownParts(["demo", "demo"]), ["", ""]);
  assert.deepEqual(ownParts(["demo", "demo · a note"]), ["", "a note"]);
  assert.deepEqual(ownParts(["a · 1", "b · 1"]), ["a · 1", "b · 1"]);
  assert.deepEqual(ownParts(["exported", ""]), ["exported", ""]);
  assert.deepEqual(ownParts(["demo"]), ["demo"]);
});
