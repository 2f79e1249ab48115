// Several panes that stand together: folded and arranged at once, fitted at one scale, one following another.

import { counterpartsOf } from "../scene/selection.js";
import { fitted, toScene, toScreen } from "../paint/viewport.js";
import { Emitter } from "../page/dom.js";
import { sameNumbers } from "../scene/scene.js";

// Panes that follow one another's pan and zoom: the counterpart of what is in the middle stays where it is.


const MOST_TRIED = 60;

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../scene/scene.js").PaneScene} pane
 * @param {import("../paint/viewport.js").View} view @param {import("../paint/viewport.js").Size} size
 * @returns {number[]} nodes nearest to the pane's middle, nearest first
 */
export function nearestToMiddle(scene, pane, view, size) {
  const [x, y] = toScene(view, size.width / 2, size.height / 2);
  const [halfX, halfY] = [size.width / 2 / view.scale, size.height / 2 / view.scale];
  const found = [];
  pane.nodeTree.query(x - halfX, y - halfY, x + halfX, y + halfY, (i) => found.push(pane.first + i));
  const away = (node) => Math.abs(scene.y[node] - y) + Math.abs(scene.x[node] - x) / 8;
  return found.sort((a, b) => away(a) - away(b)).slice(0, MOST_TRIED);
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {number[]} anchors of the pane that was moved, best first
 * @param {import("../scene/scene.js").PaneScene} pane that follows
 * @returns {{from: number, to: number}|null} an anchor and its counterpart there
 */
export function anchorIn(scene, anchors, pane) {
  for (const from of anchors) {
    const to = counterpartsOf(scene, from).find((node) => node >= pane.first && node < pane.end);
    if (to !== undefined) return { from, to };
  }
  return null;
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {{from: number, to: number}} anchor
 * @param {import("../paint/viewport.js").View} view of the pane that was moved
 * @param {import("../paint/viewport.js").Size} size of it @param {import("../paint/viewport.js").Size} other of the one that follows
 * @returns {import("../paint/viewport.js").View} the same scale, and the counterpart as far from the middle
 */
export function followed(scene, { from, to }, view, size, other) {
  const [px, py] = toScreen(view, scene.x[from], scene.y[from]);
  const [x, y] = [px - size.width / 2 + other.width / 2, py - size.height / 2 + other.height / 2];
  return { x: scene.x[to] - x / view.scale, y: scene.y[to] - y / view.scale, scale: view.scale };
}

// Panes fitted together: where it costs little, at one scale and from one height on, so that counterparts look level.


/** How many times smaller than by itself a pane may be drawn for that. */
const MOST_SHRUNK = 1.5;

/**
 * @typedef {{extent: import("../scene/boxes.js").Box, size: import("../paint/viewport.js").Size}} Part what a pane shows, and its room
 * @typedef {{frame: import("../scene/boxes.js").Box, room: import("../paint/viewport.js").Size}} Framed
 *   frame: as large as the largest drawing of those fitted together, around the pane's own; room: of the smallest pane
 */

/** @param {Part[]} parts @returns {Framed[]} */
export function framed(parts) {
  const own = parts.map(({ extent, size }) => fitted(extent, size).scale);
  const out = [];
  let group = [];
  const close = () => {
    const most = (side) => Math.max(...group.map((i) => side(parts[i])));
    const width = most(({ extent }) => extent.right - extent.left);
    const height = most(({ extent }) => extent.bottom - extent.top);
    const room = { width: -most(({ size }) => -size.width), height: -most(({ size }) => -size.height) };
    for (const i of group) {
      const { left, right, top } = parts[i].extent;
      const middle = (left + right) / 2;
      out[i] = { frame: { left: middle - width / 2, right: middle + width / 2, top, bottom: top + height }, room };
    }
  };
  for (const i of parts.map((_, i) => i).sort((a, b) => own[a] - own[b])) {
    if (group.length && own[i] > MOST_SHRUNK * own[group[0]]) {
      close();
      group = [];
    }
    group.push(i);
  }
  if (group.length) close();
  return out;
}

/**
 * @param {Framed} framed @param {import("../paint/viewport.js").Size} size of the pane
 * @returns {import("../paint/viewport.js").View} the frame, whole, and centred as in the smallest pane
 */
export function inFrame({ frame, room }, size) {
  const { x, y, scale } = fitted(frame, room);
  return { x: x - (size.width - room.width) / 2 / scale, y, scale };
}

export class PaneGroup extends Emitter {
  /** @param {import("../scene/scene.js").Scene} scene @param {import("./viewer.js").PaneViewer[]} viewers one per pane */
  constructor(scene, viewers) {
    super();
    this.scene = scene;
    this.viewers = viewers;
    this.following = false;
    this.depth = Infinity;
    /** @type {() => number[]} the panes in view */
    this.shown = () => scene.panes.map(({ number }) => number);
    for (const [number, viewer] of viewers.entries()) {
      viewer.openingBox = (size) => this.#openingBox(number, size);
      viewer.on("moved", () => this.following && this.follow(number));
    }
  }

  /** @param {number} pane @param {Set<number>} closed blocks @param {Set<number>} [closedGraphs] */
  fold(pane, closed, closedGraphs) {
    this.#rearrange(() => this.scene.fold(this.scene.panes[pane], closed, closedGraphs));
    this.emit("foldchange", { pane });
  }

  /** Closes all modules of a depth, in every pane. @param {number} depth 0 for the outermost; Infinity opens all */
  foldTo(depth) {
    const folds = this.scene.panes.map((pane) => {
      const hierarchy = this.scene.hierarchy(pane);
      const closed = new Set();
      hierarchy.depth.forEach((own, i) => own === depth && closed.add(hierarchy.first + i));
      return { pane, closed };
    });
    this.#rearrange(() => this.scene.foldAll(folds));
    this.depth = depth;
    for (const { pane } of folds) this.emit("foldchange", { pane: pane.number });
  }

  /** Puts graphs that are much taller than wide into columns, or back into one. @param {boolean} on */
  setInColumns(on) {
    if (on === this.scene.inColumns) return;
    this.#rearrange(() => this.scene.arrange(on, this.shown()));
    if (!this.selection) this.zoomToFit();
    this.emit("arrangechange", { inColumns: on });
  }

  /** Lets the panes that have come into view, and those that are left, decide how all stand. */
  showPanes() {
    const { inColumns, shown } = this.scene;
    if (sameNumbers(shown, this.shown())) return;
    this.#rearrange(() => this.scene.arrange(inColumns, this.shown()));
    if (inColumns && !this.selection) this.zoomToFit();
  }

  /** Changes where nodes stand; what is in the middle of the panes stays there. @param {() => void} change */
  #rearrange(change) {
    const { scene } = this;
    const anchors = this.#anchors();
    const before = this.viewers.map((viewer, i) => {
      const held = viewer.view ? this.#heldIn(viewer, anchors) : undefined;
      return { held, x: scene.x[held], y: scene.y[held], tree: scene.panes[i].nodeTree };
    });
    change();
    for (const [i, { held, x, y, tree }] of before.entries()) {
      const viewer = this.viewers[i];
      if (scene.panes[i].nodeTree === tree) continue;
      viewer.relayout();
      if (held === undefined) continue;
      const { view } = viewer;
      viewer.setView({ x: view.x + scene.x[held] - x, y: view.y + scene.y[held] - y, scale: view.scale });
    }
  }

  /** @returns {number[]} what is looked at: the selection, or else what is in the middle of the first pane in view */
  #anchors() {
    if (this.selection) return [this.selection.node];
    const first = this.shown().find((pane) => this.viewers[pane].view);
    if (first === undefined) return [];
    const { view, size, pane } = this.viewers[first];
    return nearestToMiddle(this.scene, pane, view, size);
  }

  /** @returns {number|undefined} what stays in its place: what an anchor has there, so that panes stay level, or the middle */
  #heldIn(viewer, anchors) {
    const { pane, view, size } = viewer;
    const to = anchorIn(this.scene, anchors, pane)?.to;
    return to !== undefined && viewer.inView(to) ? to : nearestToMiddle(this.scene, pane, view, size)[0];
  }

  /** @returns {number} of the deepest module on the page, and one more */
  get depths() {
    return Math.max(
      0,
      ...this.scene.panes.flatMap((pane) => [...this.scene.hierarchy(pane).depth].map((own) => own + 1)),
    );
  }

  /** Moves all other panes as one was moved. @param {number} pane */
  follow(pane) {
    const source = this.viewers[pane];
    const anchors = nearestToMiddle(this.scene, this.scene.panes[pane], source.view, source.size);
    for (const [number, viewer] of this.viewers.entries()) {
      if (number === pane || !viewer.view) continue;
      const anchor = anchorIn(this.scene, anchors, this.scene.panes[number]);
      if (anchor) viewer.setView(followed(this.scene, anchor, source.view, source.size, viewer.size));
    }
  }

  /** @returns {import("../scene/boxes.js").Box} what a pane opens with, were all panes in view of one size */
  #openingBox(pane, size) {
    const shown = this.shown();
    const all = shown.includes(pane) ? shown : [pane];
    return framed(all.map((number) => ({ extent: this.scene.panes[number].extent, size })))[all.indexOf(pane)].frame;
  }

  zoomToFit() {
    const shown = this.shown().map((pane) => this.viewers[pane]).filter((viewer) => viewer.view);
    for (const viewer of shown) viewer.measure();
    const all = framed(shown.map(({ pane, size }) => ({ extent: pane.extent, size })));
    for (const [i, viewer] of shown.entries()) viewer.goTo(inFrame(all[i], viewer.size));
  }
}
