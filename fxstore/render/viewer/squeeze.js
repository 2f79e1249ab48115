// Takes empty height out of a drawing: a map of y that only ever brings things closer and keeps their order.

/** @typedef {{from: number, to: number}} Span */

/** @param {Span[]} spans @returns {Span[]} sorted, those that touch joined */
export function joined(spans) {
  const out = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else if (to > from) out.push({ from, to });
  }
  return out;
}

/** @param {Span[]} spans joined @param {Span[]} taken joined @returns {Span[]} what is in `spans` and not in `taken` */
export function without(spans, taken) {
  const out = [];
  let at = 0;
  for (const { from, to } of spans) {
    let begin = from;
    while (at < taken.length && taken[at].to <= begin) at++;
    for (let i = at; i < taken.length && taken[i].from < to; i++) {
      if (taken[i].from > begin) out.push({ from: begin, to: taken[i].from });
      begin = Math.max(begin, taken[i].to);
    }
    if (begin < to) out.push({ from: begin, to });
  }
  return out;
}

/** @param {Span[]} removed joined @returns {(y: number) => number} where a y comes to stand once these are gone */
export function squeezed(removed) {
  const before = new Float64Array(removed.length + 1);
  for (const [i, { from, to }] of removed.entries()) before[i + 1] = before[i] + (to - from);
  return (y) => {
    let [low, high] = [0, removed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (removed[middle].from < y) low = middle + 1;
      else high = middle;
    }
    if (!low) return y;
    const { from, to } = removed[low - 1];
    return y < to ? from - before[low - 1] : y - before[low];
  };
}
