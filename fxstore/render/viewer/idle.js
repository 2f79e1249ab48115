// Work that can wait until nothing else is to be done.

const LATEST_MS = 4000;
const PAUSE_MS = 50;

/** @param {Window} window @param {(() => void)[]} steps one at a time, in order @returns {() => void} drops the rest */
export function whenIdle(window, steps) {
  const soon = window.requestIdleCallback
    ? (step) => window.requestIdleCallback(step, { timeout: LATEST_MS })
    : (step) => window.setTimeout(step, PAUSE_MS);
  let left = [...steps];
  const next = () => {
    left.shift()?.();
    if (left.length) soon(next);
  };
  soon(next);
  return () => (left = []);
}
