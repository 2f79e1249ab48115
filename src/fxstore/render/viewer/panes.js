// The row of panes: their frames, the bars between them, which of them are in view.

import { ownParts, paneBox, statusOf } from "./panebox.js";
import { grouped } from "./numbers.js";
import { splitter } from "./splitter.js";

const LEAST_PANE_PX = 80;

export class PaneRow {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {import("./scene.js").Scene} scene
   * @param {{fit: (pane: number) => void, changed: () => void}} actions
   */
  constructor(h, scene, actions) {
    Object.assign(this, { h, scene, actions });
    const notes = ownParts(scene.panes.map((pane) => pane.subtitle));
    this.boxes = scene.panes.map((pane) => paneBox(h, pane, notes[pane.number], () => actions.fit(pane.number)));
    this.bars = scene.panes.slice(1).map((pane) => this.bar(pane.number));
    this.root = h(
      "div",
      { class: "fx-panes" },
      ...this.boxes.flatMap((box, i) => (i ? [this.bars[i - 1], box.root] : [box.root])),
    );
    this.toggles = scene.panes.map((pane) => this.toggleButton(pane));
    this.switches = h(
      "div",
      { class: "fx-switches", role: "group", "aria-label": "Panes", hidden: scene.panes.length < 2 },
      ...this.toggles,
    );
  }

  toggleButton({ number, title }) {
    const key = number < 9 ? ` (${number + 1})` : "";
    const attributes = { title: `Show or hide ${title}${key}`, "aria-pressed": "true" };
    return this.h("button", { ...attributes, onclick: () => this.toggle(number) }, title || `pane ${number + 1}`);
  }

  /** @returns {number[]} the panes in view, in order */
  shown() {
    return this.scene.panes.map((pane) => pane.number).filter((pane) => !this.boxes[pane].root.hidden);
  }

  /** Shows or hides a pane; the last one in view stays. @param {number} pane @param {boolean} show */
  show(pane, show) {
    if (!this.boxes[pane] || (!show && this.shown().length < 2)) return;
    this.boxes[pane].root.hidden = !show;
    const [leftmost] = this.shown();
    for (const [i, bar] of this.bars.entries()) bar.hidden = this.boxes[i + 1].root.hidden || i + 1 === leftmost;
    for (const [i, button] of this.toggles.entries())
      button.setAttribute("aria-pressed", String(!this.boxes[i].root.hidden));
    if (show) this.scrollTo(pane);
    this.actions.changed();
  }

  /** Brings a pane itself into view, where they do not all fit side by side. @param {number} pane */
  scrollTo(pane) {
    this.boxes[pane].root.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {number} pane */
  toggle(pane) {
    this.show(pane, this.boxes[pane]?.root.hidden);
  }

  /** @param {import("./selection.js").Selection|null} selection */
  showSelection(selection) {
    for (const [pane, { status }] of this.boxes.entries()) {
      status.hidden = !selection;
      if (!selection) continue;
      const { mark, text, kind } = statusOf(this.scene, selection, pane);
      status.className = `fx-status fx-${kind}`;
      status.replaceChildren(this.h("span", {}, `${mark} ${text}`));
    }
  }

  /** @param {string} query @param {number[]} counts */
  showCounts(query, counts) {
    for (const [pane, { found }] of this.boxes.entries()) {
      found.hidden = !query.trim();
      found.textContent = `${grouped(counts[pane])} found`;
    }
  }

  /** @param {number} right the pane to the right of the bar */
  bar(right) {
    const left = () =>
      this.shown()
        .filter((pane) => pane < right)
        .at(-1);
    const write = (px) => {
      const pane = left();
      const sum = this.width(pane) + this.width(right);
      const widths = this.shown().map((number) => [number, this.width(number)]);
      for (const [number, width] of widths) this.boxes[number].root.style.flexGrow = String(width);
      const first = Math.min(sum - LEAST_PANE_PX, Math.max(LEAST_PANE_PX, px));
      this.boxes[pane].root.style.flexGrow = String(first);
      this.boxes[right].root.style.flexGrow = String(sum - first);
    };
    return splitter(this.h, {
      label: `Width of ${this.scene.panes[right - 1].title} and ${this.scene.panes[right].title}`,
      vertical: true,
      read: () => this.width(left()),
      write,
      sign: 1,
    });
  }

  width(pane) {
    return this.boxes[pane].root.getBoundingClientRect().width;
  }
}
