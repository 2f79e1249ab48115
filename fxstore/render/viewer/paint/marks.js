// What lies over the picture: the selection, highlighted and found nodes, the node under the pointer. In the pane's pixels.

import { edgesInto, edgesOutOf } from "../scene/adjacency.js";
import { FAR } from "./camera.js";
import { paintClosed, strokeEdges } from "./graph.js";
import { paintNodes } from "./nodes.js";
import { toScreen, visibleBox } from "./viewport.js";

const LEAST_MARK_PX = 6;
const SMALL_PX = 4;
const MOST_EDGES = 500;
const MOST_REACHED = 4000;
const MAX_BADGE_RANK = 99;
const BADGE_FONT = '700 10px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * @typedef {{selection: import("../scene/selection.js").Selection|null, ranks: Map<number, {rank: number, named: boolean}>,
 *   hits: Uint8Array|null, hover: number, edge: number, reach: {up: Map<number, number>, down: Map<number, number>}|null}} Marks
 *   edge: the selected one, or -1; reach: what the selection depends on and what depends on it
 */

/** @param {import("./nodes.js").Ink} ink @param {import("../scene/scene.js").PaneScene} pane @param {Marks} marks */
export function paintMarks(context, ink, pane, view, size, level, marks) {
  const { theme } = ink;
  if (marks.selection || marks.edge >= 0) veil(context, theme, size);
  if (marks.selection && marks.reach) paintReach(context, ink, pane, view, level, marks.reach);
  if (marks.selection) paintMembers(context, ink, pane, view, level, marks.selection);
  if (marks.edge >= pane.firstEdge && marks.edge < pane.endEdge) paintEdge(context, ink, view, level, marks.edge);
  if (marks.hits) paintHits(context, ink, pane, view, size, marks.hits);
  const ranked = rankedInView(ink.scene, pane, view, size, marks.ranks);
  context.globalAlpha = marks.selection ? 0.4 : 1;
  for (const [node, { named }] of [...ranked].reverse())
    if (view.scale * ink.scene.height[node] >= SMALL_PX)
      ring(context, ink, view, node, theme.graph.rank, named ? 2 : 1, 1);
  context.globalAlpha = 1;
  if (marks.selection) ringMembers(context, ink, pane, view, marks.selection);
  paintBadges(context, ink, view, ranked, marks.selection);
  if (marks.hover >= pane.first && marks.hover < pane.end)
    ring(context, ink, view, marks.hover, theme.graph.hover, 1.5, 1);
}

function veil(context, theme, size) {
  context.globalAlpha = theme.dark ? 0.58 : 0.68;
  context.fillStyle = theme.graph.paper;
  context.fillRect(0, 0, size.width, size.height);
  context.globalAlpha = 1;
}

/** Draws in scene units. */
export function inScene(context, view, draw) {
  context.save();
  context.scale(view.scale, view.scale);
  context.translate(-view.x, -view.y);
  draw();
  context.restore();
}

function paintMembers(context, ink, pane, view, level, selection) {
  const { scene, theme } = ink;
  const { members } = selection.shares[pane.number];
  if (!members.length) return;
  const opened = members.flatMap(({ node }) => openedBeside(scene, node));
  const nodes = [...members.map((member) => member.node), ...opened];
  inScene(context, view, () => {
    context.strokeStyle = theme.graph.select;
    context.lineWidth = 1.5 / view.scale;
    if (level !== FAR) strokeEdges(context, scene, edgesOf(scene, nodes[0]));
    paintNodes(context, ink, nodes, level, view.scale);
    paintHolders(context, ink, pane, view.scale, nodes);
  });
}

/** @returns {number[]} the nodes that were left out beside a node, once they are opened */
function openedBeside(scene, node) {
  const graph = scene.columns.get("node.more")?.[node] ? scene.besideOf(node) : null;
  return graph && !graph.closed ? Array.from({ length: graph.nodes }, (_, i) => graph.first + i) : [];
}

/** The closed modules that hold some nodes. */
function paintHolders(context, ink, pane, scale, nodes) {
  const held = nodes.filter((node) => ink.scene.holder[node] >= 0);
  for (const node of held.slice(0, MOST_EDGES)) {
    const [x, y] = [ink.scene.x[node], ink.scene.y[node]];
    paintClosed(context, ink, pane, { left: x, top: y, right: x, bottom: y }, scale);
  }
}

