// Boxes packed so that all of them together can be shown large in a pane, which is usually tall and narrow.

const GAP = 56;
/** By how much the next width to try is wider. */
const STEP = 1.15;
/** A pane as it usually is: a sixth of a screen. Its shape is what counts. */
const PANE = { width: 240, height: 600 };
/** How much of the best scale may be given for standing near the caller. */
const WORTH = 0.9;

/**
 * @typedef {{width: number, height: number, wanted: number}} Part wanted: the y at which it would best stand
 * @typedef {{x: number, y: number}} Point
 * @typedef {{width: number, height: number, at: Point[]}} Arrangement at: the top left corner of each part
 */

/**
 * Of arrangements of several widths those that fit about as large as the best, and of those the one whose parts stand
 * nearest to where they want to be.
 * @param {Part[]} parts in order
 * @param {{width: number, height: number}|null} head what stands in the top left corner already
 * @returns {Arrangement}
 */
export function arranged(parts, head) {
  const boxes = head ? [head, ...parts] : parts;
  if (!parts.length) return { width: head?.width ?? 0, height: head?.height ?? 0, at: [] };
  const widest = boxes.reduce((sum, box) => sum + box.width + GAP, 0);
  const tried = [];
  let best = 0;
  for (let most = Math.max(1, ...boxes.map((box) => box.width)); most < widest * STEP; most *= STEP) {
    for (const near of [true, false]) tried.push(packed(parts, head, most, near));
    best = Math.max(best, ...tried.slice(-2).map(scaleOf));
    if (PANE.width / most < WORTH * best) break;
  }
  const good = tried.filter((one) => scaleOf(one) >= WORTH * best);
  const drifts = good.map((one) => driftOf(one, parts, head?.width ?? 0));
  return good[drifts.indexOf(Math.min(...drifts))];
}

function scaleOf({ width, height }) {
  return Math.min(1, PANE.width / Math.max(1, width), PANE.height / Math.max(1, height));
}

function driftOf({ at }, parts, right) {
  return at.reduce((sum, { x, y }, i) => sum + Math.abs(y - parts[i].wanted) + Math.max(0, x - right - GAP), 0);
}

/**
 * One part after the other, each where it stands highest, or `near` where it wants to be, within `most` pixels of width.
 */
function packed(parts, head, most, near) {
  const line = [{ left: 0, bottom: 0 }];
  const out = { width: head?.width ?? 0, height: head?.height ?? 0, at: [] };
  if (head) raise(line, 0, head.width + GAP, head.height + GAP / 2);
  for (const { width, height, wanted } of parts) {
    let best = null;
    for (const { left: x } of line) {
      if (x && x + width > most) continue;
      const free = lowest(line, x, x + width + GAP / 2);
      const y = near ? Math.max(free, wanted) : free;
      if (!best || y < best.y) best = { x, y };
    }
    raise(line, best.x, best.x + width + GAP, best.y + height + GAP / 2);
    out.at.push(best);
    out.width = Math.max(out.width, best.x + width);
    out.height = Math.max(out.height, best.y + height);
  }
  return out;
}

/** @returns {number} the lowest bottom of the skyline between two x: steps from left to right, the last one without end */
function lowest(line, from, to) {
  let out = 0;
  for (const [i, { left, bottom }] of line.entries())
    if (left < to && (line[i + 1]?.left ?? Infinity) > from) out = Math.max(out, bottom);
  return out;
}

/** Sets the skyline between two x. */
function raise(line, from, to, bottom) {
  const after = line.findLast(({ left }) => left <= to).bottom;
  const kept = line.filter(({ left }) => left < from || left > to);
  kept.push({ left: from, bottom }, { left: to, bottom: after });
  line.splice(0, line.length, ...kept.sort((a, b) => a.left - b.left));
}
