// Where the titles of open modules stand: in their heads, or where else there is room in their boxes. Never on a node, on
// a module within, or on one another: from afar most have none.

import { moduleBoxOf } from "./boxes.js";

const HEAD_SIZES = [11, 10, 9, 8, 7];
const CORNER_SIZES = [10, 8];
const LINE = 1.1;
const INSET = { x: 4, y: 1 };
/** A module that looks smaller than this has no title. */
const LEAST = { width: 36, height: 14 };
const LEAST_LETTERS = 3;
const MOST_TITLES = 400;
const TITLE_FAMILY = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * @typedef {{block: number, text: string, font: string, left: number, top: number, right: number, bottom: number}} Title
 *   font: for a scale of 1; the box is in scene units
 */

/**
 * @param {import("./scene.js").Scene} scene @param {import("./scene.js").PaneScene} pane
 * @param {import("./place.js").Box} box the part that is drawn
 * @param {number} scale @param {number} most pixels that a title may be wide
 * @param {import("./label.js").Labels} labels
 * @returns {Title[]} outermost modules first
 */
export function titlesIn(scene, pane, box, scale, most, labels) {
  const paths = scene.columns.get("block.path");
  const [lefts, tops, widths, heights] = scene.blocks;
  /** @type {Title[]} */
  const out = [];
  const isFree = ({ left, top, right, bottom }, block) =>
    !out.some((other) => left < other.right && right > other.left && top < other.bottom && bottom > other.top) &&
    !pane.nodeTree.some(left, top, right, bottom, () => true) &&
    !pane.blockTree.some(left, top, right, bottom, (i) => moduleBoxOf(pane, i).block > block);
  pane.blockTree.query(box.left, box.top, box.right, box.bottom, (i) => {
    const { at, block } = moduleBoxOf(pane, i);
    const [width, height] = [widths[at] * scale, heights[at] * scale];
    if (width < LEAST.width || height < LEAST.height || pane.closed.has(block) || out.length >= MOST_TITLES) return;
    const path = scene.strings[paths[block]] ?? "";
    const own = { left: lefts[at], top: tops[at], right: lefts[at] + widths[at], bottom: tops[at] + heights[at] };
    const room = Math.floor(Math.min(width, most) - 2 * INSET.x);
    const title = placesIn(path, own, scale, room, labels).find((place) => isFree(place, block));
    if (title) out.push({ block, ...title });
  });
  return out;
}

/** @returns {Omit<Title, "block">[]} where a title may stand in a module's box, best first */
function placesIn(path, own, scale, room, labels) {
  const out = [];
  const put = (px, atRight, atBottom) => {
    const font = `${px}px ${TITLE_FAMILY}`;
    const { text, width: wide } = labels.path(path, font, room);
    if (text.length < Math.min(LEAST_LETTERS, path.length)) return;
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

/** @param {Title[]} titles @param {number} x @param {number} y @returns {number} the module whose title is there, or -1 */
export function titleUnder(titles, x, y) {
  const found = titles.find(({ left, top, right, bottom }) => x >= left && x <= right && y >= top && y <= bottom);
  return found ? found.block : -1;
}
