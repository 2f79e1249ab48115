import assert from "node:assert/strict";
import { test } from "node:test";
import { adjacencyOf, reached } from "../../fxstore/render/viewer/scene/adjacency.js";
import {
  Colorings,
  histogramOf,
  nodeAlong,
  profileOf,
} from "../../fxstore/render/viewer/paint/colorings.js";
import {
  FIRST_STEP,
  NAN,
  OTHER,
  categoryColoring,
  metricColoring,
} from "../../fxstore/render/viewer/paint/coloring.js";
import { domainOf, positionIn, valueAt } from "../../fxstore/render/viewer/paint/scales.js";
import { csvOf, rowFilter } from "../../fxstore/render/viewer/panels/answer.js";
import { edgeFacts, outputOf } from "../../fxstore/render/viewer/scene/edges.js";
import { hashOf, linkedNode, linkIn } from "../../fxstore/render/viewer/page/deeplink.js";
import { betweenQuery, rangeOf } from "../../fxstore/render/viewer/panels/legend.js";
import { metricDiff, stageDiff } from "../../fxstore/render/viewer/scene/diff.js";
import { frameIn, stretchOf } from "../../fxstore/render/viewer/paint/viewport.js";
import { scatterOf } from "../../fxstore/render/viewer/panels/scatter.js";
import { SearchIndex, termsOf, TextIndex } from "../../fxstore/render/viewer/scene/search.js";
import { SvgContext, svgOf } from "../../fxstore/render/viewer/paint/picture.js";
import { Trail } from "../../fxstore/render/viewer/scene/selection.js";
import { makeScene } from "./fixture.mjs";

test("edges are found by their ends", () => {
  const { inStart, inEdge, outStart, outEdge } = adjacencyOf([0, 0, 1, 0], [1, 2, 2, 2], 3);
  assert.deepEqual([...inStart], [0, 0, 1, 4]);
  assert.deepEqual([...inEdge], [0, 1, 2, 3]);
  assert.deepEqual([...outEdge.subarray(outStart[0], outStart[1])], [0, 1, 3]);
});

test("reach goes hop by hop, up or down, and never comes back", () => {
  const [edgeSrc, edgeDst] = [
    [0, 1, 2, 3],
    [1, 2, 3, 1],
  ];
  const scene = { edgeSrc, edgeDst, adjacency: adjacencyOf(edgeSrc, edgeDst, 5) };
  assert.deepEqual([...reached(scene, [1], 1, "down")], [[2, 1]]);
  assert.deepEqual(
    [...reached(scene, [1], Infinity, "down")],
    [
      [2, 1],
      [3, 2],
    ],
  );
  assert.deepEqual([...reached(scene, [1], 1, "up").keys()].sort(), [0, 3]);
  assert.equal(reached(scene, [4], Infinity, "up").size, 0);
  assert.equal(reached(scene, [1], 0, "up").size, 0);
});

test("a trail goes back and forward and forgets what lay ahead", () => {
  const trail = new Trail();
  assert.equal(trail.go(-1), -1);
  for (const node of [5, 6, 6, 7]) trail.visit(node);
  assert.equal(trail.go(-1), 6);
  assert.equal(trail.go(-1), 5);
  assert.equal(trail.can(-1), false);
  assert.equal(trail.go(1), 6);
  trail.visit(9);
  assert.equal(trail.can(1), false);
  assert.equal(trail.go(-1), 6);
});

test("many texts are searched at once, whatever their case and line breaks", () => {
  const texts = ["Conv", "", "a\nconv\nconv", "relu", "CO", "nv"];
  const index = new TextIndex(texts);
  for (const needle of ["conv", "", "o", "v", "a\nc", "zzz", "nv", "r"])
    assert.deepEqual(
      [...index.find(needle)],
      texts.map((text) => Number(text.toLowerCase().includes(needle))),
      needle,
    );
});

test("words, fields, comparisons, states, quotes and negations are told apart", () => {
  const kinds = (query) => termsOf(query, ["cosine", "p90 ms"]).map(({ kind, not }) => (not ? `not ${kind}` : kind));
  assert.deepEqual(kinds('conv op:relu cosine<0.9 cosine:nan -view "a b" "p90 ms>3"'), [
    "text",
    "field",
    "number",
    "state",
    "not text",
    "text",
    "number",
  ]);
  assert.deepEqual(kinds("mse<0.9 aten::conv foo:bar cosine<abc <3 -"), Array(6).fill("text"));
  const [term] = termsOf("Cosine<=1e-3ms", ["cosine"]);
  assert.deepEqual([term.metric, term.op, term.value, term.unit], ["cosine", "<=", 0.001, "ms"]);
});

