// Themes by name: the two of the page, and those that a host registers.

import { isObject } from "./graphjson.js";
import { merged } from "./layout.js";
import { THEMES } from "../paint/themes.js";

const REGISTERED = new Map();
const PARTS = new Set(["chrome", "graph", "scale", "neutral", "roles", "categories", "changes"]);
/** Names that the prototype's themes use, and what they are here. */
const FLAT = {
  bg: [
    ["graph", "paper"],
    ["chrome", "bg"],
  ],
  text: [["chrome", "ink"]],
  textMuted: [["chrome", "muted"]],
  uiBg: [
    ["chrome", "panel"],
    ["chrome", "raised"],
  ],
  uiBorder: [["chrome", "line"]],
  uiHover: [["chrome", "tint"]],
  nodeFill: [["roles", "op"]],
  nodeBorder: [["graph", "border"]],
  edgeNormal: [["graph", "edge"]],
  nodeSelected: [
    ["graph", "select"],
    ["graph", "member"],
    ["chrome", "accent"],
  ],
};
const COLOR = /^#[0-9a-f]{6}$/i;

/**
 * @param {string} name @param {any} tokens colours as `#rrggbb`: `{dark, chrome, graph, roles, …}` as in this viewer's own
 *   themes, of which any may be left out, or the prototype's flat names; `dark` says which theme gives the rest
 */
export function registerTheme(name, tokens) {
  if (typeof name !== "string" || !name || !isObject(tokens))
    throw new TypeError("registerTheme needs a name and an object of colours");
  const patch = {};
  for (const [key, value] of Object.entries(tokens)) {
    if (PARTS.has(key)) patch[key] = colors(value);
    for (const [part, own] of Object.hasOwn(FLAT, key) && COLOR.test(value) ? FLAT[key] : [])
      (patch[part] ??= {})[own] ??= value;
  }
  const base = THEMES[tokens.dark ? "dark" : "light"];
  REGISTERED.set(name, { ...merged(base, patch), name, dark: base.dark });
}

/** @returns {string[]} */
export function themeNames() {
  return [...new Set([...Object.keys(THEMES), ...REGISTERED.keys()])];
}

/** @param {string} name @returns {import("../paint/themes.js").Theme|null} */
export function themeNamed(name) {
  return REGISTERED.get(name) ?? (Object.hasOwn(THEMES, name) ? THEMES[name] : null);
}

/** Makes a theme's colours the variables that the style sheet reads. @param {HTMLElement} root @param {import("../paint/themes.js").Theme} theme */
export function applyTheme(root, theme) {
  root.style.colorScheme = theme.dark ? "dark" : "light";
  root.dataset.theme = theme.name;
  for (const [name, color] of Object.entries(theme.chrome)) root.style.setProperty(`--fx-${name}`, color);
  for (const [name, color] of Object.entries(theme.graph)) root.style.setProperty(`--fx-graph-${name}`, color);
}

function colors(value) {
  if (Array.isArray(value)) return value.filter((color) => COLOR.test(color));
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, color]) => COLOR.test(color)));
}