function paintEdge(context, ink, view, level, edge) {
  const { scene, theme } = ink;
  const ends = [scene.edgeSrc[edge], scene.edgeDst[edge]];
  inScene(context, view, () => {
    context.strokeStyle = theme.graph.select;
    context.lineWidth = 3 / view.scale;
    strokeEdges(context, scene, [edge]);
    paintNodes(context, ink, ends, level, view.scale);
  });
  for (const node of ends) ring(context, ink, view, node, theme.graph.select, 1.5, 2);
}

/** What lies up and down from the selection stays bright, with the edges between. */
function paintReach(context, ink, pane, view, level, { up, down }) {
  const { scene, theme } = ink;
  const here = (node) => node >= pane.first && node < pane.end;
  const nodes = [...up.keys(), ...down.keys()].filter(here).slice(0, MOST_REACHED);
  const edgesWithin = (from, edgesOf, end) =>
    [...from.keys()]
      .filter(here)
      .slice(0, MOST_REACHED)
      .flatMap((node) =>
        [...edgesOf(scene, node)].filter((edge) => from.get(end[edge]) < from.get(node) || !from.has(end[edge])),
      );
  inScene(context, view, () => {
    context.lineWidth = 1.75 / view.scale;
    context.strokeStyle = theme.graph.up;
    strokeEdges(context, scene, edgesWithin(up, edgesOutOf, scene.edgeDst));
    context.strokeStyle = theme.graph.down;
    strokeEdges(context, scene, edgesWithin(down, edgesInto, scene.edgeSrc));
    paintNodes(context, ink, nodes, level, view.scale);
    paintHolders(context, ink, pane, view.scale, nodes);
  });
}

/** @returns {number[]} the edges that begin or end at a node; of a hub not all, so that it moves as smoothly as the rest */
function edgesOf(scene, node) {
  return [...edgesInto(scene, node).subarray(0, MOST_EDGES), ...edgesOutOf(scene, node).subarray(0, MOST_EDGES)];
}

/**
 * Selected: a thick ring and a halo. Holds the value: a thick ring and a filled corner. Other members: a thin dashed ring.
 */
function ringMembers(context, ink, pane, view, selection) {
  const { select, member, paper } = ink.theme.graph;
  for (const { node, primary } of selection.shares[pane.number].members) {
    if (node === selection.node) {
      context.globalAlpha = 0.35;
      ring(context, ink, view, node, select, 4, 5);
      context.globalAlpha = 1;
      ring(context, ink, view, node, select, 3, 2);
    } else if (primary) {
      ring(context, ink, view, node, paper, 6, 2);
      ring(context, ink, view, node, select, 3, 2);
      diamond(context, ink, view, node, select);
    } else if (view.scale * ink.scene.height[node] < SMALL_PX) {
      context.fillStyle = member;
      context.fillRect(...markBox(ink, view, node, 0));
    } else {
      context.setLineDash([4, 3]);
      ring(context, ink, view, node, member, 1.5, 2);
      context.setLineDash([]);
    }
  }
}

/** @returns {[number, number, number, number]} a node's box in pixels, large enough to be seen */
export function markBox({ scene }, view, node, gap) {
  const [x, y] = toScreen(view, scene.x[node], scene.y[node]);
  const width = Math.max(LEAST_MARK_PX, scene.width[node] * view.scale + 2 * gap);
  const height = Math.max(LEAST_MARK_PX, scene.height[node] * view.scale + 2 * gap);
  return [x - width / 2, y - height / 2, width, height];
}

function ring(context, ink, view, node, color, width, gap) {
  context.strokeStyle = color;
  context.lineWidth = width;
  const [left, top, w, h] = markBox(ink, view, node, gap);
  context.beginPath();
  context.roundRect(left, top, w, h, Math.min(5, h / 2));
  context.stroke();
}

function diamond(context, ink, view, node, color) {
  const [left, top, width] = markBox(ink, view, node, 2);
  const [x, y, r] = [left + width, top, 5.5];
  context.fillStyle = color;
  context.strokeStyle = ink.theme.graph.paper;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y - r);
  context.lineTo(x + r, y);
  context.lineTo(x, y + r);
  context.lineTo(x - r, y);
  context.closePath();
  context.stroke();
  context.fill();
}

