// The row of panes: their frames, the bars between them, which of them are in view.

import { grouped } from "../scene/numbers.js";
import { splitter, watchSize } from "./sizes.js";
import { visible } from "../page/dom.js";

// The frame of a pane: title, count, buttons, and what it says about the selection.


const SEPARATOR = " · ";

/**
 * @param {ReturnType<import("../page/dom.js").builder>} h
 * @param {import("../scene/scene.js").PaneScene} pane
 * @param {string} note what tells this pane from the others
 * @param {{fit: () => void, move: (step: 1|-1) => void, hide: () => void}} actions
 */
export function paneBox(h, pane, note, { fit, move, hide }) {
  const waiting = pane.graphs.filter((graph) => graph.beside);
  const drawn = pane.graphs.length - waiting.length;
  const graphs = drawn > 1 ? `${drawn} graphs` : "";
  const beside = waiting.reduce((sum, graph) => sum + graph.nodes, 0);
  const more = beside ? `${grouped(beside)} more to open` : "";
  const [own, ...rest] = note.split(SEPARATOR);
  const nodes = `${grouped(pane.end - pane.first - beside)} nodes`;
  const words = [own, nodes, graphs, more, ...rest].filter(Boolean).join(SEPARATOR);
  const found = h("span", { class: "fx-found", hidden: true });
  const status = h("div", { class: "fx-status", hidden: true });
  const mount = h("div", { class: "fx-mount" }, status);
  const view = h("div", { class: "fx-view" }, mount);
  const foot = h("div", { class: "fx-foot" });
  const title = pane.title || `pane ${pane.number + 1}`;
  const tool = (sign, words, label, onclick) =>
    h("button", { class: "fx-icon", title: words, "aria-label": `${label} ${title}`, onclick }, sign);
  const tools = [
    tool("‹", "Move this pane to the left", "Move left", () => move(-1)),
    tool("›", "Move this pane to the right", "Move right", () => move(1)),
    tool("×", "Hide this pane", "Hide", hide),
    tool("⤢", "Fit this pane", "Fit", fit),
  ];
  const head = h(
    "header",
    { class: "fx-pane-head" },
    h("div", { class: "fx-pane-title" }, h("h2", { title }, title), h("span", { class: "fx-pane-tools" }, ...tools)),
    h("p", { class: "fx-subtitle", title: `${words}. Drag to move the pane` }, found, words),
  );
  const root = h("section", { class: "fx-pane", "aria-label": title }, head, view, foot);
  return { root, head, mount, view, foot, status, found };
}

/**
 * What tells panes apart: their subtitles without the parts that all begin with, such as the one run's name.
 * @param {string[]} subtitles @returns {string[]}
 */
export function ownParts(subtitles) {
  const parts = subtitles.map((text) => text.split(SEPARATOR));
  const shared = parts.length > 1 ? parts[0].findIndex((part, i) => parts.some((other) => other[i] !== part)) : 0;
  return parts.map((own) => (shared < 0 ? own.slice(parts[0].length) : own.slice(shared)).join(SEPARATOR));
}

/**
 * What a pane says about the selection.
 * @param {import("../scene/scene.js").Scene} scene @param {import("../scene/selection.js").Selection} selection @param {number} pane
 * @returns {{mark: string, text: string, kind: "selected"|"primary"|"member"|"none"}}
 */
export function statusOf(scene, selection, pane) {
  const { members, lead, reason } = selection.shares[pane];
  if (lead < 0) return { mark: "○", text: reason ? `no counterpart: ${reason}` : "no counterpart", kind: "none" };
  const name = scene.text("name", lead) ?? "";
  const more = members.length > 1 ? ` +${members.length - 1}` : "";
  if (lead === selection.node) return { mark: "◉", text: `${name}${more}`, kind: "selected" };
  const kind = members[0].primary ? "primary" : "member";
  return { mark: kind === "primary" ? "◆" : "◌", text: `${name}${more}`, kind };
}

// A pane taken by its head and dropped between two others.

const DRAG_PX = 6;

/**
 * @param {HTMLElement} head of the pane
 * @param {{others: () => {pane: number, root: HTMLElement}[], drop: (before: number) => void}} row
 *   others: the panes in view, in order, this one too; drop: puts it before another pane, or at the end for -1
 * @returns {() => void} detaches
 */
export function attachPaneDrag(head, { others, drop }) {
  let drag = null;
  const clear = () => {
    for (const { root } of drag?.panes ?? []) root.classList.remove("fx-drop-before", "fx-drop-after", "fx-dragged");
    drag = null;
  };
  const down = (event) => {
    if (event.button !== 0 || event.target.closest("button")) return;
    drag = { from: event.clientX, panes: [], gap: -1 };
    head.setPointerCapture(event.pointerId);
  };
  const move = (event) => {
    if (!drag || (!drag.panes.length && Math.abs(event.clientX - drag.from) < DRAG_PX)) return;
    if (!drag.panes.length) drag.panes = others();
    drag.gap = gapAt(
      drag.panes.map(({ root }) => root.getBoundingClientRect()),
      event.clientX,
    );
    for (const [i, { root }] of drag.panes.entries()) {
      root.classList.toggle("fx-dragged", root.contains(head));
      root.classList.toggle("fx-drop-before", i === drag.gap);
      root.classList.toggle("fx-drop-after", drag.gap === drag.panes.length && i === drag.gap - 1);
    }
  };
  const up = (event) => {
    const done = event.type === "pointerup" && drag?.panes.length ? { ...drag } : null;
    clear();
    if (done) drop(done.panes[done.gap]?.pane ?? -1);
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up };
  for (const [name, listener] of Object.entries(listeners)) head.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) head.removeEventListener(name, listener);
  };
}

