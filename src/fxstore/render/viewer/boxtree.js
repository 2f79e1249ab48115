// A spatial index: boxes in their given order, packed into groups of sixteen, level by level. Built in linear time,
// without sorting, since drawings list their nodes and edges roughly from top to bottom.

const FAN = 16;

export class BoxTree {
  /**
   * @param {number} count
   * @param {(index: number, out: Float32Array, at: number) => void} write puts left, top, right, bottom at `at`
   */
  constructor(count, write) {
    /** @type {Float32Array[]} */
    this.levels = [new Float32Array(count * 4)];
    this.count = count;
    for (let i = 0; i < count; i++) write(i, this.levels[0], i * 4);
    while (this.levels.at(-1).length > 4 * FAN) this.levels.push(group(this.levels.at(-1)));
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} right
   * @param {number} bottom
   * @param {(index: number) => void} visit
   */
  query(left, top, right, bottom, visit) {
    const levels = this.levels;
    const walk = (depth, from, to) => {
      const boxes = levels[depth];
      const end = Math.min(to, boxes.length / 4);
      for (let i = from; i < end; i++) {
        const at = i * 4;
        if (boxes[at] > right || boxes[at + 2] < left || boxes[at + 1] > bottom || boxes[at + 3] < top) continue;
        if (depth) walk(depth - 1, i * FAN, (i + 1) * FAN);
        else visit(i);
      }
    };
    walk(levels.length - 1, 0, FAN);
  }
}

/** @param {Float32Array} boxes @returns {Float32Array} the boxes around each group of sixteen */
function group(boxes) {
  const count = Math.ceil(boxes.length / 4 / FAN);
  const out = new Float32Array(count * 4);
  for (let i = 0; i < count; i++) out.set([Infinity, Infinity, -Infinity, -Infinity], i * 4);
  for (let at = 0; at < boxes.length; at += 4) {
    const to = Math.floor(at / 4 / FAN) * 4;
    out[to] = Math.min(out[to], boxes[at]);
    out[to + 1] = Math.min(out[to + 1], boxes[at + 1]);
    out[to + 2] = Math.max(out[to + 2], boxes[at + 2]);
    out[to + 3] = Math.max(out[to + 3], boxes[at + 3]);
  }
  return out;
}
