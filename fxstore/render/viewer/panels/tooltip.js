// A few words about the node under the pointer.

import { labelOf } from "../paint/label.js";
import { metricText } from "../paint/colorings.js";

const MOST_LINES = 16;

export class Tooltip {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare */
  constructor(h, compare) {
    this.h = h;
    this.compare = compare;
    this.root = h("div", { class: "fx-tip", role: "tooltip", hidden: true });
    this.node = -1;
    compare.on("hover", (detail) => this.show(detail));
  }

  show({ node, x, y, pane }) {
    this.root.hidden = node < 0;
    if (node < 0) return;
    if (node !== this.node) this.root.replaceChildren(...this.lines(node));
    this.node = node;
    const canvas = this.compare.viewers[pane].canvas.getBoundingClientRect();
    const host = this.root.parentElement.getBoundingClientRect();
    const [width, height] = [this.root.offsetWidth, this.root.offsetHeight];
    const left = Math.min(canvas.left - host.left + x + 14, host.width - width - 4);
    const below = canvas.top - host.top + y + 18;
    this.root.style.left = `${Math.max(4, left)}px`;
    this.root.style.top = `${below + height > host.height ? Math.max(4, below - height - 30) : below}px`;
  }

  lines(node) {
    const { scene, coloring } = this.compare;
    const said = scene.layers?.tooltip(node) ?? [];
    const line = (text, name) => text && this.h("div", { class: name }, text);
    const shape = [scene.text("dtype", node), scene.text("shape", node)].filter(Boolean).join(" ");
    const metric = coloring.categories
      ? scene.text("role", node)
      : `${coloring.metric}: ${metricText(scene, coloring, node)}`;
    return [
      line(labelOf(scene, node)[0], "fx-strong"),
      line(scene.text("name", node)),
      line(shape, "fx-muted"),
      line(scene.text("module_path", node), "fx-muted"),
      line(metric),
      ...said.slice(0, MOST_LINES).map((text) => line(text)),
      said.length > MOST_LINES && line(`${said.length - MOST_LINES} more lines`, "fx-muted"),
    ].filter(Boolean);
  }
}
