// One pane: a canvas that shows the graphs of one stage. It knows nothing of other panes.

import { Backdrop, hatchesOf } from "../paint/backdrop.js";
import { levelOf, PaneCamera } from "../paint/camera.js";
import { nodeUnder, targetUnder } from "../paint/hit.js";
import { Labels } from "../paint/label.js";
import { paintBlocks, paintClosed, paintEdges, paintFrames, paintTitles } from "../paint/graph.js";
import { inScene, markBox, paintMarks } from "../paint/marks.js";
import { paintNodes } from "../paint/nodes.js";
import { watchSize } from "./sizes.js";
import { styleOf } from "../paint/coloring.js";
import { titlesIn, titleUnder } from "../paint/titles.js";
import { panned, toScene, toScreen, visibleBox, zoomed } from "../paint/viewport.js";
import { visible } from "../page/dom.js";

// Pointer, wheel and pinch on a canvas, told to a target in the canvas's own pixels.

const CLICK_SLOP = 4;
const WHEEL_STEP = 0.0016;
const LINE_PX = 16;
const PAGE_PX = 400;

/**
 * @typedef {{pan: (dx: number, dy: number) => void, zoom: (x: number, y: number, factor: number) => void,
 *   click: (x: number, y: number) => void, hover: (x: number, y: number) => void, leave: () => void,
 *   double: (x: number, y: number) => void}} Target
 */

/** @param {HTMLElement} element @param {Target} target @returns {() => void} detaches */
export function attachGestures(element, target) {
  const fingers = new Map();
  let travelled = 0;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    if (fingers.size === 1) travelled = 0;
  };
  const move = (event) => {
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return target.hover(now.x, now.y);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    fingers.set(event.pointerId, now);
    if (other) pinch(target, other, before, now);
    else if (travelled > CLICK_SLOP) target.pan(now.x - before.x, now.y - before.y);
  };
  const up = (event) => {
    const was = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (was && event.type === "pointerup" && travelled <= CLICK_SLOP && !fingers.size) target.click(was.x, was.y);
  };
  const wheel = (event) => {
    event.preventDefault();
    const unit = [1, LINE_PX, PAGE_PX][event.deltaMode];
    const { x, y } = at(event);
    if (event.shiftKey) target.pan(-(event.deltaX || event.deltaY) * unit, 0);
    else target.zoom(x, y, Math.exp(-event.deltaY * unit * (event.ctrlKey ? 6 : 1) * WHEEL_STEP));
  };
  const double = (event) => target.double(at(event).x, at(event).y);
  const listeners = {
    pointerdown: down,
    pointermove: move,
    pointerup: up,
    pointercancel: up,
    pointerleave: target.leave,
    wheel,
    dblclick: double,
  };
  for (const [name, listener] of Object.entries(listeners))
    element.addEventListener(name, listener, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
  };
}

/** Two fingers: the one that moved gives pan and zoom around the middle. */
export function pinch(target, still, before, now) {
  const [was, is] = [before, now].map((point) => Math.hypot(point.x - still.x, point.y - still.y));
  target.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
  if (was > 1 && is > 1) target.zoom((still.x + now.x) / 2, (still.y + now.y) / 2, is / was);
}

const SETTLE_MS = 90;
const CHEAP_MS = 7;
const DOUBLE_MS = 250;

export class PaneViewer extends PaneCamera {
  /**
   * @param {{scene: import("../scene/scene.js").Scene, pane: number, mount: HTMLElement, theme: import("../paint/themes.js").Theme,
   *   coloring: import("../paint/coloring.js").Coloring}} options
   */
  static create(options) {
    return new PaneViewer(options);
  }

  constructor({ scene, pane, mount, theme, coloring }) {
    super(scene, pane, mount.ownerDocument.defaultView);
    this.document = mount.ownerDocument;
    this.canvas = this.document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "graph");
    this.canvas.setAttribute("aria-label", `${visible(this.pane.title)}, ${this.pane.end - this.pane.first} nodes`);
    mount.append(this.canvas);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.backdrop = new Backdrop(() => this.document.createElement("canvas"));
    this.titles = [];
    this.marks = { selection: null, ranks: new Map(), hits: null, hover: -1, edge: -1, reach: null };
    this.ink = {
      scene,
      theme,
      coloring,
      style: styleOf(coloring, theme),
      labels: new Labels(this.context),
      hatches: {},
      layers: { border: null, badge: null, label: null },
      stats: null,
    };
    this.setTheme(theme);
    this.unwatch = watchSize(this.canvas, (size) => this.resize(size));
    this.detach = attachGestures(this.canvas, this.#gestures());
  }