test("search compares numbers, and tells what is broken from what is missing", () => {
  const scene = makeScene();
  const index = new SearchIndex(scene, new Colorings(scene));
  const found = (query) => index.find(query).nodes;
  assert.deepEqual(found("cosine<0.9"), [0]);
  assert.deepEqual(found("cosine>=0.5"), [0, 1, 3]);
  assert.deepEqual(found("cosine:nan"), [2]);
  assert.deepEqual(found("cosine:missing"), [4]);
  assert.deepEqual(found("cosine:none"), [5]);
  assert.deepEqual(found("stage:edge"), [4, 5]);
  assert.deepEqual(found("graph:inner"), [5]);
  assert.deepEqual(found("name:conv -stage:float"), [2, 4]);
  assert.deepEqual(found("conv op:conv2d"), []);
  assert.deepEqual(index.find("relu").counts, [1, 1, 0]);
});

test("the profile has the worst node of each part, and the nearest measured one is found", () => {
  const scene = makeScene();
  const coloring = metricColoring(scene, 0);
  const [, second] = scene.panes;
  assert.deepEqual(
    profileOf({ first: 0, end: 6 }, coloring, 3).map((bin) => bin && [bin.node, bin.broken]),
    [[0, false], [2, true], null],
  );
  assert.equal(nodeAlong(second, 0.99, coloring), 3);
  assert.equal(nodeAlong(scene.panes[2], 0.5, coloring), -1);
});

test("a histogram counts every finite value once, also on a narrowed scale", () => {
  const coloring = metricColoring(makeScene(), 0, null, -1, true);
  const bins = histogramOf(coloring);
  assert.deepEqual(
    bins.flatMap(({ count }, i) => (count ? [i, count] : [])),
    [0, 1, bins.length - 1, 1],
    "the best at one end, the worst at the other",
  );
  assert.deepEqual([bins.at(-1).from, bins[0].to], [0.5, 1]);
  assert.equal(betweenQuery("cosine", { from: 0.5, to: 1, withFrom: true, withTo: true }), "cosine>=0.5 cosine<=1");
  const open = { from: 0, to: 1, withFrom: false, withTo: false };
  assert.equal(betweenQuery("p90 ms", open), '"p90 ms>0" "p90 ms<1"');
});

test("a bin of the histogram finds as many nodes as it counts, also beyond the ends of the scale", () => {
  const scene = makeScene();
  for (const better of ["higher", "lower", null]) {
    scene.header.colors[0].better = better;
    for (const range of [null, { min: 0.6, max: 0.9 }]) {
      const colorings = new Colorings(scene);
      colorings.setRange(0, range);
      const index = new SearchIndex(scene, colorings);
      for (const bin of histogramOf(colorings.at(0)))
        if (bin.count) assert.equal(index.find(betweenQuery("cosine", bin)).nodes.length, bin.count);
    }
  }
});

test("the ends of a scale can be changed, and only to a range", () => {
  const own = { min: 0, max: 1 };
  assert.deepEqual(rangeOf("0.5", "", own), { min: 0.5, max: 1 });
  assert.equal(rangeOf("", "", own), null);
  for (const [least, most] of [
    ["1", "0"],
    ["x", ""],
    ["", "Infinity"],
  ])
    assert.equal(rangeOf(least, most, own), undefined);
  const scene = makeScene();
  const narrow = metricColoring(scene, 0, { min: 0.9, max: 1 });
  assert.equal(narrow.buckets[0], Math.max(...narrow.buckets), "what lies outside is at the end");
  const relative = metricColoring(scene, 0, null, -1, true);
  assert.deepEqual(narrow.own, relative.domain);
  assert.notDeepEqual(metricColoring(scene, 0).domain, relative.domain);
});

