// Where the titles of open modules and of nested graphs stand: in their heads, as far to the left as is in view; those of
// modules also where else there is room in their boxes. Never on a node, on a module within, or on one another: from afar
// most have none.

import { frameOf, isTucked, moduleBoxOf, TITLE_HEIGHT } from "../scene/boxes.js";

const HEAD_SIZES = [11, 10, 9, 8, 7];
const CORNER_SIZES = [10, 8];
const FRAME_SIZES = [12, 11, 10, 9, 8, 7];
const LINE = 1.1;
const INSET = { x: 4, y: 1 };
/** What looks smaller than this has no title. */
const LEAST = { width: 36, height: 14 };
/** A name that is cut to less than this, and was longer, is none. */
const LEAST_LETTERS = 6;
const MOST_TITLES = 400;
const TITLE_FAMILY = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * @typedef {import("../scene/boxes.js").Box} Box
 * @typedef {Box & {block: number, text: string, font: string}} Title block: -1 for a graph; font: for a scale of 1; the
 *   box is in scene units
 */

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../scene/scene.js").PaneScene} pane @param {Box} box what is in view
 * @param {number} scale @param {import("./label.js").Labels} labels
 * @returns {Title[]} of graphs, then of modules, outermost first
 */
export function titlesIn(scene, pane, box, scale, labels) {
  const out = graphTitles(pane, box, scale, labels);
  const paths = scene.columns.get("block.path");
  const [lefts, tops, widths, heights] = scene.blocks;
  const isFree = ({ left, top, right, bottom }, block) =>
    !out.some((other) => left < other.right && right > other.left && top < other.bottom && bottom > other.top) &&
    !pane.nodeTree.some(left, top, right, bottom, () => true) &&
    !pane.blockTree.some(left, top, right, bottom, (i) => moduleBoxOf(pane, i).block > block);
  pane.blockTree.query(box.left, box.top, box.right, box.bottom, (i) => {
    const { at, block } = moduleBoxOf(pane, i);
    if (heights[at] * scale < LEAST.height || pane.closed.has(block) || out.length >= MOST_TITLES) return;
    const own = seenAcross(box, lefts[at], tops[at], lefts[at] + widths[at], tops[at] + heights[at]);
    const path = scene.strings[paths[block]] ?? "";
    const title = placesIn(path, own, scale, labels).find((place) => isInView(place, box) && isFree(place, block));
    if (title) out.push({ block, ...title });
  });
  return out;
}

/** @returns {Box} a box without what lies to the left or right of the view */
function seenAcross(view, left, top, right, bottom) {
  return { left: Math.max(left, view.left), top, right: Math.min(right, view.right), bottom };
}

function isInView({ top, bottom }, view) {
  return bottom > view.top && top < view.bottom;
}

/** @returns {Omit<Title, "block">[]} where a title may stand in a module's box, best first */
function placesIn(path, own, scale, labels) {
  const room = Math.floor((own.right - own.left) * scale) - 2 * INSET.x;
  if (room + 2 * INSET.x < LEAST.width) return [];
  const out = [];
  const put = (px, atRight, atBottom) => {
    const font = `${px}px ${TITLE_FAMILY}`;
    const { text, width: wide } = labels.path(path, font, room);
    if (text.length < Math.min(LEAST_LETTERS, path.length - path.lastIndexOf(".") - 1)) return;
    const [width, height] = [wide / scale, (px * LINE) / scale];
    const left = atRight ? own.right - INSET.x / scale - width : own.left + INSET.x / scale;
    const top = atBottom ? own.bottom - INSET.y / scale - height : own.top + INSET.y / scale;
    out.push({ text, font, left, top, right: left + width, bottom: top + height });
  };
  for (const px of HEAD_SIZES) put(px, false, false);
  for (const px of CORNER_SIZES)
    for (const [atRight, atBottom] of [
      [true, false],
      [false, true],
      [true, true],
    ])
      put(px, atRight, atBottom);
  return out.filter(({ top, bottom }) => top > own.top && bottom < own.bottom);
}

/** @returns {Title[]} of the nested graphs in view: as large as their heads allow, smaller where all of it fits in then */
function graphTitles(pane, box, scale, labels) {
  const sizes = FRAME_SIZES.filter((px) => px * LINE < TITLE_HEIGHT * scale);
  const out = [];
  for (const graph of sizes.length ? pane.graphs : []) {
    if (!graph.title || isTucked(graph)) continue;
    const frame = frameOf(graph);
    const { left, top, right } = seenAcross(box, frame.left, frame.top, frame.right, frame.bottom);
    const room = Math.floor((right - left) * scale) - 4 * INSET.x;
    if (room < LEAST.width || !isInView({ top, bottom: top + TITLE_HEIGHT }, box)) continue;
    const given = graph.closed ? `▸ ${graph.title} · ${graph.nodes} nodes` : graph.title;
    const fonts = sizes.map((px) => `600 ${px}px ${TITLE_FAMILY}`);
    const whole = fonts.findIndex((font) => labels.title(given, font, Infinity).width <= room);
    const [px, font] = [sizes.at(whole), fonts.at(whole)];
    const { text, width } = labels.title(given, font, room);
    const [from, middle, half] = [left + (2 * INSET.x) / scale, top + TITLE_HEIGHT / 2, (px * LINE) / 2 / scale];
    out.push({ block: -1, text, font, left: from, top: middle - half, right: from + width / scale, bottom: middle + half });
  }
  return out;
}

/** @param {Title[]} titles @param {number} x @param {number} y @returns {number} the module whose title is there, or -1 */
export function titleUnder(titles, x, y) {
  const found = titles.find(({ left, top, right, bottom }) => x >= left && x <= right && y >= top && y <= bottom);
  return found ? found.block : -1;
}
