// Nodes on a canvas, in scene units.

import { grouped } from "../scene/numbers.js";
import { MISSING, NO_DATA, OTHER } from "./coloring.js";
import { FAR, NEAR } from "./camera.js";
import { metricText } from "./colorings.js";
import { LINE_HEIGHT, linesOf, NAME_FONT, TITLE_FONT } from "./label.js";

// The number in a node's corner that counts its neighbours that are not drawn: `+4,951`, and `−` once some are.


const MORE_CHAR = 6.4;
const MORE_HEIGHT = 14;
const OUT = 4;

/** @param {import("../scene/scene.js").Scene} scene @param {number} node @returns {string} '' where all are drawn */
export function moreTextOf(scene, node) {
  const count = scene.columns.get("node.more")?.[node];
  if (!count) return "";
  const graph = scene.besideOf(node);
  if (!graph) return `+${grouped(count)}`;
  return graph.closed ? `+${grouped(count)} ▸` : `−${grouped(graph.nodes)}`;
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {number} node
 * @returns {{left: number, top: number, width: number, height: number}|null} where it stands, in scene units
 */
export function moreBox(scene, node) {
  const text = moreTextOf(scene, node);
  if (!text) return null;
  const width = text.length * MORE_CHAR + 8;
  const [right, bottom] = [scene.x[node] + scene.width[node] / 2, scene.y[node] + scene.height[node] / 2];
  return { left: right - width + OUT, top: bottom - MORE_HEIGHT / 2, width, height: MORE_HEIGHT };
}

const RADIUS = 4;
const DASH = [4, 3];

/**
 * @typedef {{scene: import("../scene/scene.js").Scene, theme: import("./themes.js").Theme, coloring: import("./coloring.js").Coloring,
 *   style: import("./coloring.js").BucketStyle, labels: import("./label.js").Labels, hatches: Record<string, CanvasPattern|null>,
 *   layers: Record<"border"|"badge"|"label", Layer|null>, stats: any}} Ink
 * @typedef {{coloring: import("./coloring.js").Coloring, style: import("./coloring.js").BucketStyle}} Layer
 *   an overlay beside the one that fills the boxes
 */

/**
 * @param {CanvasRenderingContext2D} context @param {Ink} ink @param {number[]} nodes
 * @param {number} level @param {number} scale
 */
export function paintNodes(context, ink, nodes, level, scale) {
  const { holder } = ink.scene;
  const sorted = byBucket(
    nodes.filter((node) => holder[node] === -1),
    ink.coloring,
  );
  if (level === FAR) return paintFar(context, ink, sorted, scale);
  for (const node of sorted) paintBox(context, ink, node, level, scale);
  paintLayers(context, ink, sorted, scale);
  if (level === NEAR) paintMore(context, ink, sorted);
  if (level === NEAR) for (const node of sorted) paintLabel(context, ink, node);
}

/** @returns {Int32Array} nodes in painting order of their buckets */
function byBucket(nodes, coloring) {
  const rank = rankOf(coloring);
  const at = new Int32Array(coloring.order.length + 1);
  for (const node of nodes) at[rank[coloring.buckets[node]] + 1]++;
  for (let i = 1; i < at.length; i++) at[i] += at[i - 1];
  const out = new Int32Array(nodes.length);
  for (const node of nodes) out[at[rank[coloring.buckets[node]]]++] = node;
  return out;
}

/** @param {import("./coloring.js").Coloring} coloring @returns {Int32Array} when each bucket is painted */
export function rankOf({ order }) {
  const rank = new Int32Array(Math.max(256, order.length + 8));
  order.forEach((bucket, i) => (rank[bucket] = i));
  return rank;
}

/** Boxes without outlines, never thinner than a pixel and a half. */
function paintFar(context, ink, nodes, scale) {
  const { scene, coloring, style, theme } = ink;
  const least = 1.5 / scale;
  let current = -1;
  for (const node of nodes) {
    const bucket = coloring.buckets[node];
    if (bucket !== current) {
      context.fillStyle = bucket === MISSING || bucket === OTHER ? theme.graph.frame : style.fills[bucket];
      current = bucket;
    }
    const [width, height] = [Math.max(scene.width[node], least), Math.max(scene.height[node], least)];
    context.fillRect(scene.x[node] - width / 2, scene.y[node] - height / 2, width, height);
    if (bucket === MISSING && height > 2 * least)
      hollow(context, theme, scene.x[node], scene.y[node], width, height, least);
  }
}

/** What has no number is an empty box from afar. */
function hollow(context, theme, x, y, width, height, by) {
  const fill = context.fillStyle;
  context.fillStyle = theme.graph.missing;
  context.fillRect(x - width / 2 + by / 2, y - height / 2 + by / 2, width - by, height - by);
  context.fillStyle = fill;
}

function paintBox(context, ink, node, level, scale) {
  const { scene, coloring, style, theme } = ink;
  const bucket = coloring.buckets[node];
  const [width, height] = [scene.width[node], scene.height[node]];
  const [left, top] = [scene.x[node] - width / 2, scene.y[node] - height / 2];
  context.fillStyle = style.fills[bucket];
  context.strokeStyle = theme.graph.border;
  context.lineWidth = 1 / Math.max(scale, 0.4);
  const hatch = style.hatches[bucket];
  const rounded = level === NEAR;
  if (rounded) {
    context.beginPath();
    context.roundRect(left, top, width, height, RADIUS);
    context.fill();
  } else context.fillRect(left, top, width, height);
  if (ink.hatches[hatch]) {
    context.fillStyle = ink.hatches[hatch];
    if (rounded) context.fill();
    else context.fillRect(left, top, width, height);
  }
  if (hatch === "dot") context.setLineDash(DASH);
  if (rounded) context.stroke();
  else context.strokeRect(left, top, width, height);
  if (hatch === "dot") context.setLineDash([]);
}

/** The overlays that do not fill the boxes: a thick border, a dot in the lower right corner. */
function paintLayers(context, { scene, layers, theme }, nodes, scale) {
  const { border, badge } = layers;
  for (const node of border || badge ? nodes : []) {
    const [width, height] = [scene.width[node], scene.height[node]];
    const [left, top] = [scene.x[node] - width / 2, scene.y[node] - height / 2];
    if (border && speaks(border.coloring.buckets[node])) {
      context.strokeStyle = border.style.fills[border.coloring.buckets[node]];
      context.lineWidth = Math.min(height / 4, 3.5 / Math.max(scale, 0.5));
      context.strokeRect(left + 1.5, top + 1.5, width - 3, height - 3);
    }
    if (!badge || !speaks(badge.coloring.buckets[node])) continue;
    context.beginPath();
    context.arc(left + width - 1, top + height - 1, 5.5, 0, 2 * Math.PI);
    context.fillStyle = badge.style.fills[badge.coloring.buckets[node]];
    context.fill();
    context.strokeStyle = theme.graph.rank;
    context.lineWidth = 0.8;
    context.stroke();
  }
}

/** How many neighbours of a node are not drawn, where there are any. */
function paintMore(context, { scene, theme }, nodes) {
  const more = scene.columns.get("node.more");
  if (!more?.length) return;
  context.font = NAME_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const node of nodes) {
    if (!more[node]) continue;
    const { left, top, width, height } = moreBox(scene, node);
    context.beginPath();
    context.roundRect(left, top, width, height, height / 2);
    context.fillStyle = theme.chrome.panel;
    context.fill();
    context.strokeStyle = theme.graph.border;
    context.lineWidth = 1;
    context.stroke();
    context.fillStyle = theme.chrome.warn;
    context.fillText(moreTextOf(scene, node), left + width / 2, top + height / 2 + 0.5);
  }
}

