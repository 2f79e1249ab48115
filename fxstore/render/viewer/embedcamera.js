// Where an embedded viewer looks, in the terms of its host: pixels that the picture is moved by, and its scale.

import { centred } from "./viewport.js";

/**
 * @typedef {import("./viewer.js").PaneViewer} Pane
 */

/** @param {Pane} pane @param {{x?: number, y?: number, k?: number}} camera what it does not say stays */
export function useCamera(pane, { x, y, k }) {
  if (!pane.view) return;
  const scale = Number.isFinite(k) && k > 0 ? k : pane.view.scale;
  const at = (given, own) => (Number.isFinite(given) ? -given / scale : own);
  pane.setView({ x: at(x, pane.view.x), y: at(y, pane.view.y), scale });
}

/** @param {Pane} pane @param {number} node @param {number|undefined} k the present scale where it is none @param {boolean} animate */
export function centerOn(pane, node, k, animate) {
  if (!pane.view) return void pane.reveal(node, { least: k ?? 0 });
  const scale = Number.isFinite(k) && k > 0 ? k : pane.view.scale;
  pane.goTo(centred(pane.scene.x[node], pane.scene.y[node], scale, pane.size), animate);
}

/** Takes the canvas's size as it is, without waiting for the browser to tell it. @param {Pane} pane */
export function takeSize(pane) {
  pane.resize({ width: pane.canvas.clientWidth, height: pane.canvas.clientHeight });
}
