// A picture of the scene. Once the pane is dragged it is somewhat larger than the pane, so that moving only copies it.

import { contains, grown, intersected, visibleBox } from "./viewport.js";

const MARGIN = 0.4;
const MAX_PIXELS = 24e6;
/** Less than this part of a pixel is an error of arithmetic, and a picture should keep its size from jump to jump. */
const ROUNDING = 1e-3;

/**
 * @typedef {{view: import("./viewport.js").View, size: import("./viewport.js").Size, extent: import("../scene/boxes.js").Box,
 *   ratio: number, paper: string}} Shot extent: of the scene; ratio: device pixels per pixel; paper: what lies under it
 */

export class Backdrop {
  /** @param {() => HTMLCanvasElement} createCanvas */
  constructor(createCanvas) {
    this.canvas = createCanvas();
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.stale = true;
    this.scale = 0;
    this.cost = 0;
    this.box = { left: 0, top: 0, right: 0, bottom: 0 };
  }

  /** @returns {boolean} whether the picture shows all that the view would show, at its scale */
  fits(view, size, extent) {
    if (this.stale || this.scale !== view.scale) return false;
    const needed = intersected(visibleBox(view, size), extent);
    return isEmpty(needed) || contains(grown(this.box, (2 * ROUNDING) / this.pixels), needed);
  }

  /** @param {Shot} shot @param {(context: CanvasRenderingContext2D, box: import("../scene/boxes.js").Box) => void} paint in scene units */
  render(shot, paint) {
    const began = performance.now();
    this.box = this.#boxFor(shot);
    this.scale = shot.view.scale;
    const pixels = shot.ratio * shot.view.scale;
    const width = Math.max(1, Math.round((this.box.right - this.box.left) * pixels));
    const height = Math.max(1, Math.round((this.box.bottom - this.box.top) * pixels));
    const shrink = Math.min(1, Math.sqrt(MAX_PIXELS / (width * height)));
    this.pixels = pixels * shrink;
    this.paper = shot.paper;
    this.#clear(Math.ceil(width * shrink), Math.ceil(height * shrink));
    const [dx, dy] = [-this.box.left * this.pixels, -this.box.top * this.pixels];
    this.context.setTransform(this.pixels, 0, 0, this.pixels, dx, dy);
    if (!isEmpty(this.box)) paint(this.context, this.box);
    this.stale = false;
    this.cost = performance.now() - began;
  }

  /** What to draw, on whole pixels: what is in view, and more around it where the last picture was left by moving. */
  #boxFor({ view, size, extent, ratio }) {
    const seen = visibleBox(view, size);
    const moved = !this.stale && this.scale === view.scale && !isEmpty(intersected(seen, this.box));
    const margin = moved ? (Math.max(size.width, size.height) * MARGIN) / view.scale : 0;
    const { left, top, right, bottom } = intersected(grown(seen, margin), grown(extent, 8 / view.scale));
    const pixels = ratio * view.scale;
    const snapped = (at, origin, round) => origin + round((at - origin) * pixels) / pixels;
    return {
      left: snapped(left, view.x, (at) => Math.floor(at + ROUNDING)),
      top: snapped(top, view.y, (at) => Math.floor(at + ROUNDING)),
      right: snapped(right, view.x, (at) => Math.ceil(at - ROUNDING)),
      bottom: snapped(bottom, view.y, (at) => Math.ceil(at - ROUNDING)),
    };
  }

  #clear(width, height) {
    const { canvas, context } = this;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.paper;
    context.fillRect(0, 0, width, height);
  }

  /** Copies the picture to where it belongs; `context` is in pixels of the pane. */
  copy(context, view, size) {
    const factor = view.scale / this.pixels;
    const [left, top] = [(this.box.left - view.x) * view.scale, (this.box.top - view.y) * view.scale];
    const [width, height] = [this.canvas.width * factor, this.canvas.height * factor];
    if (left > 0 || top > 0 || left + width < size.width || top + height < size.height) {
      context.fillStyle = this.paper;
      context.fillRect(0, 0, size.width, size.height);
    }
    if (!isEmpty(this.box)) context.drawImage(this.canvas, left, top, width, height);
  }
}

function isEmpty({ left, top, right, bottom }) {
  return left >= right || top >= bottom;
}

// Patterns that tell broken values apart without colour.

const SIZE = 8;

/** @param {Document} document @param {CanvasRenderingContext2D} context @param {import("./themes.js").Theme} theme */
export function hatchesOf(document, context, theme) {
  const ink = theme.graph.paper;
  return {
    stripe: pattern(document, context, ink, [
      [-2, 10, 10, -2],
      [-2, 2, 2, -2],
      [6, 10, 10, 6],
    ]),
    cross: pattern(document, context, ink, [
      [-2, 10, 10, -2],
      [-2, -2, 10, 10],
    ]),
    dot: pattern(document, context, theme.graph.border, [
      [1, 2, 3, 2],
      [5, 6, 7, 6],
    ]),
  };
}

function pattern(document, context, ink, lines) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = SIZE;
  const pen = tile.getContext("2d");
  pen.strokeStyle = ink;
  pen.lineWidth = 1.4;
  for (const [x1, y1, x2, y2] of lines) {
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  }
  return context.createPattern(tile, "repeat");
}