/** Found nodes, or what is closed around them: a bar beside each, one per few pixels. */
function paintHits(context, { scene, theme }, pane, view, size, hits) {
  const box = visibleBox(view, size);
  const seen = new Set();
  context.fillStyle = theme.graph.hit;
  const mark = (node) => {
    if (!hits[node]) return;
    const [x, y] = toScreen(view, scene.x[node] - scene.width[node] / 2, scene.y[node]);
    const cell = Math.round(x / 3) * 65536 + Math.round(y / 3);
    if (seen.has(cell)) return;
    seen.add(cell);
    const height = Math.max(4, scene.height[node] * view.scale);
    context.fillRect(x - 5, y - height / 2, 4, height);
  };
  pane.nodeTree.query(box.left, box.top, box.right, box.bottom, (i) => mark(pane.first + i));
  if (!pane.closed.size && !pane.closedGraphs.size) return;
  for (let node = pane.first; node < pane.end; node++) if (scene.holder[node] !== -1) mark(node);
}

/** @returns {[number, {rank: number, named: boolean}][]} the highlighted nodes in view, best first */
function rankedInView(scene, pane, view, size, ranks) {
  return [...ranks].filter(([node]) => node >= pane.first && node < pane.end && near(scene, view, size, node));
}

/** Ranks, where there is room, whole as long as their boxes are in view; of two in one place the better one. */
function paintBadges(context, ink, view, ranked, selection) {
  const taken = [];
  const isMember = ([node]) => selection?.members.has(node) ?? true;
  for (const entry of [...ranked.filter(isMember), ...ranked.filter((other) => !isMember(other))]) {
    const [node, { rank, named }] = entry;
    if (rank > MAX_BADGE_RANK || taken.length > MAX_BADGE_RANK) continue;
    context.globalAlpha = isMember(entry) ? 1 : 0.45;
    badge(context, ink, view, node, rank, named, taken);
  }
  context.globalAlpha = 1;
}

function near(scene, view, size, node) {
  const [x, y] = toScreen(view, scene.x[node], scene.y[node]);
  const reach = (scene.width[node] / 2) * view.scale + 20;
  return x > -reach && y > -40 && x < size.width + reach && y < size.height + 40;
}

function badge(context, ink, view, node, rank, named, taken) {
  const [boxLeft, top, boxWidth] = markBox(ink, view, node, 1);
  const text = String(rank);
  const width = text.length * 6.2 + 8;
  const left = boxLeft + boxWidth > 0 ? Math.max(width - 3, boxLeft) : boxLeft;
  if (taken.some(([x, y]) => Math.abs(x - left) < width && Math.abs(y - top) < 14)) return;
  taken.push([left, top]);
  const { rank: color, rankInk } = ink.theme.graph;
  context.beginPath();
  context.roundRect(left - width + 4, top - 8, width, 14, 7);
  context.fillStyle = named ? color : rankInk;
  context.fill();
  context.strokeStyle = named ? rankInk : color;
  context.lineWidth = 1;
  context.stroke();
  context.font = BADGE_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = named ? rankInk : color;
  context.fillText(text, left - width / 2 + 4, top - 0.5);
}

// Groups of nodes that a host frames in a colour of its own, whatever is selected.


const FRAME_PX = 3;
const FRAME_COLOR = "#ff6600";

export class HighlightGroups {
  /** @type {Map<string, {nodeIds: string[], nodes: number[], color: string}>} */
  #groups = new Map();

  /** @param {import("../panes/viewer.js").PaneViewer} pane @param {import("../embed/graphjson.js").GraphModel} model */
  constructor(pane, model) {
    Object.assign(this, { pane, model });
    pane.on("painted", () => this.#paint());
  }

  /** @param {string} id @param {Iterable<string>} ids @param {string|null} color */
  add(id, ids, color) {
    const nodeIds = [...ids].map(String).filter((node) => this.model.place(node) >= 0);
    const nodes = nodeIds.map((node) => this.model.place(node));
    this.#groups.set(id, { nodeIds, nodes, color: color ?? FRAME_COLOR });
    this.pane.redraw();
  }

  /** @param {string} id */
  remove(id) {
    this.#groups.delete(id);
    this.pane.redraw();
  }

  clear() {
    this.#groups.clear();
    this.pane.redraw();
  }

  /** @returns {Map<string, {nodeIds: string[], color: string}>} */
  all() {
    return new Map([...this.#groups].map(([id, { nodeIds, color }]) => [id, { nodeIds: [...nodeIds], color }]));
  }

  #paint() {
    const { context, ink, view } = this.pane;
    for (const { nodes, color } of this.#groups.values()) {
      context.strokeStyle = color;
      context.lineWidth = FRAME_PX;
      for (const node of nodes) context.strokeRect(...markBox(ink, view, node, 2));
    }
  }
}
