// The size of an element, known without asking for it: asking makes the browser lay the page out at once.

/**
 * @param {Element} element @param {(size: import("./viewport.js").Size) => void} changed with its first size, too
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