test("categories have colours, rare ones share one, stages without any are set apart", () => {
  const scene = makeScene({ colors: [{ name: "map", metric: "backend", unit: null, better: null, categories: true }] });
  scene.columns.set("color0.text", Int32Array.from([0, 1, -1, 0, -1, -1]));
  const coloring = categoryColoring(scene, 0);
  assert.deepEqual(coloring.categories, ["conv", "relu"]);
  assert.deepEqual([coloring.buckets[4], coloring.buckets[5]], [OTHER, OTHER]);
  assert.notEqual(coloring.buckets[0], coloring.buckets[1]);
});

test("an edge says what it carries and with what it is compared", () => {
  const scene = makeScene();
  scene.strings.push('{"outputs": [["float32", ["1", "s0"]], ["int64", ["4"]]]}', "identity", "name");
  const at = scene.strings.length - 3;
  scene.columns.get("node.attrs")[2] = at;
  scene.columns.set("value.size", Int32Array.from([2]));
  scene.columns.set("value.node", Int32Array.from([0, 2]));
  scene.columns.set("value.port", Int32Array.from([0, 1]));
  scene.columns.set("value.evidence", Int32Array.from([at + 1, at + 2]));
  assert.deepEqual(outputOf(scene, 2, 1), { dtype: "int64", shape: "[4]" });
  const facts = edgeFacts(scene, 1);
  assert.deepEqual([facts.source, facts.target, facts.port, facts.uses, facts.dtype], [2, 3, 1, 1, "int64"]);
  assert.deepEqual(facts.others, [{ node: 0, port: 0, evidence: "name", pane: 0 }]);
  assert.deepEqual(edgeFacts(scene, 0).others.length, 0 + 1, "and the other way round");
});

test("rows become CSV that no spreadsheet runs", () => {
  const rows = [
    ['a "b", c', { number: "NaN" }, null],
    ["=HYPERLINK(1)", -1.5, true],
    ["x\ny", 2, "-2"],
  ];
  assert.equal(
    csvOf(["name", "value", "flag"], rows),
    'name,value,flag\r\n"a ""b"", c",NaN,\r\n\'=HYPERLINK(1),-1.5,true\r\n"x\ny",2,\'-2\r\n',
  );
});

test("rows are filtered by words, columns and numbers", () => {
  const answer = {
    columns: ["name", "value"],
    rows: [
      ["conv", 0.5],
      ["relu", { number: "NaN" }],
      ["conv_1", null],
      ["x", 2],
    ],
  };
  const kept = (text) => [0, 1, 2, 3].filter(rowFilter(answer, text));
  assert.deepEqual(kept(""), [0, 1, 2, 3]);
  assert.deepEqual(kept("conv"), [0, 2]);
  assert.deepEqual(kept("value<1"), [0]);
  assert.deepEqual(kept("name:conv value<1"), [0]);
  assert.deepEqual(kept("nan"), [1]);
  assert.deepEqual(kept("other<1"), []);
});

test("a link names run, stage and node, and still finds a node by name", () => {
  const scene = makeScene();
  assert.equal(linkedNode(scene, linkIn("#run=ab&stage=quantized&node=201&name=x")), 3);
  assert.equal(linkedNode(scene, linkIn("#stage=quantized&node=999&name=relu_q")), 3);
  assert.equal(linkedNode(scene, linkIn("#stage=quantized&node=conv_q")), 2);
  assert.equal(linkedNode(scene, linkIn("#stage=float&node=conv_q")), -1);
  const app = {
    scene,
    compare: { selection: { node: 3 }, color: 0, colorings: new Colorings(scene) },
    panes: { shown: () => [1, 0] },
    search: { input: { value: " cosine<1 " } },
  };
  const link = linkIn(hashOf(app));
  assert.deepEqual([link.node, link.stage, link.search, link.panes], [201, "quantized", "cosine<1", ["1", "0"]]);
});

test("scatter joins finite numbers of counterparts", () => {
  const scene = makeScene();
  const coloring = metricColoring(scene, 0);
  assert.deepEqual(
    scatterOf(scene, coloring, 0, 1).map(({ from, to }) => [from, to]),
    [
      [0, 3],
      [1, 3],
    ].filter(([from, to]) => Number.isFinite(coloring.values[from]) && Number.isFinite(coloring.values[to])),
  );
});

