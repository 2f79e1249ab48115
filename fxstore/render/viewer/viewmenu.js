// How the graphs are shown: modules closed by level, panes that follow each other, further overlays.

import { choice, menu, tick } from "./menu.js";

/** Where overlays beside the one that fills the boxes are shown. */
export const SLOTS = { border: "Border", badge: "Dot", label: "Second line" };

export class ViewMenu {
  /** @param {ReturnType<import("./dom.js").builder>} h @param {import("./compare.js").PaneCompare} compare @param {{scatter: () => void}} actions */
  constructor(h, compare, { scatter }) {
    this.compare = compare;
    this.levels = choice(h, "Modules", [["all open", "Infinity"]], (value) => compare.foldTo(Number(value)));
    this.follow = tick(h, "Panes follow each other", (on) => this.setFollowing(on));
    this.columns = tick(h, "Deep graphs in columns", (on) => compare.setInColumns(on));
    this.columns.box.checked = compare.scene.inColumns;
    compare.on("arrangechange", ({ inColumns }) => (this.columns.box.checked = inColumns));
    const overlays = [["none", -1], ...compare.colorings.names.map((name, i) => [name, i])];
    this.slots = Object.entries(SLOTS).map(([slot, label]) =>
      Object.assign(
        choice(h, label, overlays, (value) => compare.setLayer(slot, Number(value))),
        { slot },
      ),
    );
    const metrics = compare.scene.header.colors.some(({ categories }) => !categories);
    const plot = () => {
      this.root.open = false;
      scatter();
    };
    this.root = menu(
      h,
      "View",
      "Modules, further overlays, panes that follow each other",
      this.levels,
      this.columns,
      this.follow,
      h("h3", {}, "More overlays"),
      ...this.slots,
      ...this.differences(h),
      metrics && compare.scene.panes.length > 1 && h("button", { onclick: plot }, "Scatter of two panes…"),
    );
    this.root.addEventListener("toggle", () => this.root.open && this.refresh(h));
    compare.on("colorchange", () => {
      for (const { slot, select } of this.slots) select.value = String(compare.layers[slot]);
    });
  }

  /** What changed from one pane to another. */
  differences(h) {
    const { compare } = this;
    const { panes } = compare.scene;
    if (panes.length < 2) return [];
    const name = ({ title, run }) => (panes.some((other) => other.run !== run) ? `${title} (${run})` : title);
    const options = panes.map((pane) => [name(pane), pane.number]);
    const [from, to] = [choice(h, "From", options, () => {}), choice(h, "To", options, () => {})];
    to.select.value = "1";
    const show = (how) => () => compare[how](Number(from.select.value), Number(to.select.value));
    const metrics = compare.scene.header.colors.some(({ categories }) => !categories);
    return [
      h("h3", {}, "What changed"),
      from,
      to,
      h("button", { onclick: show("diffPanes") }, "Colour what changed"),
      metrics && h("button", { onclick: show("diffMetric") }, "Colour by how much the metric differs"),
    ];
  }

  /** Finds out how deep modules go only when someone looks. */
  refresh(h) {
    const { select } = this.levels;
    const level = (depth) => h("option", { value: depth }, depth ? `open to level ${depth}` : "all closed");
    if (select.options.length === 1)
      for (let depth = 0; depth < this.compare.depths; depth++) select.append(level(depth));
    select.value = String(this.compare.depth);
  }

  setFollowing(on) {
    this.compare.following = on;
    this.follow.box.checked = on;
    const home = this.compare.selection ? this.compare.scene.paneOf(this.compare.selection.node).number : 0;
    if (on) this.compare.follow(home);
  }
}
