// The size of an element, known without asking for it: asking makes the browser lay the page out at once.

/**
 * @param {Element} element @param {(size: import("../paint/viewport.js").Size) => void} changed with its first size, too
 * @returns {() => void} stops
 */
export function watchSize(element, changed) {
  const { ResizeObserver } = element.ownerDocument.defaultView;
  const observer = new ResizeObserver(([{ contentRect }]) =>
    changed({ width: contentRect.width, height: contentRect.height }),
  );
  observer.observe(element);
  return () => observer.disconnect();
}

// A bar between two parts of the page that is dragged, or moved with the arrow keys.

const KEY_STEP = 24;

/**
 * @param {(tag: string, attributes?: Record<string, any>) => HTMLElement} h
 * @param {{label: string, vertical: boolean, read: () => number, write: (px: number) => void, sign: 1|-1}} options
 *   vertical: the bar stands upright and moves sideways; sign: 1 when a part grows as the bar moves right or down
 */
export function splitter(h, { label, vertical, read, write, sign }) {
  let start = null;
  const place = (event) => (vertical ? event.clientX : event.clientY);
  const bar = h("div", {
    class: `fx-split ${vertical ? "fx-split-v" : "fx-split-h"}`,
    role: "separator",
    tabindex: 0,
    "aria-label": label,
    "aria-orientation": vertical ? "vertical" : "horizontal",
    onpointerdown: (event) => {
      bar.setPointerCapture(event.pointerId);
      start = { at: place(event), size: read() };
      event.preventDefault();
    },
    onpointermove: (event) => start && write(start.size + sign * (place(event) - start.at)),
    onpointerup: () => (start = null),
    onpointercancel: () => (start = null),
    onkeydown: (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!step) return;
      write(read() + sign * step * KEY_STEP);
      event.preventDefault();
      event.stopPropagation();
    },
  });
  return bar;
}
