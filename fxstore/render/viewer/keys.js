// The keys, and what they do.

/** @type {[string[], string, string][]} keys, the action's name, what it does */
export const KEYS = [
  [["n", "p"], "next", "next and previous row of the answer"],
  [["/"], "search", "search in all panes; Enter and Shift+Enter go through what was found"],
  [["b", "B"], "trail", "back and forward through what was selected"],
  [["]", "["], "step", "next and previous node of the pane, in the graph's order"],
  [["u", "d"], "reach", "what the selection depends on, what depends on it: one hop more; U, D: all"],
  [["m", "M"], "fold", "close modules one level further; open one level"],
  [["e"], "beside", "open the neighbours that are not drawn, where a node counts them; tuck them away again"],
  [["c"], "copy", "copy the details as text"],
  [["f"], "fit", "fit every graph into its pane"],
  [["+", "-"], "zoom", "zoom the pane that has the focus, or all of them"],
  [["Arrows"], "pan", "move the pane that has the focus"],
  [["1 … 9"], "pane", "show or hide a pane"],
  [["w"], "columns", "graphs that are much taller than wide in columns, or not"],
  [["l"], "follow", "panes follow each other, or not"],
  [["a"], "answer", "fold or open the answer"],
  [["t"], "theme", "light, dark, as the system"],
  [["Esc"], "clear", "clear the search, then the selection"],
  [["?"], "help", "this list"],
];

const ACTIONS = {
  n: ["stepRow", 1],
  p: ["stepRow", -1],
  "/": ["search"],
  b: ["trail", -1],
  B: ["trail", 1],
  "]": ["stepNode", 1],
  "[": ["stepNode", -1],
  u: ["reach", "up", 1],
  d: ["reach", "down", 1],
  U: ["reach", "up", Infinity],
  D: ["reach", "down", Infinity],
  m: ["foldMore", 1],
  M: ["foldMore", -1],
  e: ["beside"],
  c: ["copy"],
  w: ["columns"],
  l: ["follow"],
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
