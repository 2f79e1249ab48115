// The minimap's arithmetic: a whole graph in a narrow strip, stretched to fill it.

/** @typedef {{sx: number, sy: number, left: number, top: number}} Stretch strip pixels per scene unit, and its origin */

/** @param {import("./place.js").Box} extent @param {import("./viewport.js").Size} size @returns {Stretch} */
export function stretchOf(extent, size) {
  const [width, height] = [Math.max(1, extent.right - extent.left), Math.max(1, extent.bottom - extent.top)];
  const even = Math.min(size.width / width, size.height / height);
  const sx = Math.min(size.width / width, Math.max(even, 0.25));
  const sy = Math.min(size.height / height, Math.max(even, 0.25));
  return { sx, sy, left: extent.left - (size.width / sx - width) / 2, top: extent.top };
}

/** @param {Stretch} stretch @param {import("./place.js").Box} box @returns {[number, number, number, number]} */
export function inStrip({ sx, sy, left, top }, box) {
  return [(box.left - left) * sx, (box.top - top) * sy, (box.right - box.left) * sx, (box.bottom - box.top) * sy];
}

/**
 * The view's frame, at least a few pixels high and never outside the strip.
 * @param {Stretch} stretch @param {import("./place.js").Box} box @param {import("./viewport.js").Size} size
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
