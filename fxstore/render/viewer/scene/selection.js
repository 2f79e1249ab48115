// What a click on a node lights up: its sync set, pane by pane.

/**
 * @typedef {{node: number, primary: boolean}} Member
 * @typedef {{pane: number, members: Member[], lead: number, reason: string|null}} PaneShare
 *   `lead` is the node that stands for the pane: the selected one, else the one that holds the value, else any; -1 for none
 * @typedef {{node: number, members: Map<number, boolean>, shares: PaneShare[]}} Selection members: node to "holds the value"
 */

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {Selection} */
export function selectionOf(scene, node) {
  const members = new Map([[node, false]]);
  for (const member of setOf(scene, node)) members.set(member.node, member.primary);
  const shares = scene.panes.map((pane) => share(scene, pane, node, members));
  return { node, members, shares };
}

/** @param {import("./scene.js").Scene} scene @param {number} node @returns {Member[]} what a click on it lights up */
function setOf(scene, node) {
  if (scene.sync) return scene.sync.membersOf(node);
  const set = scene.columns.get("node.focus")[node];
  return set >= 0 ? scene.membersOf(set) : [];
}

function share(scene, pane, node, all) {
  const members = [];
  for (const [member, primary] of all) {
    if (member >= pane.first && member < pane.end) members.push({ node: member, primary });
  }
  members.sort(
    (a, b) =>
      Number(b.node === node) - Number(a.node === node) || Number(b.primary) - Number(a.primary) || a.node - b.node,
  );
  const lead = members.length ? members[0].node : -1;
  return { pane: pane.number, members, lead, reason: lead < 0 ? scene.text("unmatched", node) : null };
}

/**
 * The primary counterparts of each node, as marked when it is highlighted.
 * @param {import("./scene.js").Scene} scene @param {number} node @returns {number[]}
 */
export function counterpartsOf(scene, node) {
  return setOf(scene, node)
    .filter((member) => member.primary && member.node !== node)
    .map((member) => member.node);
}

/**
 * Ranks of the highlighted nodes: 1 is the best. Named nodes first, then what corresponds to them.
 * @param {import("./scene.js").Scene} scene
 * @returns {Map<number, {rank: number, named: boolean}>}
 */
export function ranksOf(scene) {
  const ranks = new Map();
  for (const [row, nodes] of answerNodes(scene).entries()) {
    for (const node of nodes) if (!ranks.has(node)) ranks.set(node, { rank: row + 1, named: true });
  }
  const highlighted = [...scene.columns.get("highlight")];
  for (const [i, node] of highlighted.entries()) if (!ranks.has(node)) ranks.set(node, { rank: i + 1, named: true });
  for (const [node, { rank }] of [...ranks]) {
    for (const other of counterpartsOf(scene, node)) if (!ranks.has(other)) ranks.set(other, { rank, named: false });
  }
  return ranks;
}

/**
 * @param {import("./scene.js").Scene} scene
 * @returns {number[][]} the nodes on the page that each row of the answer names
 */
export function answerNodes(scene) {
  if (!scene.header.answer) return [];
  const nodes = scene.columns.get("answer.node");
  const out = [];
  let at = 0;
  for (const size of scene.columns.get("answer.size")) out.push([...nodes.subarray(at, (at += size))]);
  return out;
}

/**
 * @param {number[][]} rows
 * @param {number} current row, -1 for none
 * @param {1|-1} step
 * @returns {number} the next row that names a node, or -1
 */
export function nextRow(rows, current, step) {
  const count = rows.length;
  let row = current < 0 && step < 0 ? count : current;
  for (let tried = 0; tried < count; tried++) {
    row = (row + step + count) % count;
    if (rows[row].length) return row;
  }
  return -1;
}

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
