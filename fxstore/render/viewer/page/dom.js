// Elements from plain calls. Text only ever becomes text nodes and attribute values: nothing here parses HTML.

// Text from a model as it is: characters that a reader cannot see, or that reorder text, are spelled out.

const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]/u;
const ALL_HIDDEN = new RegExp(HIDDEN.source, "gu");

/** @param {string} text @returns {string} */
export function visible(text) {
  return HIDDEN.test(text) ? text.replace(ALL_HIDDEN, spelled) : text;
}

/** @param {string} char */
function spelled(char) {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** @param {string} text @param {number} most characters @returns {string} */
export function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/**
 * @param {Document} document @param {string} tag
 * @param {Record<string, any>} [attributes] functions become listeners of the event in their name (`onclick`); false and null are left out
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function element(document, tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") out.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false && value !== undefined)
      out.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    out.append(typeof child === "string" ? visible(child) : child);
  }
  return out;
}

/**
 * @param {Document} document
 * @returns {(tag: string, attributes?: Record<string, any>, ...children: any[]) => HTMLElement}
 */
export function builder(document) {
  return (tag, attributes, ...children) => element(document, tag, attributes, ...children);
}

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

// Named events with any number of listeners.

export class Emitter {
  #listeners = new Map();

  /**
   * @param {string} event
   * @param {(detail: any) => void} listener
   * @returns {() => void} takes the listener off again
   */
  on(event, listener) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
    this.#listeners.get(event).add(listener);
    return () => this.off(event, listener);
  }

  /** @param {string} event @param {(detail: any) => void} listener */
  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }

  /** @param {string} event @param {any} [detail] */
  emit(event, detail) {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(detail);
  }
}

// A table as text for another program, and the way to the clipboard.

/** @param {HTMLTableElement} table @returns {string} cells apart by tabs, rows by lines */
export function tableText(table) {
  const cell = (element) =>
    element.innerText
      .trim()
      .replace(/\s*\n\s*/g, " | ")
      .replaceAll("\t", " ");
  return [...table.rows].map((row) => [...row.cells].map(cell).join("\t")).join("\n");
}

/** @param {Document} document @param {string} text @returns {Promise<void>} */
export async function copyText(document, text) {
  try {
    await document.defaultView.navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
