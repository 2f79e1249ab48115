// Panes fitted together: where it costs little, at one scale and from one height on, so that counterparts look level.

import { fitted } from "./viewport.js";

/** How many times smaller than by itself a pane may be drawn for that. */
const MOST_SHRUNK = 1.5;

/**
 * @typedef {{extent: import("./place.js").Box, size: import("./viewport.js").Size}} Part what a pane shows, and its room
 * @typedef {{frame: import("./place.js").Box, room: import("./viewport.js").Size}} Framed
 *   frame: as large as the largest drawing of those fitted together, around the pane's own; room: of the smallest pane
 */

/** @param {Part[]} parts @returns {Framed[]} */
export function framed(parts) {
  const own = parts.map(({ extent, size }) => fitted(extent, size).scale);
  const out = [];
  let group = [];
  const close = () => {
    const most = (side) => Math.max(...group.map((i) => side(parts[i])));
    const width = most(({ extent }) => extent.right - extent.left);
    const height = most(({ extent }) => extent.bottom - extent.top);
    const room = { width: -most(({ size }) => -size.width), height: -most(({ size }) => -size.height) };
    for (const i of group) {
      const { left, right, top } = parts[i].extent;
      const middle = (left + right) / 2;
      out[i] = { frame: { left: middle - width / 2, right: middle + width / 2, top, bottom: top + height }, room };
    }
  };
  for (const i of parts.map((_, i) => i).sort((a, b) => own[a] - own[b])) {
    if (group.length && own[i] > MOST_SHRUNK * own[group[0]]) {
      close();
      group = [];
    }
    group.push(i);
  }
  if (group.length) close();
  return out;
}

/**
 * @param {Framed} framed @param {import("./viewport.js").Size} size of the pane
 * @returns {import("./viewport.js").View} the frame, whole, and centred as in the smallest pane
 */
export function inFrame({ frame, room }, size) {
  const { x, y, scale } = fitted(frame, room);
  return { x: x - (size.width - room.width) / 2 / scale, y, scale };
}
