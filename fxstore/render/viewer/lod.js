// How much of a node is drawn at a scale.

export const FAR = 0;
export const MIDDLE = 1;
export const NEAR = 2;

const OUTLINE_PX = 4;
const TEXT_PX = 13;

/**
 * @param {number} scale
 * @param {number} height of a typical node, at scale 1
 * @returns {0|1|2} far: filled boxes and module blocks; middle: edges too; near: text
 */
export function levelOf(scale, height) {
  const px = scale * height;
  return px < OUTLINE_PX ? FAR : px < TEXT_PX ? MIDDLE : NEAR;
}

/**
 * @param {ArrayLike<number>} heights
 * @param {number} from
 * @param {number} to
 * @returns {number} a typical (median of up to 101) height, 1 where there is no node
 */
export function typicalHeight(heights, from, to) {
  const step = Math.max(1, Math.floor((to - from) / 101));
  const sample = [];
  for (let i = from; i < to; i += step) sample.push(heights[i]);
  sample.sort((a, b) => a - b);
  return sample[sample.length >> 1] ?? 1;
}
