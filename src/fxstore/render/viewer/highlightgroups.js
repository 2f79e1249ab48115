// Groups of nodes that a host frames in a colour of its own, whatever is selected.

import { markBox } from "./paintmarks.js";

const FRAME_PX = 3;

export class HighlightGroups {
  /** @type {Map<string, {nodes: number[], color: string}>} */
  groups = new Map();

  /** @param {import("./viewer.js").FXGraphViewer} pane */
  constructor(pane) {
    this.pane = pane;
    pane.on("painted", () => this.paint());
  }

  /** @param {string} id @param {{nodes: number[], color: string}|null} group null takes it away */
  set(id, group) {
    if (group) this.groups.set(id, group);
    else this.groups.delete(id);
    this.pane.redraw();
  }

  paint() {
    const { context, ink, view } = this.pane;
    for (const { nodes, color } of this.groups.values()) {
      context.strokeStyle = color;
      context.lineWidth = FRAME_PX;
      for (const node of nodes) context.strokeRect(...markBox(ink, view, node, 2));
    }
  }
}