function speaks(bucket) {
  return bucket !== NO_DATA && bucket !== OTHER && bucket !== MISSING;
}

function paintLabel(context, ink, node) {
  const { scene, coloring, style, labels, layers } = ink;
  const told = layers.label && speaks(layers.label.coloring.buckets[node]);
  const lines = linesOf(scene, node, told ? metricText(scene, layers.label.coloring, node) : null);
  const bucket = coloring.buckets[node];
  const room = scene.width[node] - 12;
  const left = scene.x[node] - scene.width[node] / 2 + 6;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = style.inks[bucket];
  const plate = Boolean(style.hatches[bucket]);
  const put = (text, font, y) => {
    context.font = font;
    const shown = labels.fit(text, font, room);
    if (plate) underlay(context, style.fills[bucket], left, y, context.measureText(shown).width);
    context.fillStyle = style.inks[bucket];
    context.fillText(shown, left, y);
  };
  const first = scene.y[node] - ((lines.length - 1) * LINE_HEIGHT) / 2;
  for (const [i, text] of lines.entries())
    put(text, i ? NAME_FONT : TITLE_FONT, first + i * LINE_HEIGHT + Math.min(i, 1));
}

function underlay(context, fill, left, y, width) {
  context.fillStyle = fill;
  context.fillRect(left - 2, y - 7, width + 4, 14);
}
