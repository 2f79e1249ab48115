// Groups of nodes that a host frames in a colour of its own, whatever is selected.

import { markBox } from "./paintmarks.js";

const FRAME_PX = 3;
const FRAME_COLOR = "#ff6600";

export class HighlightGroups {
  /** @type {Map<string, {nodeIds: string[], nodes: number[], color: string}>} */
  #groups = new Map();

  /** @param {import("./viewer.js").PaneViewer} pane @param {import("./graphjson.js").GraphModel} model */
  constructor(pane, model) {
    Object.assign(this, { pane, model });
    pane.on("painted", () => this.#paint());
  }

  /** @param {string} id @param {Iterable<string>} ids @param {string|null} color */
  add(id, ids, color) {
    const nodeIds = [...ids].map(String).filter((node) => this.model.place(node) >= 0);
    const nodes = nodeIds.map((node) => this.model.place(node));
    this.#groups.set(id, { nodeIds, nodes, color: color ?? FRAME_COLOR });
    this.pane.redraw();
  }

  /** @param {string} id */
  remove(id) {
    this.#groups.delete(id);
    this.pane.redraw();
  }

  clear() {
    this.#groups.clear();
    this.pane.redraw();
  }

  /** @returns {Map<string, {nodeIds: string[], color: string}>} */
  all() {
    return new Map([...this.#groups].map(([id, { nodeIds, color }]) => [id, { nodeIds: [...nodeIds], color }]));
  }

  #paint() {
    const { context, ink, view } = this.pane;
    for (const { nodes, color } of this.#groups.values()) {
      context.strokeStyle = color;
      context.lineWidth = FRAME_PX;
      for (const node of nodes) context.strokeRect(...markBox(ink, view, node, 2));
    }
  }
}
