// Several panes that stand together: folded and arranged at once, fitted at one scale, one following another.

import { Emitter } from "./emitter.js";
import { anchorIn, followed, nearestToMiddle } from "./follow.js";
import { framed, inFrame } from "./framing.js";
import { sameNumbers } from "./scene.js";

export class PaneGroup extends Emitter {
  /** @param {import("./scene.js").Scene} scene @param {import("./viewer.js").PaneViewer[]} viewers one per pane */
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

  /** @returns {import("./place.js").Box} what a pane opens with, were all panes in view of one size */
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