  setTheme(theme) {
    this.ink.theme = theme;
    this.ink.hatches = hatchesOf(this.document, this.context, theme);
    this.setColoring(this.ink.coloring);
  }

  setColoring(coloring) {
    this.ink.coloring = coloring;
    this.ink.style = styleOf(coloring, this.ink.theme);
    this.backdrop.stale = true;
    this.redraw();
  }

  /** @param {Partial<import("../paint/marks.js").Marks>} marks */
  setMarks(marks) {
    Object.assign(this.marks, marks);
    this.redraw();
  }

  /** Draws anew after its scene has changed, such as by folding; what stood at a point stays near it. */
  relayout() {
    this.ink.stats = null;
    this.backdrop.stale = true;
    this.redraw();
  }

  /** @param {Partial<Record<"border"|"badge"|"label", import("../paint/coloring.js").Coloring|null>>} layers */
  setLayers(layers) {
    Object.assign(this.ink.layers, layers);
    this.backdrop.stale = true;
    this.redraw();
  }

  /** @param {number} x @param {number} y pixels within the canvas @returns {number} the node there, or -1 */
  nodeAt(x, y) {
    return this.view ? nodeUnder(this.scene, this.pane, this.view, x, y) : -1;
  }

  /** @param {number} node @returns {{x: number, y: number}} client coordinates of its middle */
  pointOf(node) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = toScreen(this.view, this.scene.x[node], this.scene.y[node]);
    return { x: box.left + x, y: box.top + y };
  }

  /** @param {number} node @returns {[number, number, number, number]} left, top, width, height in the canvas */
  boxOf(node) {
    return markBox(this.ink, this.view, node, 0);
  }

  /** Takes the size that its canvas has come to have, before the browser tells. */
  measure() {
    if (this.view && this.#take({ width: this.canvas.clientWidth, height: this.canvas.clientHeight })) this.redraw();
  }

  /** @param {import("../paint/viewport.js").Size} size of the canvas */
  resize(size) {
    if (this.#take(size)) this.#frame();
  }

  /** Follows the canvas. @returns {boolean} whether it has changed */
  #take({ width, height }) {
    const same = width === this.size.width && height === this.size.height;
    if (!width || !height || (same && this.ratio === this.window.devicePixelRatio)) return false;
    this.ratio = this.window.devicePixelRatio;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.backdrop.stale = true;
    this.resized({ width, height });
    return true;
  }

  /** Draws at once: paper does not wait for a frame. */
  drawNow() {
    this.#frame();
  }

  redraw() {
    this.frame ??= this.window.requestAnimationFrame(() => this.#frame());
  }

  destroy() {
    this.detach();
    this.unwatch();
    this.window.cancelAnimationFrame(this.frame);
    this.window.clearTimeout(this.settle);
    this.window.clearTimeout(this.single);
    this.canvas.remove();
  }

  /**
   * Paints a part of the graph with its marks, on another canvas or as SVG.
   * @param {any} context @param {import("../paint/viewport.js").View} view @param {import("../paint/viewport.js").Size} size
   * @param {number} ratio device pixels per pixel
   */
  paintOn(context, view, size, ratio) {
    const shown = this.view;
    this.view = view;
    context.save();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.ink.theme.graph.paper;
    context.fillRect(0, 0, size.width, size.height);
    context.save();
    context.scale(view.scale, view.scale);
    context.translate(-view.x, -view.y);
    this.#paint(context, visibleBox(view, size));
    context.restore();
    this.#paintTitles(context, view, size);
    paintMarks(context, this.ink, this.pane, view, size, levelOf(view.scale, this.height), {
      ...this.marks,
      hover: -1,
    });
    context.restore();
    this.view = shown;
  }

  #gestures() {
    return {
      pan: (dx, dy) => this.moveTo(panned(this.view, dx, dy)),
      zoom: (x, y, factor) => this.moveTo(zoomed(this.view, x, y, factor)),
      click: (x, y) => this.#click(this.targetAt(x, y)),
      double: (x, y) => this.#double(this.targetAt(x, y)),
      hover: (x, y) => this.#point(this.targetAt(x, y), x, y),
      leave: () => this.#hover(-1, 0, 0),
    };
  }

  /** @param {number} x @param {number} y pixels within the canvas @returns {import("../paint/hit.js").Target} */
  targetAt(x, y) {
    if (!this.view) return { kind: "none", number: -1 };
    const target = targetUnder(this.scene, this.pane, this.view, x, y);
    if (target.kind === "node" || target.kind === "more") return target;
    const titled = titleUnder(this.titles, ...toScene(this.view, x, y));
    return titled < 0 ? target : { kind: "module", number: titled };
  }

  #click({ kind, number }) {
    if (kind === "more") return this.emit("toggle", { kind: "graph", number: this.scene.besideOf(number).number });
    const select = () => this.emit("select", { node: kind === "node" ? number : -1, kind, number });
    this.window.clearTimeout(this.single);
    if (kind === "module") this.single = this.window.setTimeout(select, DOUBLE_MS);
    else select();
  }

  /** What a single click on a module shows would come between its two clicks. */
  #double({ kind, number }) {
    this.window.clearTimeout(this.single);
    if (kind === "module" || kind === "graph") this.emit("toggle", { kind, number });
    else if (kind === "none") this.zoomToFit();
  }

  #point({ kind, number }, x, y) {
    this.#hover(kind === "node" ? number : -1, x, y);
    this.canvas.style.cursor = kind === "none" ? "" : "pointer";
  }

  /** As of the camera. */
  unpoint() {
    if (this.marks.hover >= 0) this.#hover(-1, 0, 0);
  }

  /** As of the camera: not where each step had to be drawn anew. @param {import("../paint/viewport.js").View} view */
  isSmooth(view) {
    return this.backdrop.cost <= CHEAP_MS || this.backdrop.fits(view, this.size, this.pane.extent);
  }

  #hover(node, x, y) {
    if (node === this.marks.hover && node < 0) return;
    const changed = node !== this.marks.hover;
    this.marks.hover = node;
    this.emit("hover", { node, x, y });
    if (changed) this.redraw();
  }

  #frame() {
    this.window.cancelAnimationFrame(this.frame);
    this.frame = null;
    if (!this.view) return;
    if (this.window.devicePixelRatio !== this.ratio) return this.resize(this.size);
    this.advance();
    this.#refresh();
    const { context, ratio, size, view } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.backdrop.copy(context, view, size);
    this.titles = this.#paintTitles(context, view, size);
    paintMarks(context, this.ink, this.pane, view, size, levelOf(view.scale, this.height), this.marks);
    this.emit("painted", { view });
  }

  /** Draws the backdrop anew where it must be, or, while the scale changes and drawing is slow, a little later. */
  #refresh() {
    const { backdrop, view, size } = this;
    if (backdrop.fits(view, size, this.pane.extent)) return;
    if (!backdrop.stale && backdrop.scale !== view.scale && backdrop.cost > CHEAP_MS) {
      this.window.clearTimeout(this.settle);
      this.settle = this.window.setTimeout(() => this.#settled(), SETTLE_MS);
      return;
    }
    const { paper } = this.ink.theme.graph;
    backdrop.render({ view, size, extent: this.pane.extent, ratio: this.ratio, paper }, (context, box) =>
      this.#paint(context, box),
    );
  }

  #settled() {
    this.backdrop.stale = true;
    this.redraw();
  }

  /** Over the picture, since they move with what is in view of their modules. @returns {import("../paint/titles.js").Title[]} */
  #paintTitles(context, view, size) {
    const titles = titlesIn(this.scene, this.pane, visibleBox(view, size), view.scale, this.ink.labels);
    inScene(context, view, () => paintTitles(context, this.ink, titles, view.scale));
    return titles;
  }

  #paint(context, box) {
    const { scale } = this.view;
    const level = levelOf(scale, this.height);
    const nodes = [];
    this.pane.nodeTree.query(box.left, box.top, box.right, box.bottom, (i) => nodes.push(this.pane.first + i));
    paintFrames(context, this.ink, this.pane, scale);
    paintBlocks(context, this.ink, this.pane, box, scale);
    paintEdges(context, this.ink, this.pane, box, level, scale);
    paintClosed(context, this.ink, this.pane, box, scale);
    paintNodes(context, this.ink, nodes, level, scale);
  }
}