/** @param {{left: number, right: number}[]} boxes side by side @param {number} x @returns {number} how many have their middle left of it */
export function gapAt(boxes, x) {
  return boxes.filter(({ left, right }) => (left + right) / 2 < x).length;
}

const LEAST_PANE_PX = 80;
/** As the style sheet has it, with its bar. */
const NARROWEST_PX = 117;

export class PaneRow {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../scene/scene.js").Scene} scene
   * @param {{fit: (pane: number) => void, changed: () => void}} actions
   */
  constructor(h, scene, actions) {
    Object.assign(this, { h, scene, actions });
    const notes = ownParts(scene.panes.map((pane) => pane.subtitle));
    /** @type {number[]} the panes from left to right */
    this.order = scene.panes.map((pane) => pane.number);
    this.boxes = scene.panes.map((pane) =>
      paneBox(h, pane, notes[pane.number], {
        fit: () => actions.fit(pane.number),
        move: (step) => this.move(pane.number, step),
        hide: () => this.show(pane.number, false),
      }),
    );
    this.bars = scene.panes.map((pane) => this.bar(pane.number));
    this.root = h("div", { class: "fx-panes" });
    this.unwatch = watchSize(this.root, ({ width }) => (this.room = width));
    this.toggles = scene.panes.map((pane) => this.toggleButton(pane));
    this.switches = h("div", {
      class: "fx-switches",
      role: "group",
      "aria-label": "Panes",
      hidden: scene.panes.length < 2,
    });
    for (const [pane, { head }] of this.boxes.entries())
      attachPaneDrag(head, {
        others: () => this.shown().map((other) => ({ pane: other, root: this.boxes[other].root })),
        drop: (before) => this.putBefore(pane, before),
      });
    this.arrange();
  }

  /** Puts panes, bars and switches into the page in their order. */
  arrange() {
    this.root.replaceChildren(...this.order.flatMap((pane) => [this.bars[pane], this.boxes[pane].root]));
    this.switches.replaceChildren(...this.order.map((pane) => this.toggles[pane]));
    const shown = this.shown();
    for (const [pane, bar] of this.bars.entries()) {
      const at = shown.indexOf(pane);
      bar.hidden = at < 1;
      if (at > 0) bar.setAttribute("aria-label", `Width of ${this.name(shown[at - 1])} and ${this.name(pane)}`);
    }
  }

  name(pane) {
    return visible(this.scene.panes[pane].title) || `pane ${pane + 1}`;
  }

  /** Moves a pane past the next one in view. @param {number} pane @param {1|-1} step */
  move(pane, step) {
    const shown = this.shown();
    const other = shown[shown.indexOf(pane) + step];
    if (other === undefined) return;
    const rest = this.order.filter((one) => one !== pane);
    rest.splice(rest.indexOf(other) + (step > 0 ? 1 : 0), 0, pane);
    this.setOrder(rest);
  }

  /** Puts a pane before another, or at the end. @param {number} pane @param {number} before -1 for the end */
  putBefore(pane, before) {
    if (pane === before) return;
    const rest = this.order.filter((one) => one !== pane);
    rest.splice(before < 0 ? rest.length : rest.indexOf(before), 0, pane);
    if (rest.some((one, i) => one !== this.order[i])) this.setOrder(rest);
  }

  /** @param {number[]} order every pane once */
  setOrder(order) {
    this.order = order;
    this.arrange();
    this.actions.changed();
  }

  toggleButton({ number, title }) {
    const key = number < 9 ? ` (${number + 1})` : "";
    const attributes = { title: `Show or hide ${title}${key}; Alt and arrow keys move it`, "aria-pressed": "true" };
    const onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !event.altKey) return;
      this.move(number, step);
      event.currentTarget.focus();
      event.preventDefault();
    };
    const onclick = () => this.toggle(number);
    return this.h("button", { ...attributes, onclick, onkeydown }, title || `pane ${number + 1}`);
  }

  /** @returns {number[]} the panes in view, in order */
  shown() {
    return this.order.filter((pane) => !this.boxes[pane].root.hidden);
  }

  /** Shows or hides a pane; the last one in view stays. @param {number} pane @param {boolean} show */
  show(pane, show) {
    if (!this.boxes[pane] || (!show && this.shown().length < 2)) return;
    this.boxes[pane].root.hidden = !show;
    this.arrange();
    for (const [i, button] of this.toggles.entries())
      button.setAttribute("aria-pressed", String(!this.boxes[i].root.hidden));
    if (show) this.scrollTo(pane);
    this.actions.changed();
  }

  /** Shows some panes, in that order. @param {number[]} panes */
  showOnly(panes) {
    const wanted = [...new Set(panes)].filter((pane) => this.boxes[pane]);
    if (!wanted.length) return;
    for (const pane of wanted) this.show(pane, true);
    for (const pane of this.order) this.show(pane, wanted.includes(pane));
    this.setOrder([...wanted, ...this.order.filter((pane) => !wanted.includes(pane))]);
  }

  /** Brings a pane itself into view, where they do not all fit side by side. @param {number} pane */
  scrollTo(pane) {
    if (this.shown().length * NARROWEST_PX < this.room) return;
    this.boxes[pane].root.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {number} pane */
  toggle(pane) {
    this.show(pane, this.boxes[pane]?.root.hidden);
  }

  /** @param {import("../scene/selection.js").Selection|null} selection */
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
      found.classList.toggle("fx-muted", !counts[pane]);
    }
  }

  /** @param {number} right the pane to the right of the bar */
  bar(right) {
    const left = () => this.shown()[this.shown().indexOf(right) - 1];
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
      label: `Width of ${this.name(right)}`,
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
