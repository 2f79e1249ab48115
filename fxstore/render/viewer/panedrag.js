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
