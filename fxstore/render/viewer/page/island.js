// A part of the viewer in someone else's page: an element with a shadow root, so that neither page's style spoils the other.

const FALLBACK_PX = 480;
const LEAST_PX = 24;

/** @type {WeakMap<Document, CSSStyleSheet>} */
const SHEETS = new WeakMap();
/** The style sheet of embedded viewers; set once, by the bundle. */
const EMBED_STYLE = { text: "" };

/** @param {string} text */
export function useStyle(text) {
  EMBED_STYLE.text = text;
}

/**
 * @param {Element|ShadowRoot} parent what stands in it stays untouched @param {string} part
 * @param {number} [height] in pixels, where the parent has none of its own
 * @returns {{host: HTMLElement, root: HTMLElement, setShown: (shown: boolean) => void, remove: () => void}} root: where to build
 */
export function island(parent, part, height = FALLBACK_PX) {
  const document = parent.ownerDocument;
  const host = document.createElement("fxstore-view");
  host.dataset.part = part;
  const shadow = host.attachShadow({ mode: "open" });
  addStyle(shadow, document);
  const root = document.createElement("div");
  root.className = "fx fx-embed";
  shadow.append(root);
  parent.append(host);
  const observer = new document.defaultView.ResizeObserver(() => {
    if (host.clientWidth && host.clientHeight < LEAST_PX) host.style.setProperty("--fx-height", `${height}px`);
  });
  observer.observe(host);
  return {
    host,
    root,
    setShown: (shown) => host.style.setProperty("--fx-display", shown ? "block" : "none"),
    remove: () => {
      observer.disconnect();
      host.remove();
    },
  };
}

/** A sheet made by script is not a matter of the page's content security policy; a style element is. */
function addStyle(shadow, document) {
  const { CSSStyleSheet } = document.defaultView;
  try {
    if (!SHEETS.has(document)) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(EMBED_STYLE.text);
      SHEETS.set(document, sheet);
    }
    shadow.adoptedStyleSheets = [SHEETS.get(document)];
  } catch {
    const style = document.createElement("style");
    style.textContent = EMBED_STYLE.text;
    shadow.append(style);
  }
}
