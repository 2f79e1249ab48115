// Pointer, wheel and pinch on a canvas, told to a target in the canvas's own pixels.

const CLICK_SLOP = 4;
const WHEEL_STEP = 0.0016;
const LINE_PX = 16;
const PAGE_PX = 400;

/**
 * @typedef {{pan: (dx: number, dy: number) => void, zoom: (x: number, y: number, factor: number) => void,
 *   click: (x: number, y: number) => void, hover: (x: number, y: number) => void, leave: () => void,
 *   double: (x: number, y: number) => void}} Target
 */

/** @param {HTMLElement} element @param {Target} target @returns {() => void} detaches */
export function attachGestures(element, target) {
  const fingers = new Map();
  let travelled = 0;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    if (fingers.size === 1) travelled = 0;
  };
  const move = (event) => {
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return target.hover(now.x, now.y);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    fingers.set(event.pointerId, now);
    if (other) pinch(target, other, before, now);
    else if (travelled > CLICK_SLOP) target.pan(now.x - before.x, now.y - before.y);
  };
  const up = (event) => {
    const was = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (was && event.type === "pointerup" && travelled <= CLICK_SLOP && !fingers.size) target.click(was.x, was.y);
  };
  const wheel = (event) => {
    event.preventDefault();
    const unit = [1, LINE_PX, PAGE_PX][event.deltaMode];
    const { x, y } = at(event);
    if (event.shiftKey) target.pan(-(event.deltaX || event.deltaY) * unit, 0);
    else target.zoom(x, y, Math.exp(-event.deltaY * unit * (event.ctrlKey ? 6 : 1) * WHEEL_STEP));
  };
  const double = (event) => target.double(at(event).x, at(event).y);
  const listeners = {
    pointerdown: down,
    pointermove: move,
    pointerup: up,
    pointercancel: up,
    pointerleave: target.leave,
    wheel,
    dblclick: double,
  };
  for (const [name, listener] of Object.entries(listeners))
    element.addEventListener(name, listener, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
  };
}

/** Two fingers: the one that moved gives pan and zoom around the middle. */
export function pinch(target, still, before, now) {
  const [was, is] = [before, now].map((point) => Math.hypot(point.x - still.x, point.y - still.y));
  target.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
  if (was > 1 && is > 1) target.zoom((still.x + now.x) / 2, (still.y + now.y) / 2, is / was);
}
