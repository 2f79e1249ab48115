// The selections that were made, to go back and forward through.

const MOST_KEPT = 200;

export class Trail {
  constructor() {
    /** @type {number[]} */
    this.nodes = [];
    this.at = -1;
  }

  /** Notes a selection; what lay ahead is forgotten. @param {number} node */
  visit(node) {
    if (this.nodes[this.at] === node) return;
    this.nodes = [...this.nodes.slice(0, this.at + 1), node].slice(-MOST_KEPT);
    this.at = this.nodes.length - 1;
  }

  /** @param {1|-1} step @returns {boolean} */
  can(step) {
    return this.nodes[this.at + step] !== undefined;
  }

  /** @param {1|-1} step @returns {number} the node there, or -1 */
  go(step) {
    if (!this.can(step)) return -1;
    this.at += step;
    return this.nodes[this.at];
  }
}
