// Where a pane looks, and how it gets there.

import { Emitter } from "./emitter.js";
import { NEAR, levelOf, typicalHeight } from "./lod.js";
import { boxAround } from "./picture.js";
import { between, centred, fitted, notBeyond, opening, panned, toScreen, zoomed } from "./viewport.js";

const MOVE_MS = 220;
const EDGE_PX = 40;
const LEGIBLE = 0.42;

export class PaneCamera extends Emitter {
  /** @param {import("./scene.js").Scene} scene @param {number} pane @param {Window} window */
  constructor(scene, pane, window) {
    super();
    this.scene = scene;
    this.pane = scene.panes[pane];
    this.window = window;
    this.height = typicalHeight(scene.height, this.pane.first, this.pane.end);
    this.size = { width: 0, height: 0 };
    this.view = null;
    /** @type {(size: import("./viewport.js").Size) => import("./place.js").Box} what it opens with, at that size */
    this.openingBox = () => this.pane.extent;
  }

  /** Draws what is in view, soon. */
  redraw() {}

  /** Takes the size that there is now. */
  measure() {}

  /** Whatever the pointer was on is no longer there. */
  unpoint() {}

  /** @param {import("./viewport.js").View} view @returns {boolean} whether a way there can be shown step by step */
  isSmooth(view) {
    return Boolean(view);
  }

  /** Moves by hand, but never to where nothing is. @param {import("./viewport.js").View} view */
  moveTo(view) {
    this.#set(notBeyond(view, this.size, this.pane.extent, EDGE_PX));
    this.emit("moved", { view: this.view });
  }

  /** Shows a view as it is. @param {import("./viewport.js").View} view */
  setView(view) {
    this.#set(view);
  }

  /** @param {import("./viewport.js").View} view @param {boolean} [animate] */
  goTo(view, animate = true) {
    this.#move(view, animate);
  }

  zoomToFit() {
    this.measure();
    this.#move(fitted(this.pane.extent, this.size));
  }

  /** @param {number} factor around the middle */
  zoomBy(factor) {
    this.moveTo(zoomed(this.view, this.size.width / 2, this.size.height / 2, factor));
  }

  /** @param {number} dx @param {number} dy pixels */
  panBy(dx, dy) {
    this.moveTo(panned(this.view, dx, dy));
  }

  /**
   * Moves to a node, unless it is in view already.
   * @param {number} node
   * @param {{least?: number, widest?: number, animate?: boolean}} [how] least: scale; widest: of the boxes that are to
   *   fit in at it, here and in other panes
   */
  reveal(node, { least = 0, widest = this.scene.width[node], animate = true } = {}) {
    if (!this.size.width) return void (this.pending = { node, least, widest });
    const view = this.motion?.to ?? this.view;
    const whole = Math.max(LEGIBLE, (this.size.width - marginOf(this.size.width)) / widest);
    const scale = Math.max(view.scale, Math.min(least, whole));
    if (scale === view.scale && this.inView(node, view)) return;
    this.#move(centred(this.scene.x[node], this.scene.y[node], scale, this.size), animate);
  }

  /** Moves so that several nodes are in view, where they can be read then; else to the second. @param {number[]} nodes */
  revealAll(nodes) {
    if (!this.view) return;
    const view = fitted(boxAround(this.scene, nodes), this.size, EDGE_PX, this.view.scale);
    if (levelOf(view.scale, this.height) === NEAR) this.#move(view);
    else this.reveal(nodes[1]);
  }

  /**
   * @param {number} node
   * @param {import("./viewport.js").View} [view]
   * @returns {boolean} whether its middle is well within the pane
   */
  inView(node, view = this.view) {
    const [x, y] = toScreen(view, this.scene.x[node], this.scene.y[node]);
    const within = (at, extent) => at >= marginOf(extent) && at <= extent - marginOf(extent);
    return within(x, this.size.width) && within(y, this.size.height);
  }

  /** @returns {boolean} whether its boxes carry text at the present scale */
  get legible() {
    return levelOf(this.view?.scale ?? 0, this.height) === NEAR;
  }

  /** @param {import("./viewport.js").Size} size that it has come to have; what is in the middle of its upper edge stays */
  resized(size) {
    const first = !this.view;
    const moved = (size.width - this.size.width) / 2;
    this.size = size;
    const follow = (view) => panned(view, moved, 0);
    this.view = first ? opening(this.openingBox(size), size) : follow(this.view);
    if (this.motion) Object.assign(this.motion, { from: follow(this.motion.from), to: follow(this.motion.to) });
    if (this.pending) this.reveal(this.pending.node, { ...this.pending, animate: false });
    this.pending = null;
  }

  /** Shows a view at once and ends what is moving. */
  #set(view) {
    this.motion = null;
    this.view = view;
    this.unpoint();
    this.redraw();
  }

  /** Moves to a view, step by step where that is wanted and smooth: not where each step had to be drawn anew. */
  #move(view, animate = true) {
    const still = this.window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!animate || still || !this.isSmooth(view)) return this.#set(view);
    this.motion = { from: this.view, to: view, began: this.window.performance.now() };
    this.redraw();
  }

  /** Goes on with what is moving. */
  advance() {
    if (!this.motion) return;
    const { from, to, began } = this.motion;
    const part = (this.window.performance.now() - began) / MOVE_MS;
    this.view = between(from, to, part, this.size);
    if (part >= 1) this.motion = null;
    else this.redraw();
  }
}

/** @param {number} extent of a pane @returns {number} how near its border is too near */
function marginOf(extent) {
  return Math.min(EDGE_PX, extent / 6);
}
