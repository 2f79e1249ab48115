// Finds a substring in many texts at once: all of them lie in one, so that one native search goes through all.

export class TextIndex {
  /** @param {string[]} texts */
  constructor(texts) {
    this.count = texts.length;
    const lowered = texts.map((text) => text.toLowerCase().replaceAll("\n", " "));
    this.starts = new Int32Array(texts.length + 1);
    for (let i = 0; i < lowered.length; i++) this.starts[i + 1] = this.starts[i] + lowered[i].length + 1;
    this.all = lowered.join("\n");
  }

  /** @param {string} needle @returns {Uint8Array} 1 for each text that holds it, whatever its case */
  find(needle) {
    const out = new Uint8Array(this.count);
    const wanted = needle.toLowerCase().replaceAll("\n", " ");
    if (!wanted) return out.fill(1);
    const { all, starts } = this;
    let text = 0;
    for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, starts[text + 1])) {
      text = this.#textAt(at, text);
      out[text] = 1;
    }
    return out;
  }

  #textAt(at, from) {
    let [low, high, step] = [from, from + 1, 1];
    while (high < this.count && this.starts[high] <= at) {
      low = high;
      step *= 2;
      high = Math.min(this.count, high + step);
    }
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= at) low = middle;
      else high = middle;
    }
    return low;
  }
}
