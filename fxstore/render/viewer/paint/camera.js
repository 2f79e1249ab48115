// Where a pane looks, and how it gets there.

import { Emitter } from "../page/dom.js";
import { boxAround } from "./picture.js";
import {
  between,
  centred,
  fitted,
  notBeyond,
  opening,
  panned,
  toScreen,
  zoomed,
} from "./viewport.js";

// How much of a node is drawn at a scale.

export const FAR = 0;
export const MIDDLE = 1;
export const NEAR = 2;

const OUTLINE_PX = 4;
const TEXT_PX = 13;

/**
 * @param {number} scale
 * @param {number} height of a typical node, at scale 1
 * @returns {0|1|2} far: filled boxes and module blocks; middle: edges too; near: text
 */
export function levelOf(scale, height) {
  const px = scale * height;
  return px < OUTLINE_PX ? FAR : px < TEXT_PX ? MIDDLE : NEAR;
}

/**
 * @param {ArrayLike<number>} heights
 * @param {number} from
 * @param {number} to
 * @returns {number} a typical (median of up to 101) height, 1 where there is no node
 */
export function typicalHeight(heights, from, to) {
  const step = Math.max(1, Math.floor((to - from) / 101));
  const sample = [];
  for (let i = from; i < to; i += step) sample.push(heights[i]);
  sample.sort((a, b) => a - b);
  return sample[sample.length >> 1] ?? 1;
}

const MOVE_MS = 220;
const EDGE_PX = 40;
const LEGIBLE = 0.42;

export class PaneCamera extends Emitter {
  /** @param {import("../scene/scene.js").Scene} scene @param {number} pane @param {Window} window */
  constructor(scene, pane, window) {
    super();
    this.scene = scene;
    this.pane = scene.panes[pane];
    this.window = window;
    this.height = typicalHeight(scene.height, this.pane.first, this.pane.end);
    this.size = { width: 0, height: 0 };
    this.view = null;
    /** @type {(size: import("./viewport.js").Size) => import("../scene/boxes.js").Box} what it opens with, at that size */
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
