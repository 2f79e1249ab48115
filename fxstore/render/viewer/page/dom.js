// Elements from plain calls. Text only ever becomes text nodes and attribute values: nothing here parses HTML.

import { visible } from "./visible.js";

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
