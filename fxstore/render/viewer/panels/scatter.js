// A scatter plot of one metric in two panes: base against head. A click selects the node.

import { counterpartsOf } from "../scene/selection.js";
import { positionIn } from "../paint/scales.js";
import { numberOf } from "../scene/search.js";
import { choice } from "./menus.js";
import { formatted, grouped } from "../scene/numbers.js";
import { metricText } from "../paint/colorings.js";
import { visible } from "../page/dom.js";

// A metric in two panes, node by node: what the scatter plot shows.


/** @typedef {{x: number, y: number, from: number, to: number}} Point values, and their nodes */

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../paint/coloring.js").Coloring} coloring
 * @param {number} base pane @param {number} head pane @returns {Point[]} both numbers are finite
 */
export function scatterOf(scene, coloring, base, head) {
  const [left, right] = [scene.panes[base], scene.panes[head]];
  const out = [];
  for (let from = left.first; from < left.end; from++) {
    const x = numberOf(coloring, from);
    if (!Number.isFinite(x)) continue;
    const to = counterpartsOf(scene, from).find((node) => node >= right.first && node < right.end);
    const y = to === undefined ? NaN : numberOf(coloring, to);
    if (Number.isFinite(y)) out.push({ x, y, from, to });
  }
  return out;
}

/**
 * @param {Point[]} points @param {import("../paint/scales.js").Domain} domain @param {number} px @param {number} py 0 to 1
 * @returns {Point|null} the nearest
 */
export function nearestPoint(points, domain, px, py) {
  let [best, least] = [null, Infinity];
  for (const point of points) {
    const away = Math.hypot(positionIn(point.x, domain) - px, positionIn(point.y, domain) - py);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {import("../paint/coloring.js").Coloring} coloring
 * @returns {[number, number]|null} the first two panes that the metric is of: of two runs, where there are two
 */
export function defaultPanes(scene, coloring) {
  const measured = scene.panes.filter(({ first, end }) => {
    for (let node = first; node < end; node++) if (Number.isFinite(numberOf(coloring, node))) return true;
    return false;
  });
  if (measured.length < 2) return null;
  const [base] = measured;
  const head = measured.find((pane) => pane.run !== base.run && pane.title === base.title) ?? measured[1];
  return [base.number, head.number];
}

const PLOT_SIDE = 420;
const PLOT_PAD = 14;

export class ScatterPlot {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare */
  constructor(h, compare) {
    this.h = h;
    this.compare = compare;
    const { scene } = compare;
    const name = ({ title, run }) => (scene.panes.some((other) => other.run !== run) ? `${title} · ${run}` : title);
    const options = scene.panes.map((pane) => [name(pane), pane.number]);
    this.base = choice(h, "Across", options, () => this.draw());
    this.head = choice(h, "Up", options, () => this.draw());
    this.canvas = h("canvas", {
      class: "fx-scatter",
      role: "img",
      onclick: (event) => this.#choose(event),
      onpointermove: (event) => this.#tell(event),
    });
    this.note = h("p", { class: "fx-muted" });
    this.title = h("h2", {});
    this.root = h(
      "dialog",
      { class: "fx-dialog", "aria-label": "Scatter of two panes" },
      this.title,
      h("div", { class: "fx-line-up" }, this.base, this.head),
      this.canvas,
      this.note,
      h("button", { onclick: () => this.root.close() }, "Close"),
    );
    this.root.addEventListener("click", (event) => event.target === this.root && this.root.close());
  }

  open() {
    const coloring = this.#coloring();
    const panes = coloring && defaultPanes(this.compare.scene, coloring);
    if (panes) [this.base.select.value, this.head.select.value] = panes.map(String);
    this.root.showModal();
    this.draw();
  }

  #coloring() {
    const { coloring, colorings } = this.compare;
    return coloring.domain ? coloring : colorings.numeric().find(({ domain }) => domain);
  }

  draw() {
    const coloring = this.#coloring();
    const [base, head] = [this.base, this.head].map(({ select }) => Number(select.value));
    this.points = coloring ? scatterOf(this.compare.scene, coloring, base, head) : [];
    this.title.textContent = coloring ? visible(coloring.metric) : "No metric on this page";
    this.note.textContent = this.points.length
      ? `${grouped(this.points.length)} nodes have a finite number in both panes; on the line both are equal.`
      : "No node has a finite number in both of these panes.";
    if (coloring) this.#paint(coloring);
  }

  #paint(coloring) {
    const viewer = this.compare.viewers[0];
    const { theme } = viewer.ink;
    const ratio = viewer.window.devicePixelRatio;
    this.canvas.width = this.canvas.height = Math.round(PLOT_SIDE * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.graph.paper;
    context.fillRect(0, 0, PLOT_SIDE, PLOT_SIDE);
    context.strokeStyle = theme.graph.frame;
    context.beginPath();
    context.moveTo(...this.#place(0, 0));
    context.lineTo(...this.#place(1, 1));
    context.stroke();
    context.fillStyle = theme.graph.label;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.fillText(formatted(coloring.domain.min), 2, PLOT_SIDE - 2);
    context.textAlign = "right";
    context.fillText(formatted(coloring.domain.max), PLOT_SIDE - 2, 11);
    context.textAlign = "left";
    context.globalAlpha = 0.75;
    for (const { x, y, from } of this.points) {
      const [px, py] = this.#place(positionIn(x, coloring.domain), positionIn(y, coloring.domain));
      const selected = this.compare.selection?.members.has(from);
      context.fillStyle = selected ? theme.graph.up : theme.graph.select;
      context.beginPath();
      context.arc(px, py, selected ? 5 : 3, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    this.canvas.setAttribute("aria-label", visible(`${coloring.metric}: ${this.points.length} points`));
  }

  #place(x, y) {
    return [PLOT_PAD + x * (PLOT_SIDE - 2 * PLOT_PAD), PLOT_SIDE - PLOT_PAD - y * (PLOT_SIDE - 2 * PLOT_PAD)];
  }

  #nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (at, extent) => ((at / extent) * PLOT_SIDE - PLOT_PAD) / (PLOT_SIDE - 2 * PLOT_PAD);
    const coloring = this.#coloring();
    if (!coloring) return null;
    const [x, y] = [part(event.clientX - box.left, box.width), 1 - part(event.clientY - box.top, box.height)];
    return nearestPoint(this.points, coloring.domain, x, y);
  }

  #choose(event) {
    const point = this.#nearest(event);
    if (!point) return;
    this.root.close();
    this.compare.selectNode(point.to);
  }

  #tell(event) {
    const point = this.#nearest(event);
    const { scene } = this.compare;
    const words = (node) => `${scene.text("name", node)}: ${metricText(scene, this.#coloring(), node)}`;
    this.canvas.title = point ? visible(`${words(point.from)} → ${words(point.to)}`) : "";
  }
}