test("the minimap's frame stays within the strip and never vanishes", () => {
  const extent = { left: 0, top: 0, right: 500, bottom: 100_000 };
  const size = { width: 30, height: 400 };
  const stretch = stretchOf(extent, size);
  const [left, top, width, height] = frameIn(stretch, { left: -900, top: 99_990, right: 900, bottom: 99_999 }, size);
  assert.ok(left >= 0 && top >= 0 && left + width <= 30 && top + height <= 400 && height >= 3);
});

test("SVG keeps what is drawn and makes no markup of text", () => {
  const context = new SvgContext(100, 50, { measureText: () => ({ width: 10 }) });
  context.scale(2, 2);
  context.translate(1, 0);
  context.fillStyle = "#ff0000";
  context.fillRect(0, 0, 10, 5);
  context.fillText('<script>"&\u0000', 1, 2);
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(5, 5);
  context.stroke();
  const svg = svgOf([context], [{ x: 0, y: 0 }], 100, 50);
  assert.match(svg, /<rect x="0" y="0" width="10" height="5" transform="matrix\(2 0 0 2 2 0\)" fill="#ff0000"\/>/);
  assert.match(svg, /&lt;script&gt;&quot;&amp;\ufffd<\/text>/);
  assert.match(svg, /<path d="M0 0L5 5"/);
  assert.doesNotMatch(svg, /<script/);
});

test("what changed between two panes is told by counterparts, and found by category", () => {
  const scene = makeScene();
  const colorings = new Colorings(scene);
  const index = colorings.add(stageDiff(scene, 0, 1));
  const coloring = colorings.at(index);
  const told = [...coloring.texts].map((text) => (text < 0 ? null : scene.strings[text]));
  assert.deepEqual(told, ["changed", "renamed", "renamed", "renamed", null, null]);
  assert.equal(colorings.names[index], "change · float → quantized");
  assert.equal(colorings.add(stageDiff(scene, 0, 1)), index, "the same again is not offered twice");
  const search = new SearchIndex(scene, colorings);
  assert.deepEqual(search.find("change:renamed").nodes, [1, 2, 3]);
  assert.deepEqual(search.find("-change:renamed stage:float").nodes, [0]);
  const lone = colorings.at(colorings.add(stageDiff(scene, 1, 2)));
  assert.ok(lone.categories.includes("added") && lone.categories.includes("removed"));
});

test("how a metric differs is told at both nodes, around zero, and only where both have a number", () => {
  const scene = makeScene();
  scene.columns.set("color0.status", Int32Array.from([0, 0, 0, 1, 4, 5]));
  scene.columns.set("color0.value", Float64Array.from([0.5, 1, 0.9]));
  const metric = metricColoring(scene, 0);
  const diff = metricDiff(scene, metric, 0, 1);
  assert.equal(diff.metric, "Δcosine");
  const pairs = [...diff.values].flatMap((value, node) => (Number.isFinite(value) ? [[node, value]] : []));
  assert.ok(pairs.every(([, value]) => Math.abs(value - 0.4) < 1e-12));
  assert.deepEqual(
    pairs.map(([node]) => node),
    [0, 2],
  );
  assert.equal(diff.buckets[3], NAN, "NaN less a number is NaN");
  assert.equal(diff.domain.min, -diff.domain.max);
  assert.equal(diff.buckets[2], FIRST_STEP, "a higher cosine is the good end");
});

test("a metric with both signs has zero in the middle of its scale, also of a narrowed one", () => {
  const domain = domainOf(Float64Array.from([-3, 1]), null);
  assert.deepEqual([positionIn(-3, domain), positionIn(0, domain), positionIn(1, domain)], [0, 0.5, 1]);
  for (const part of [0, 0.2, 0.5, 0.9, 1])
    assert.ok(Math.abs(positionIn(valueAt(part, domain), domain) - part) < 1e-12);
  assert.equal(domainOf(Float64Array.from([-3, 1]), "higher").diverging, undefined, "good and bad have another scale");
  const scene = makeScene({ colors: [{ name: "run", metric: "bias", unit: null, better: null }] });
  scene.columns.set("color0.value", Float64Array.from([-3, 1]));
  assert.equal(metricColoring(scene, 0, { min: -1, max: 1 }).domain.diverging, true);
  assert.equal(metricColoring(scene, 0, { min: 0.5, max: 1 }).domain.diverging, false);
});
