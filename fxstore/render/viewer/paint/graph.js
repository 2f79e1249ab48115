// What lies under the nodes: module boxes, frames of nested graphs, edges. In scene units.

import { frameOf, isTucked, moduleBoxOf, TITLE_HEIGHT } from "../scene/boxes.js";
import { FAR } from "./camera.js";
import { modulePath, moduleStats, statsText } from "./colorings.js";
import { shortened, visible } from "../page/dom.js";

const CHUNK = 256;
const STUB = 12;
const FAR_EDGE_PX = 14;
const FAR_MOST_EDGES = 4000;

/** Open module boxes, outermost first, each a little darker than the one around it. */
export function paintBlocks(context, ink, pane, box, scale) {
  const { scene, theme } = ink;
  const [lefts, tops, widths, heights] = scene.blocks;
  const inView = [];
  pane.blockTree.query(box.left, box.top, box.right, box.bottom, (i) => inView.push(moduleBoxOf(pane, i)));
  context.lineWidth = 1 / scale;
  for (const { at, block } of inView) {
    const [left, top, width, height] = [lefts[at], tops[at], widths[at], heights[at]];
    if (height * scale < 3 || pane.closed.has(block)) continue;
    context.globalAlpha = theme.dark ? 0.07 : 0.05;
    context.fillStyle = theme.graph.block;
    context.fillRect(left, top, width, height);
    context.globalAlpha = 0.3;
    context.strokeStyle = theme.graph.block;
    context.strokeRect(left, top, width, height);
    context.globalAlpha = 1;
  }
}

/** In scene units, over the edges that pass under them. @param {import("./titles.js").Title[]} titles */
export function paintTitles(context, { theme }, titles, scale) {
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const { block, text, font, left, top, right, bottom } of titles) {
    if (block >= 0) {
      context.globalAlpha = 0.75;
      context.fillStyle = theme.graph.paper;
      context.fillRect(left, top, right - left, bottom - top);
      context.globalAlpha = 1;
    }
    context.fillStyle = theme.graph.label;
    context.font = font.replace(/[\d.]+px/, (px) => `${parseFloat(px) / scale}px`);
    context.fillText(text, left, (top + bottom) / 2);
  }
}

/**
 * Titled frames, and a dashed line from each calling node to the graph that it calls, which passes under other frames.
 */
export function paintFrames(context, ink, pane, scale) {
  const { scene, theme } = ink;
  context.lineWidth = 1.25 / scale;
  context.strokeStyle = theme.graph.frame;
  const titled = pane.graphs.filter((graph) => graph.title && !isTucked(graph));
  for (const graph of titled) if (graph.parent >= 0) callLine(context, scene, graph, frameOf(graph), scale);
  for (const graph of titled) paintFrame(context, theme, graph);
}

function paintFrame(context, theme, graph) {
  const { left, top, right, bottom } = frameOf(graph);
  context.fillStyle = theme.graph.paper;
  context.fillRect(left, top, right - left, bottom - top);
  context.globalAlpha = 0.12;
  context.fillStyle = theme.graph.block;
  context.fillRect(left, top, right - left, TITLE_HEIGHT);
  context.globalAlpha = 1;
  context.strokeRect(left, top, right - left, bottom - top);
}

function callLine(context, scene, graph, frame, scale) {
  const [x, y] = [scene.x[graph.parent], scene.y[graph.parent]];
  const [right, bottom] = [x + scene.width[graph.parent] / 2, y + scene.height[graph.parent] / 2];
  context.setLineDash([5 / scale, 4 / scale]);
  context.beginPath();
  if (frame.left >= right) {
    context.moveTo(right, y);
    context.lineTo(frame.left, Math.min(Math.max(y, frame.top + TITLE_HEIGHT / 2), frame.bottom));
  } else {
    context.moveTo(x, bottom);
    context.lineTo(Math.min(Math.max(x, frame.left + TITLE_HEIGHT), frame.right), frame.top);
  }
  context.stroke();
  context.setLineDash([]);
}

/** Edges that touch the box; from far away only those long enough to be seen. */
export function paintEdges(context, ink, pane, box, level, scale) {
  const { scene, theme } = ink;
  const least = level === FAR ? FAR_EDGE_PX / scale : 0;
  const forward = [];
  const back = [];
  const stubs = [];
  const feedback = scene.columns.get("edge.feedback");
  const boxes = pane.edgeTree.levels[0];
  pane.edgeTree.query(box.left, box.top, box.right, box.bottom, (i) => {
    if (least && boxes[i * 4 + 3] - boxes[i * 4 + 1] < least && boxes[i * 4 + 2] - boxes[i * 4] < least) return;
    const edge = pane.firstEdge + i;
    (feedback[edge] ? back : scene.stub[edge] ? stubs : forward).push(edge);
  });
  context.lineWidth = level === FAR ? 0.75 / scale : 1 / Math.max(scale, 0.15);
  context.strokeStyle = theme.graph.edge;
  strokeEdges(context, scene, level === FAR ? thinned(forward) : forward);
  if (level !== FAR) strokeStubs(context, scene, stubs);
  context.strokeStyle = theme.graph.feedback;
  strokeEdges(context, scene, level === FAR ? thinned(back) : back);
}

/** From afar a tangle of thousands of lines looks the same with every n-th of them. @param {number[]} edges */
function thinned(edges) {
  const step = Math.ceil(edges.length / FAR_MOST_EDGES);
  return step > 1 ? edges.filter((_, i) => i % step === 0) : edges;
}

