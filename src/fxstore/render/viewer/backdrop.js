// A picture of the scene, somewhat larger than the pane, so that moving only copies it.

import { contains, grown, intersected, visibleBox } from "./viewport.js";

const MARGIN = 0.4;
const MAX_PIXELS = 24e6;

export class Backdrop {
  /** @param {() => HTMLCanvasElement} createCanvas */
  constructor(createCanvas) {
    this.canvas = createCanvas();
    this.stale = true;
    this.scale = 0;
    this.cost = 0;
    this.box = { left: 0, top: 0, right: 0, bottom: 0 };
  }

  /** @returns {boolean} whether the picture shows all that the view would show, at its scale */
  fits(view, size, extent) {
    if (this.stale || this.scale !== view.scale) return false;
    const needed = intersected(visibleBox(view, size), extent);
    return needed.left >= needed.right || needed.top >= needed.bottom || contains(this.box, needed);
  }

  /**
   * @param {import("./viewport.js").View} view @param {import("./viewport.js").Size} size
   * @param {import("./place.js").Box} extent of the scene @param {number} ratio device pixels per pixel
   * @param {(context: CanvasRenderingContext2D, box: import("./place.js").Box) => void} paint in scene units
   */
  render(view, size, extent, ratio, paint) {
    const began = performance.now();
    const margin = (Math.max(size.width, size.height) * MARGIN) / view.scale;
    this.box = intersected(grown(visibleBox(view, size), margin), grown(extent, 8 / view.scale));
    this.scale = view.scale;
    const pixels = ratio * view.scale;
    const width = Math.max(1, Math.ceil((this.box.right - this.box.left) * pixels));
    const height = Math.max(1, Math.ceil((this.box.bottom - this.box.top) * pixels));
    const shrink = Math.min(1, Math.sqrt(MAX_PIXELS / (width * height)));
    this.canvas.width = Math.ceil(width * shrink);
    this.canvas.height = Math.ceil(height * shrink);
    const context = this.canvas.getContext("2d");
    context.setTransform(
      pixels * shrink,
      0,
      0,
      pixels * shrink,
      -this.box.left * pixels * shrink,
      -this.box.top * pixels * shrink,
    );
    if (this.box.right > this.box.left && this.box.bottom > this.box.top) paint(context, this.box);
    this.pixels = pixels * shrink;
    this.stale = false;
    this.cost = performance.now() - began;
  }

  /** Copies the picture to where it belongs; `context` is in pixels of the pane. */
  copy(context, view) {
    const factor = view.scale / this.pixels;
    const [left, top] = [(this.box.left - view.x) * view.scale, (this.box.top - view.y) * view.scale];
    context.drawImage(this.canvas, left, top, this.canvas.width * factor, this.canvas.height * factor);
  }
}
