// The keys, and what they do.

/** @type {[string[], string, string][]} keys, the action's name, what it does */
export const KEYS = [
  [["n"], "next", "next row of the answer"],
  [["p"], "previous", "previous row of the answer"],
  [["/"], "search", "search in all panes; Enter and Shift+Enter go through what was found"],
  [["]", "["], "step", "next and previous node of the pane, in the graph's order"],
  [["f"], "fit", "fit every graph into its pane"],
  [["+", "-"], "zoom", "zoom the pane that has the focus, or all of them"],
  [["Arrows"], "pan", "move the pane that has the focus"],
  [["1 … 9"], "pane", "show or hide a pane"],
  [["a"], "answer", "fold or open the answer"],
  [["t"], "theme", "light, dark, as the system"],
  [["Esc"], "clear", "clear the search, then the selection"],
  [["?"], "help", "this list"],
];

const ACTIONS = {
  n: ["stepRow", 1],
  p: ["stepRow", -1],
  "/": ["search"],
  "]": ["stepNode", 1],
  "[": ["stepNode", -1],
  a: ["answer"],
  f: ["fit"],
  t: ["theme"],
  "+": ["zoom", 1.3],
  "=": ["zoom", 1.3],
  "-": ["zoom", 1 / 1.3],
  Escape: ["clear"],
  "?": ["help"],
};
const PAN_PX = 60;
const ARROWS = { ArrowLeft: [PAN_PX, 0], ArrowRight: [-PAN_PX, 0], ArrowUp: [0, PAN_PX], ArrowDown: [0, -PAN_PX] };

/**
 * @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean}} event
 * @param {{typing: boolean, onCanvas: boolean}} where
 * @returns {[string, ...any[]]|null} an action and its arguments
 */
export function actionOf({ key, ctrlKey, metaKey, altKey }, { typing, onCanvas }) {
  if (ctrlKey || metaKey || altKey) return null;
  if (key === "Escape") return ["clear"];
  if (typing) return null;
  if (onCanvas && ARROWS[key]) return ["pan", ...ARROWS[key]];
  if (/^[1-9]$/.test(key)) return ["pane", Number(key) - 1];
  return Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : null;
}
