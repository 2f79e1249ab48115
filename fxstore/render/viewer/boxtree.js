// A spatial index: boxes in their given order, packed into groups of sixteen, level by level. Built in linear time,
// without sorting, since drawings list their nodes and edges roughly from top to bottom.

const FAN = 16;

export class BoxTree {
  /** @param {Float32Array} boxes left, top, right, bottom of each */
  constructor(boxes) {
    this.levels = [boxes];
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
    this.some(left, top, right, bottom, (index) => {
      visit(index);
      return false;
    });
  }

  /**
   * @param {number} left @param {number} top @param {number} right @param {number} bottom
   * @param {(index: number) => boolean} test
   * @returns {boolean} whether it holds for any box that touches the given one; no further one is asked then
   */
  some(left, top, right, bottom, test) {
    const levels = this.levels;
    const walk = (depth, from, to) => {
      const boxes = levels[depth];
      const end = Math.min(to, boxes.length / 4);
      for (let i = from; i < end; i++) {
        const at = i * 4;
        if (boxes[at] > right || boxes[at + 2] < left || boxes[at + 1] > bottom || boxes[at + 3] < top) continue;
        if (depth ? walk(depth - 1, i * FAN, (i + 1) * FAN) : test(i)) return true;
      }
      return false;
    };
    return walk(levels.length - 1, 0, FAN);
  }
}

/** @param {Float32Array} boxes @returns {Float32Array} the boxes around each group of sixteen */
function group(boxes) {
  const out = new Float32Array(Math.ceil(boxes.length / 4 / FAN) * 4);
  for (let to = 0, from = 0; to < out.length; to += 4) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const end = Math.min(boxes.length, from + 4 * FAN); from < end; from += 4) {
      if (boxes[from] < left) left = boxes[from];
      if (boxes[from + 1] < top) top = boxes[from + 1];
      if (boxes[from + 2] > right) right = boxes[from + 2];
      if (boxes[from + 3] > bottom) bottom = boxes[from + 3];
    }
    [out[to], out[to + 1], out[to + 2], out[to + 3]] = [left, top, right, bottom];
  }
  return out;
}
