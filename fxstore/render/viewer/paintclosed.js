// Closed modules: one box each, with what its nodes are together. In scene units.

import { moduleBoxOf } from "./boxes.js";
import { modulePath, moduleStats, statsText } from "./modules.js";
import { shortened, visible } from "./visible.js";

const CLOSED_FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const CLOSED_TITLE = `600 12px ${CLOSED_FONT}`;
const CLOSED_SIDE = 7;
const CLOSED_SIGN = 13;
const TWO_LINES_PX = 16;
const ONE_LINE_PX = 8;
const NAME_PART = 0.85;

/** @param {import("./paintnodes.js").Ink} ink @param {import("./scene.js").PaneScene} pane */
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

/** @param {import("./paintnodes.js").Ink} ink @param {import("./scene.js").PaneScene} pane */
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
