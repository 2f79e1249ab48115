// Answers each line, a page's payload, which of its modules are closed, which panes are in view and at what scale, with
// where everything then stands.

import { createInterface } from "node:readline";
import { fittedPath } from "../../fxstore/render/viewer/paint/label.js";
import { decode } from "../../fxstore/render/viewer/scene/payload.js";
import { Scene } from "../../fxstore/render/viewer/scene/scene.js";
import { titlesIn } from "../../fxstore/render/viewer/paint/titles.js";

const LABELS = {
  path(path, font, room) {
    const measure = (text) => text.length * parseInt(font) * 0.6;
    const text = fittedPath(path, room, measure);
    return { text, width: measure(text) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { payload, closed, panes, scale = 1 } = JSON.parse(line);
  const bytes = Uint8Array.from(Buffer.from(payload, "base64"));
  const scene = new Scene(decode(bytes.buffer));
  scene.foldAll(
    scene.panes.map((pane, i) => {
      const { first } = scene.hierarchy(pane);
      return { pane, closed: new Set((closed[i] ?? []).map((block) => first + block)) };
    }),
  );
  if (panes) scene.arrange(scene.inColumns, panes);
  console.log(JSON.stringify(scene.panes.map((pane) => shown(scene, pane, scale))));
}

/** What a pane shows; blocks and nodes by their numbers within it. */
function shown(scene, pane, scale) {
  const first = pane.graphs[0].firstBlock;
  const count = pane.graphs.reduce((sum, graph) => sum + graph.blocks, 0);
  const box = (at) => scene.blocks.map((column) => column[at]);
  const places = [...Array(count).keys()].map((i) => ({ at: first + i, block: first + i }));
  const pieces = [...places, ...pane.slices]
    .filter(({ block }) => !pane.around || pane.around[block - first] < 0 || pane.around[block - first] === block)
    .map(({ at, block }) => ({
      block: block - first,
      path: scene.strings[scene.columns.get("block.path")[block]],
      box: box(at),
      closed: pane.closed.has(block),
    }));
  const edges = [];
  for (let edge = pane.firstEdge; edge < pane.endEdge; edge++) {
    const line = [];
    for (let i = scene.cornerStart[edge]; i < scene.cornerStart[edge + 1]; i++)
      line.push([scene.cornerX[i], scene.cornerY[i]]);
    edges.push({ line, stub: Boolean(scene.stub[edge]), hidden: scene.isHidden(edge) });
  }
  const part = (values) => [...values.slice(pane.first, pane.end)];
  return {
    x: part(scene.x),
    y: part(scene.y),
    holder: part(scene.holder).map((block) => (block < 0 ? block : block - first)),
    edges,
    pieces,
    titles: titlesIn(scene, pane, pane.extent, scale, LABELS).map(({ block, ...title }) => ({
      ...title,
      path: scene.strings[scene.columns.get("block.path")[block]],
    })),
    width: pane.extent.right,
    height: pane.extent.bottom,
  };
}
