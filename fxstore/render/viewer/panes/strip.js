// Under each pane: the coloured metric along the graph's order. A click selects the node there.

import { OTHER } from "../paint/coloring.js";
import { metricText, nextMeasured, nodeAlong, profileOf } from "../paint/colorings.js";
import { watchSize } from "./sizes.js";
import { visible } from "../page/dom.js";

const STRIP_PAD = 4;

export class Strip {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("./viewer.js").PaneViewer} viewer @param {string} title
   * @param {(node: number) => void} select
   */
  constructor(h, viewer, title, select) {
    this.viewer = viewer;
    this.title = visible(title);
    this.select = select;
    this.canvas = h("canvas", {
      role: "slider",
      tabindex: 0,
      "aria-valuemin": 0,
      "aria-valuenow": 0,
      onkeydown: (event) => this.#key(event),
      onclick: (event) => this.#click(event),
      onpointermove: (event) => this.#tell(event),
    });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.size = { width: 0, height: 0 };
    this.note = h("span", { class: "fx-strip-note fx-muted" });
    this.root = h("div", { class: "fx-strip" }, this.canvas, this.note);
    viewer.on("painted", () => this.paint());
    this.fold();
    this.unwatch = watchSize(this.canvas, (size) => {
      this.size = size;
      this.paint();
    });
  }

  /** @returns {boolean} whether the metric is of this pane */
  get speaks() {
    const { coloring } = this.viewer.ink;
    const { first, end } = this.viewer.pane;
    return Boolean(coloring.domain) && end > first && coloring.buckets[first] !== OTHER;
  }

  /** Takes a line where there is nothing to plot, no room where no metric colours. */
  fold() {
    const { coloring } = this.viewer.ink;
    const name = visible(coloring.metric);
    this.root.hidden = !coloring.domain;
    this.root.classList.toggle("fx-quiet", !this.speaks);
    this.canvas.tabIndex = this.speaks ? 0 : -1;
    this.canvas.setAttribute("aria-valuemax", String(this.viewer.pane.end - this.viewer.pane.first));
    this.note.textContent = this.speaks ? "" : `no ${name} in this stage`;
    this.canvas.setAttribute("aria-label", `${this.speaks ? "" : "no "}${name} along ${this.title}`);
  }

  paint() {
    const { canvas, context, size, viewer } = this;
    const { theme } = viewer.ink;
    if (!size.width || !size.height || !viewer.view) return;
    const marks = viewer.marks.selection?.shares[viewer.pane.number].lead ?? -1;
    const key = [size.width, size.height, viewer.ink.style, viewer.ratio, marks];
    if (this.drawn?.every((part, i) => part === key[i])) return;
    this.drawn = key;
    const { ratio } = viewer;
    [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.graph.paper;
    context.fillRect(0, 0, size.width, size.height);
    if (!this.speaks) return;
    this.#bars(context, size);
    if (marks >= 0) this.#mark(context, size, marks);
    this.#say(marks);
  }

  #bars(context, size) {
    const { ink, pane } = this.viewer;
    const { coloring, style, theme } = ink;
    const count = Math.max(1, Math.min(Math.floor(size.width), pane.end - pane.first));
    if (this.known?.coloring !== coloring || this.known.bins.length !== count)
      this.known = { coloring, bins: profileOf(pane, coloring, count) };
    const { bins } = this.known;
    const step = size.width / bins.length;
    const y = (part) => STRIP_PAD + (1 - part) * (size.height - 2 * STRIP_PAD);
    context.strokeStyle = theme.graph.frame;
    context.lineWidth = 0.5;
    context.strokeRect(0, y(0) + 0.5, size.width, 0);
    for (const [i, bin] of bins.entries()) {
      if (!bin) continue;
      context.fillStyle = style.fills[coloring.buckets[bin.node]];
      if (bin.broken) context.fillRect(i * step, 0, Math.max(1.5, step), size.height);
      else {
        const [top, bottom] = [y(bin.high), coloring.better === "higher" ? y(bin.low) : y(0)];
        context.fillRect(i * step, top - 1, Math.max(1.5, step - 0.5), Math.max(2, bottom - top + 1));
      }
    }
  }

  #mark(context, size, node) {
    const { pane, ink } = this.viewer;
    const x = ((node - pane.first + 0.5) / (pane.end - pane.first)) * size.width;
    context.fillStyle = ink.theme.graph.select;
    context.fillRect(x - 0.75, 0, 1.5, size.height);
  }

  /** Where the selection stands, for those who do not see it. */
  #say(node) {
    const { scene, pane, ink } = this.viewer;
    const text =
      node < 0 ? "nothing selected" : `${scene.text("name", node) ?? ""}: ${metricText(scene, ink.coloring, node)}`;
    this.canvas.setAttribute("aria-valuenow", String(node < 0 ? 0 : node - pane.first + 1));
    this.canvas.setAttribute("aria-valuetext", visible(text));
  }

  #nodeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return nodeAlong(this.viewer.pane, (event.clientX - box.left) / box.width, this.viewer.ink.coloring);
  }

  #click(event) {
    const node = this.speaks ? this.#nodeAt(event) : -1;
    if (node >= 0) this.select(node);
  }

  /** Arrow keys go from measured node to measured node. */
  #key(event) {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!step || !this.speaks) return;
    const { pane, ink, marks } = this.viewer;
    const node = nextMeasured(pane, ink.coloring, marks.selection?.shares[pane.number].lead ?? -1, step);
    if (node >= 0) this.select(node);
    event.preventDefault();
    event.stopPropagation();
  }

  #tell(event) {
    if (!this.speaks) return;
    const node = this.#nodeAt(event);
    const { scene, ink } = this.viewer;
    const told = () => `${scene.text("name", node) ?? ""}: ${metricText(scene, ink.coloring, node)}`;
    this.canvas.title = node < 0 ? "" : visible(told());
  }
}
