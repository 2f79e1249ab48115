// Graphs that are much taller than wide as columns beside each other, cut at the same heights in all panes.
// No node is cut. An edge that a cut meets goes on at the top of the next column, by way of the space between the two.

const COLUMN_GAP = 24;
/** A graph up to so many times as tall as wide stays one column. */
const MOST_COLUMN_ASPECT = 3;
/** A column may be this part shorter than the others for the sake of a better cut. */
const CUT_SEARCH = 0.1;
/** A piece of a module's box that is lower than its title is left out, unless there is no other. */
const LEAST_PIECE = 18;
/** An edge over a cut that reaches further down is drawn as a stub. */
const FAR_OVER_CUT = 600;

/**
 * @typedef {{top: number, bottom: number}} Span
 * @typedef {{width: number, height: number, boxes: Span[], blocks: Span[], lines: Span[]}} Part a graph of one pane: of
 *   what cannot be cut, of open modules and of edges the upper and lower ends
 */

/** Where a graph is cut, and where its parts go. */
export class Cut {
  /** @param {number[]} cuts height at which each column begins, and the last one ends @param {number} width of each column */
  constructor(cuts, width) {
    this.cuts = cuts;
    this.pitch = width + COLUMN_GAP;
    this.count = cuts.length - 1;
    this.width = this.count * this.pitch - COLUMN_GAP;
    this.height = Math.max(...cuts.slice(1).map((end, i) => end - cuts[i]));
    this.inner = cuts.slice(1, -1);
  }

  /** @param {number} y @returns {number} the column of what stands at that height */
  columnOf(y) {
    return countUpTo(this.inner, y);
  }

  /** @returns {[number, number]} where a point goes */
  at(x, y, column = this.columnOf(y)) {
    return [x + column * this.pitch, y - this.cuts[column]];
  }

  /** @param {[number, number][]} line downwards @returns {[number, number][]} the same through the columns */
  through(line) {
    const out = [];
    for (let i = 1; i < line.length; i++) this.#piece(line[i - 1], line[i], out);
    out.push(this.at(...line.at(-1)));
    return out;
  }

  #piece([x0, y0], [x1, y1], out) {
    const [first, last] = [this.columnOf(y0), this.columnOf(y1)];
    out.push(this.at(x0, y0, first));
    for (let column = first; column < last; column++) {
      const cut = this.cuts[column + 1];
      const x = x0 + ((x1 - x0) * (cut - y0)) / (y1 - y0);
      const [foot, head] = [this.at(x, cut, column), this.at(x, cut, column + 1)];
      const between = head[0] - x - COLUMN_GAP / 2;
      out.push(foot, [between, foot[1]], [between, head[1]], head);
    }
  }

  /** @returns {[number, number, number, number][]} a module's box, cut: left, top, width, height of each piece */
  slices(left, top, width, height) {
    const pieces = [];
    for (let column = 0; column < this.count; column++) {
      const [upper, lower] = [Math.max(top, this.cuts[column]), Math.min(top + height, this.cuts[column + 1])];
      if (lower > upper) pieces.push([...this.at(left, upper, column), width, lower - upper]);
    }
    const most = Math.max(...pieces.map(([, , , tall]) => tall));
    return pieces.filter(([, , , tall]) => tall >= Math.min(LEAST_PIECE, most));
  }
}

/** @param {Span} line @returns {boolean} whether an edge over a cut is drawn as a stub */
export function isFar({ top, bottom }) {
  return bottom - top > FAR_OVER_CUT;
}

/**
 * Cuts run where no node is, of the places near the wanted one where the fewest edges and modules are.
 * @param {Part[]} parts of the panes, brought to equal heights
 * @returns {number[]} the heights at which all are cut; the first is 0, the last the end
 */
export function cutTogether(parts) {
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const height = Math.max(0, ...parts.map((part) => part.height));
  const cuts = [0];
  if (height > MOST_COLUMN_ASPECT * width) {
    const { places, costs } = cutPlaces(parts);
    const share = height / Math.ceil(Math.sqrt(height / (width + COLUMN_GAP * parts.length)));
    while (height - cuts.at(-1) > share * (1 + CUT_SEARCH)) {
      const [low, high] = [1 - CUT_SEARCH, 1 + CUT_SEARCH].map((part) => countBelow(places, cuts.at(-1) + share * part));
      if (low === places.length) break;
      let best = low;
      for (let i = low; i < Math.max(high, low + 1); i++) if (costs[i] < costs[best]) best = i;
      cuts.push(places[best]);
    }
  }
  return [...cuts, height];
}

/** @param {Part[]} parts @returns {{places: number[], costs: number[]}} heights that no box is at, and what is there */
function cutPlaces(parts) {
  const [tops, bottoms] = endsOf(parts.flatMap(({ boxes }) => boxes));
  const places = [];
  for (let i = 0; i + 1 < bottoms.length; i++)
    if (countUpTo(tops, bottoms[i]) === i + 1) places.push((bottoms[i] + tops[i + 1]) / 2);
  const [begins, ends] = endsOf(parts.flatMap(({ blocks, lines }) => [...blocks, ...lines]));
  return { places, costs: places.map((y) => countBelow(begins, y) - countBelow(ends, y)) };
}

/** @param {Span[]} spans @returns {[Float64Array, Float64Array]} their upper and their lower ends, each in order */
function endsOf(spans) {
  return [
    Float64Array.from(spans, ({ top }) => top).sort(),
    Float64Array.from(spans, ({ bottom }) => bottom).sort(),
  ];
}

/** @returns {number} how many of some numbers in order are less */
export function countBelow(values, than) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < than) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @returns {number} how many of some numbers in order are not greater */
function countUpTo(values, than) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= than) low = middle + 1;
    else high = middle;
  }
  return low;
}
