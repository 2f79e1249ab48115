// The text in a node's box.

import { visible } from "../page/dom.js";

export const TITLE_FONT = '600 12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const NAME_FONT = '10.5px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const LINE_HEIGHT = 14;
const LONGEST = 200;
const ENDS = new Set(["placeholder", "get_attr"]);

/**
 * @param {import("../scene/scene.js").Scene} scene
 * @param {number} node
 * @returns {[string, string]} what it does, and its name; of a placeholder what it stands for
 */
export function labelOf(scene, node) {
  const layered = scene.layers?.label(node) ?? [];
  if (layered.length) return [layered[0], scene.text("name", node) ?? ""];
  const [op, type, role] = ["op", "op_type", "role"].map((field) => scene.text(field, node));
  const title = (op !== null && ENDS.has(op) ? (role ?? type) : (type ?? role)) ?? op ?? "";
  const given = op === "placeholder" ? scene.text("target", node) : null;
  return [title, given || (scene.text("name", node) ?? "")];
}

/**
 * @param {import("../scene/scene.js").Scene} scene @param {number} node @param {string|null} second shown instead of its name
 * @returns {string[]} the lines of its box that fit: first what it does, then what layers say, then its name
 */
export function linesOf(scene, node, second) {
  const [title, own] = labelOf(scene, node);
  const name = second ?? own;
  const said = scene.layers ? [...scene.layers.label(node).slice(1), ...scene.layers.lines(node)] : [];
  const room = Math.max(1, Math.floor(scene.height[node] / LINE_HEIGHT));
  const more = said.slice(0, room - 1);
  if (more.length < said.length && more.length) more[more.length - 1] = `${more.at(-1)} …`;
  return name !== title && more.length < room - 1 ? [title, name, ...more] : [title, ...more];
}

/**
 * Cuts text to a width: its middle goes, since names differ at their ends.
 * @param {string} text @param {number} room @param {(text: string) => number} measure @returns {string}
 */
export function fittedText(text, room, measure) {
  const shown = visible(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
  const width = measure(shown);
  if (width <= room) return shown;
  let keep = Math.floor((shown.length * room) / width) - 1;
  while (keep > 1) {
    const cut = `${shown.slice(0, Math.ceil(keep / 2))}…${shown.slice(shown.length - Math.floor(keep / 2))}`;
    if (measure(cut) <= room) return cut;
    keep--;
  }
  return "…";
}

/**
 * Cuts a module's path to a width: its last parts say most.
 * @param {string} path @param {number} room @param {(text: string) => number} measure @returns {string}
 */
export function fittedPath(path, room, measure) {
  const shown = visible(path.length > LONGEST ? `…${path.slice(-LONGEST)}` : path);
  if (measure(shown) <= room) return shown;
  for (let cut = shown.indexOf("."); cut >= 0 && cut < shown.length - 1; cut = shown.indexOf(".", cut + 1))
    if (measure(`…${shown.slice(cut + 1)}`) <= room) return `…${shown.slice(cut + 1)}`;
  return fittedText(shown.slice(shown.lastIndexOf(".") + 1), room, measure);
}

/** Remembers fitted text, since drawing asks for the same again and again. */
export class Labels {
  /** @param {CanvasRenderingContext2D} context used to measure only */
  constructor(context) {
    this.context = context;
    this.known = new Map();
  }

  /** @param {string} text @param {string} font @param {number} room @returns {string} */
  fit(text, font, room) {
    return this.#fitted(text, font, room, fittedText).text;
  }

  /** @returns {{text: string, width: number}} as of `fittedText`, and how wide that is */
  title(text, font, room) {
    return this.#fitted(text, font, room, fittedText);
  }

  /** @returns {{text: string, width: number}} as of `fittedPath`, and how wide that is */
  path(path, font, room) {
    return this.#fitted(path, font, room, fittedPath);
  }

  #fitted(given, font, room, fit) {
    const key = `${fit === fittedPath}${font}\n${room}\n${given}`;
    let known = this.known.get(key);
    if (known === undefined) {
      this.context.font = font;
      const measure = (part) => this.context.measureText(part).width;
      const text = fit(given, room, measure);
      known = { text, width: measure(text) };
      if (this.known.size > 20000) this.known.clear();
      this.known.set(key, known);
    }
    return known;
  }
}
