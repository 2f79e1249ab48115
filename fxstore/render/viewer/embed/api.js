// What an embedding page gets: `window.fxstore` with the viewer and the compare of the RFC, and what its scripts mounted.

import { FXGraphCompare } from "./compare.js";
import { PayloadPage, startState } from "./page.js";
import { FXGraphViewer } from "./viewer.js";
import { isCompare } from "./graphjson.js";
import { island, useStyle } from "../page/island.js";
import { inflate } from "../scene/payload.js";

export const EMBED_VERSION = 1;
/** What the window hears when `window.fxstore` is there; scripts that do not carry the viewer wait for it. */
const READY = "fxstoreready";

/** @type {WeakMap<Element, Promise<any>>} */
const SHOWN = new WeakMap();

function embedApi() {
  return {
    embedVersion: EMBED_VERSION,
    FXGraphViewer,
    FXGraphCompare,
    mount: (place, payload, options) => mounted(place, Promise.resolve(payload), options),
    mountPacked: (place, packed, options) => mounted(place, unpacked(packed), options),
    mounted: (place) =>
      SHOWN.get(typeof place === "string" ? globalThis.document.getElementById(place) : place) ?? null,
  };
}

/**
 * Puts the API into the page, unless one of the same version is there.
 * @param {Window & Record<string, any>} window @param {string} style sheet of embedded viewers
 * @param {any} [own] what a page of ours adds to it
 */
export function install(window, style, own = null) {
  if (!own && window.fxstore?.embedVersion === EMBED_VERSION) return;
  useStyle(style);
  window.fxstore = { ...window.fxstore, ...own, ...embedApi() };
  window.FXGraphViewer = FXGraphViewer;
  window.FXGraphCompare = FXGraphCompare;
  window.dispatchEvent(new Event(READY));
}

/** @param {string} packed base64 of gzip of JSON @returns {Promise<any>} */
export async function unpacked(packed) {
  return JSON.parse(new TextDecoder().decode(await inflate(packed)));
}

/**
 * Shows a payload in an element; what an earlier call showed there goes.
 * @param {Element|string} place element or id @param {Promise<any>} payload @param {any} [options] of `FXGraphViewer.create`
 * @returns {Promise<any>} the viewer, or the page of several graphs
 */
function mounted(place, payload, options = {}) {
  const { document } = globalThis;
  const element = typeof place === "string" ? document.getElementById(place) : place;
  if (!element) return Promise.reject(new RangeError(`no element with the id ${JSON.stringify(place)} on this page`));
  const before = SHOWN.get(element);
  const shown = Promise.resolve(before)
    .catch(() => null)
    .then((earlier) => earlier?.destroy())
    .then(() => payload)
    .then((given) => show(element, given, options));
  SHOWN.set(element, shown);
  shown.catch((error) => element.append(`This graph cannot be shown: ${error.message}`));
  return shown;
}

function show(element, payload, options) {
  if (isCompare(payload)) {
    const { root, remove } = island(
      element,
      "compare",
      Math.round(0.85 * element.ownerDocument.defaultView.innerHeight),
    );
    const page = new PayloadPage(root, payload, options);
    return Object.assign(page, {
      destroy: () => {
        page.app.destroy();
        remove();
      },
    });
  }
  const state = { ...startState(payload), ...options.state };
  const viewer = FXGraphViewer.create({ ...options, payload, state, mount: { root: element, ...options.mount } });
  return viewer.init();
}