/** Both ends of edges from hubs and masks; selecting either node shows the whole. @param {number[]} edges */
function strokeStubs(context, scene, edges) {
  const { cornerStart, cornerX, cornerY } = scene;
  context.beginPath();
  for (const edge of edges) {
    if (scene.isHidden(edge)) continue;
    const [first, last] = [cornerStart[edge], cornerStart[edge + 1] - 1];
    context.moveTo(cornerX[first], cornerY[first]);
    context.lineTo(cornerX[first], cornerY[first] + STUB);
    context.moveTo(cornerX[last] - STUB / 3, cornerY[last] - STUB);
    context.lineTo(cornerX[last] + STUB / 3, cornerY[last] - STUB);
    context.moveTo(cornerX[last], cornerY[last] - STUB);
    context.lineTo(cornerX[last], cornerY[last]);
  }
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {import("../scene/scene.js").Scene} scene @param {number[]} edges */
export function strokeEdges(context, scene, edges) {
  const { cornerStart, cornerX, cornerY } = scene;
  for (let from = 0; from < edges.length; from += CHUNK) {
    context.beginPath();
    for (const edge of edges.slice(from, from + CHUNK)) {
      if (scene.isHidden(edge)) continue;
      let at = cornerStart[edge];
      const end = cornerStart[edge + 1];
      if (at < end) context.moveTo(cornerX[at], cornerY[at]);
      for (at++; at < end; at++) context.lineTo(cornerX[at], cornerY[at]);
    }
    context.stroke();
  }
}

// Closed modules: one box each, with what its nodes are together. In scene units.


const CLOSED_FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const CLOSED_TITLE = `600 12px ${CLOSED_FONT}`;
const CLOSED_SIDE = 7;
const CLOSED_SIGN = 13;
const TWO_LINES_PX = 16;
const ONE_LINE_PX = 8;
const NAME_PART = 0.85;

/** @param {import("./nodes.js").Ink} ink @param {import("../scene/scene.js").PaneScene} pane */
export function paintClosed(context, ink, pane, box, scale) {
  if (!pane.closed.size) return;
  const { scene, theme } = ink;
  const [lefts, tops, widths, heights] = scene.blocks;
  const stats = statsOf(ink, pane);
  pane.blockTree.query(box.left, box.top, box.right, box.bottom, (i) => {
    const { at: b, block } = moduleBoxOf(pane, i);
    if (b !== block || pane.around[i] !== b) return;
    const [left, top, width, height] = [lefts[b], tops[b], widths[b], heights[b]];
    context.fillStyle = theme.graph.paper;
    context.fillRect(left, top, width, height);
    context.globalAlpha = theme.dark ? 0.28 : 0.16;
    context.fillStyle = theme.graph.block;
    context.fillRect(left, top, width, height);
    context.globalAlpha = 1;
    const { worst } = stats[i];
    if (worst >= 0) {
      context.fillStyle = ink.style.fills[ink.coloring.buckets[worst]];
      context.fillRect(left, top, scale * height < 8 ? width : CLOSED_SIDE, height);
    }
    context.strokeStyle = theme.graph.block;
    context.lineWidth = 1 / Math.max(scale, 0.4);
    context.strokeRect(left, top, width, height);
    if (scale * height >= TWO_LINES_PX) label(context, ink, pane, b, stats[i]);
    else if (scale * height >= ONE_LINE_PX) closedName(context, ink, b, scale);
  });
}

/** @param {import("./nodes.js").Ink} ink @param {import("../scene/scene.js").PaneScene} pane */
export function statsOf(ink, pane) {
  if (ink.stats?.coloring !== ink.coloring)
    ink.stats = { coloring: ink.coloring, blocks: moduleStats(ink.scene, pane, ink.coloring) };
  return ink.stats.blocks;
}

/** From afar the name alone, as large as the box allows. */
function closedName(context, { scene, theme, labels }, block, scale) {
  const [left, top, width, height] = scene.blocks.map((column) => column[block]);
  const px = Math.floor(height * scale * NAME_PART);
  const room = Math.floor((width - CLOSED_SIDE) * scale) - 4;
  const { text } = labels.path(modulePath(scene, block), `600 ${px}px ${CLOSED_FONT}`, room);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = theme.graph.rank;
  context.font = `600 ${px / scale}px ${CLOSED_FONT}`;
  context.fillText(text, left + CLOSED_SIDE + 2 / scale, top + height / 2);
}

function label(context, { scene, theme, coloring, labels }, pane, block, stats) {
  const [left, top, width, height] = scene.blocks.map((column) => column[block]);
  const room = width - CLOSED_SIDE - 14;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = theme.graph.rank;
  context.font = CLOSED_TITLE;
  const { text } = labels.path(modulePath(scene, block), CLOSED_TITLE, room - CLOSED_SIGN);
  context.fillText(`▸ ${text}`, left + CLOSED_SIDE + 6, top + height / 2 - 7);
  context.fillStyle = theme.graph.label;
  context.font = `10.5px ${CLOSED_FONT}`;
  const told = shortened(visible(statsText(scene, stats, coloring)), Math.max(2, Math.floor(room / 5.6)));
  context.fillText(told, left + CLOSED_SIDE + 6, top + height / 2 + 8);
}
