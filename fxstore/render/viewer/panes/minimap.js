// A pane's minimap: a strip beside the graph, never on it. A click or drag moves the view.

import { MISSING, OTHER } from "../paint/coloring.js";
import { centred, frameIn, inStrip, stretchOf, visibleBox } from "../paint/viewport.js";
import { rankOf } from "../paint/nodes.js";
import { watchSize } from "./sizes.js";

export class Minimap {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("./viewer.js").PaneViewer} viewer @param {string} title */
  constructor(h, viewer, title) {
    this.viewer = viewer;
    this.canvas = h("canvas", {
      class: "fx-map",
      tabindex: 0,
      role: "scrollbar",
      "aria-label": `Overview of ${title}`,
      "aria-orientation": "vertical",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": 0,
      onpointerdown: (event) => this.#grab(event),
      onpointermove: (event) => event.buttons & 1 && this.#go(event),
      onkeydown: (event) => this.#key(event),
    });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.picture = h("canvas", {});
    this.drawn = null;
    this.size = { width: 0, height: 0 };
    viewer.on("painted", () => this.paint());
    this.unwatch = watchSize(this.canvas, (size) => {
      this.size = size;
      this.paint();
    });
  }

  paint() {
    const { viewer, context, size } = this;
    if (!size.width || !size.height || !viewer.view) return;
    const stretch = stretchOf(viewer.pane.extent, size);
    this.#draw(size, stretch);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.picture, 0, 0);
    context.setTransform(viewer.ratio, 0, 0, viewer.ratio, 0, 0);
    this.#marks(context, stretch);
    this.#frame(context, stretch, size);
  }

  /** The whole graph, drawn anew only when it, its colours or the strip have changed. */
  #draw(size, stretch) {
    const { scene, pane, ink, ratio } = this.viewer;
    const key = [size.width, size.height, ratio, ink.style, pane.nodeTree];
    if (this.drawn?.every((part, i) => part === key[i])) return;
    this.drawn = key;
    for (const canvas of [this.canvas, this.picture])
      [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    const context = this.picture.getContext("2d", { alpha: false });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = ink.theme.chrome.raised;
    context.fillRect(0, 0, size.width, size.height);
    const rows = worstPerPixel(scene, pane, ink.coloring, rankOf(ink.coloring), stretch, size.height);
    for (const { node, box } of rows) {
      const bucket = ink.coloring.buckets[node];
      context.fillStyle = bucket === MISSING || bucket === OTHER ? ink.theme.graph.frame : ink.style.fills[bucket];
      const [x, y, width, height] = inStrip(stretch, box);
      context.fillRect(x, y, Math.max(2, width), Math.max(1, height));
    }
  }

  #marks(context, stretch) {
    const { scene, pane, marks, ink } = this.viewer;
    const tick = (node, color, width) => {
      context.fillStyle = color;
      const [, y] = inStrip(stretch, { left: 0, top: scene.y[node], right: 0, bottom: scene.y[node] });
      context.fillRect(0, y - 1, width, 2);
    };
    const rows = new Set();
    for (let node = marks.hits ? pane.first : pane.end; node < pane.end; node++) {
      const row = marks.hits[node] ? Math.round((scene.y[node] - stretch.top) * stretch.sy) : -1;
      if (row < 0 || rows.has(row)) continue;
      rows.add(row);
      tick(node, ink.theme.graph.hit, 5);
    }
    for (const { node } of marks.selection?.shares[pane.number].members ?? [])
      tick(node, ink.theme.graph.select, this.size.width);
  }

  #frame(context, stretch, size) {
    const { viewer } = this;
    const box = visibleBox(viewer.view, viewer.size);
    context.strokeStyle = viewer.ink.theme.graph.select;
    context.lineWidth = 1.5;
    context.strokeRect(...frameIn(stretch, box, size));
    const { top, bottom } = viewer.pane.extent;
    const part = Math.round((100 * (box.top - top)) / Math.max(1, bottom - top));
    const now = String(Math.min(100, Math.max(0, part)));
    if (this.canvas.getAttribute("aria-valuenow") !== now) this.canvas.setAttribute("aria-valuenow", now);
  }

  #grab(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#go(event);
  }

  #go(event) {
    const { viewer, canvas } = this;
    const box = canvas.getBoundingClientRect();
    const { sx, sy, left, top } = stretchOf(viewer.pane.extent, { width: box.width, height: box.height });
    const [x, y] = [left + (event.clientX - box.left) / sx, top + (event.clientY - box.top) / sy];
    viewer.moveTo(centred(x, y, viewer.view.scale, viewer.size));
  }

  #key(event) {
    const step = { ArrowUp: 0.25, ArrowDown: -0.25, PageUp: 0.9, PageDown: -0.9 }[event.key];
    if (!step) return;
    this.viewer.panBy(0, step * this.viewer.size.height);
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Of the nodes that fall on one row of pixels and one of a few columns, the one that is painted last elsewhere. */
function worstPerPixel(scene, pane, { buckets }, rank, { sx, sy, left, top }, rows) {
  const best = new Map();
  for (let node = pane.first; node < pane.end; node++) {
    if (scene.holder[node] === -2) continue;
    const row = Math.min(rows, Math.floor((scene.y[node] - top) * sy));
    const key = row * 64 + (Math.floor(((scene.x[node] - left) * sx) / 4) & 63);
    const known = best.get(key);
    if (known === undefined || rank[buckets[node]] > rank[buckets[known]]) best.set(key, node);
  }
  return [...best.values()].map((node) => {
    const [w, h] = [scene.width[node] / 2, scene.height[node] / 2];
    const [x, y] = [scene.x[node], scene.y[node]];
    return { node, box: { left: x - w, top: y - h, right: x + w, bottom: y + h } };
  });
}
