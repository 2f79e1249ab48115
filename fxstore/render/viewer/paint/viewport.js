// The part of a scene that a pane shows: the scene point at its top left corner, and pixels per scene unit.

export const MIN_SCALE = 0.0005;
export const MAX_SCALE = 4;

/**
 * @typedef {{x: number, y: number, scale: number}} View
 * @typedef {{width: number, height: number}} Size
 * @typedef {import("../scene/boxes.js").Box} Box
 */

/** @param {number} scale */
function clamped(scale) {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
}

/** @param {View} view @param {number} x @param {number} y @returns {[number, number]} pixels within the pane */
export function toScreen(view, x, y) {
  return [(x - view.x) * view.scale, (y - view.y) * view.scale];
}

/** @param {View} view @param {number} px @param {number} py @returns {[number, number]} the scene point there */
export function toScene(view, px, py) {
  return [view.x + px / view.scale, view.y + py / view.scale];
}

/** @param {View} view @param {number} dx @param {number} dy pixels that the picture moves by @returns {View} */
export function panned(view, dx, dy) {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
}

/**
 * @param {View} view
 * @param {number} px
 * @param {number} py the point that stays
 * @param {number} factor
 * @returns {View}
 */
export function zoomed(view, px, py, factor) {
  const [x, y] = toScene(view, px, py);
  const scale = clamped(view.scale * factor);
  return { x: x - px / scale, y: y - py / scale, scale };
}

/**
 * @param {Box} box
 * @param {Size} size
 * @param {number} [margin] pixels
 * @param {number} [max]
 * @returns {View} the box, whole and centred
 */
export function fitted(box, size, margin = 16, max = 1) {
  const [width, height] = [Math.max(1, box.right - box.left), Math.max(1, box.bottom - box.top)];
  const room = (extent) => Math.max(1, extent - 2 * margin);
  const scale = clamped(Math.min(max, room(size.width) / width, room(size.height) / height));
  return centred((box.left + box.right) / 2, (box.top + box.bottom) / 2, scale, size);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} scale
 * @param {Size} size
 * @returns {View} that point in the middle
 */
export function centred(x, y, scale, size) {
  return { x: x - size.width / 2 / scale, y: y - size.height / 2 / scale, scale };
}

/** @param {View} view @param {Size} size @returns {Box} the part of the scene in view */
export function visibleBox(view, size) {
  return {
    left: view.x,
    top: view.y,
    right: view.x + size.width / view.scale,
    bottom: view.y + size.height / view.scale,
  };
}

/**
 * @param {View} view @param {Size} size @param {Box} extent of all that there is @param {number} least pixels
 * @returns {View} the nearest one in which so much of it is still in view
 */
export function notBeyond(view, size, extent, least) {
  const kept = (at, room, from, to) => {
    const part = Math.min(least, room, (to - from) * view.scale) / view.scale;
    return Math.min(to - part, Math.max(from + part - room / view.scale, at));
  };
  return {
    x: kept(view.x, size.width, extent.left, extent.right),
    y: kept(view.y, size.height, extent.top, extent.bottom),
    scale: view.scale,
  };
}

/** @param {Box} outer @param {Box} inner */
export function contains(outer, inner) {
  return (
    inner.left >= outer.left && inner.top >= outer.top && inner.right <= outer.right && inner.bottom <= outer.bottom
  );
}

/** @param {Box} a @param {Box} b @returns {Box} */
export function intersected(a, b) {
  return {
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  };
}

/** @param {Box} box @param {number} by @returns {Box} */
export function grown(box, by) {
  return { left: box.left - by, top: box.top - by, right: box.right + by, bottom: box.bottom + by };
}

/**
 * The view on the way from one to another: the middle moves evenly, the scale by equal factors.
 * @param {View} from @param {View} to @param {number} part 0 to 1 @param {Size} size @returns {View}
 */
export function between(from, to, part, size) {
  if (part >= 1) return to;
  const eased = part * part * (3 - 2 * part);
  const scale = from.scale * (to.scale / from.scale) ** eased;
  const middle = (view, extent, axis) => view[axis] + extent / 2 / view.scale;
  const mix = (axis, extent) => middle(from, extent, axis) * (1 - eased) + middle(to, extent, axis) * eased;
  return centred(mix("x", size.width), mix("y", size.height), scale, size);
}

/**
 * The view in which a pane opens: the whole graph where its boxes stay visible, else its top at a legible scale.
 * @param {Box} box @param {Size} size @returns {View}
 */
export function opening(box, size, least = 0.12) {
  const whole = fitted(box, size);
  if (whole.scale >= least) return whole;
  const scale = Math.max(least, Math.min(0.6, (size.width - 24) / Math.max(1, box.right - box.left)));
  const view = centred((box.left + box.right) / 2, box.top, scale, size);
  return { ...view, y: box.top - 12 / scale };
}

// The minimap's arithmetic: a whole graph in a narrow strip, stretched to fill it.

/** @typedef {{sx: number, sy: number, left: number, top: number}} Stretch strip pixels per scene unit, and its origin */

/** @param {import("../scene/boxes.js").Box} extent @param {import("./viewport.js").Size} size @returns {Stretch} */
export function stretchOf(extent, size) {
  const [width, height] = [Math.max(1, extent.right - extent.left), Math.max(1, extent.bottom - extent.top)];
  const even = Math.min(size.width / width, size.height / height);
  const sx = Math.min(size.width / width, Math.max(even, 0.25));
  const sy = Math.min(size.height / height, Math.max(even, 0.25));
  return { sx, sy, left: extent.left - (size.width / sx - width) / 2, top: extent.top };
}

/** @param {Stretch} stretch @param {import("../scene/boxes.js").Box} box @returns {[number, number, number, number]} */
export function inStrip({ sx, sy, left, top }, box) {
  return [(box.left - left) * sx, (box.top - top) * sy, (box.right - box.left) * sx, (box.bottom - box.top) * sy];
}

/**
 * The view's frame, at least a few pixels high and never outside the strip.
 * @param {Stretch} stretch @param {import("../scene/boxes.js").Box} box @param {import("./viewport.js").Size} size
 * @returns {[number, number, number, number]}
 */
export function frameIn(stretch, box, size) {
  const [x, y, width, height] = inStrip(stretch, box);
  const clamp = (from, extent, most) => {
    const start = Math.max(0.5, Math.min(most - 4, from));
    return [start, Math.max(3, Math.min(most - 0.5, from + extent) - start)];
  };
  const [left, w] = clamp(x, width, size.width);
  const [top, h] = clamp(y, height, size.height);
  return [left, top, w, h];
}
