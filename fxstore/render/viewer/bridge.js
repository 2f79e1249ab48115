// What a page says to the document that frames it, such as a notebook, and what that one may ask: the selection, no more.

const NAME = "fxstore";

/**
 * @param {Window} window of the page
 * @param {{select: (nid: number|null) => void, selected: () => number|null, on: (event: string, listener: () => void) => unknown}} api
 */
export function attachBridge(window, api) {
  const { parent } = window;
  if (!parent || parent === window) return;
  const tell = (message) => parent.postMessage({ [NAME]: 1, ...message }, "*");
  window.addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.[NAME] !== 1 || !("select" in data)) return;
    const { select } = data;
    if (select !== null && !Number.isSafeInteger(select)) return;
    if (select === api.selected()) return;
    try {
      api.select(select);
    } catch (error) {
      tell({ refused: String(error.message) });
    }
  });
  api.on("selectionchange", () => tell({ selected: api.selected() }));
  tell({ ready: true });
}
