// The list of keys and marks, as a dialog.

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

const MARKS = [
  ["◉ thick ring", "the selected node"],
  ["◆ thick ring", "its counterpart that holds the value"],
  ["◌ dashed ring", "other nodes of the same computation"],
  ["purple, orange", "what the selection depends on (u), what depends on it (d)"],
  ["+12 ▸", "neighbours that are not drawn; a click opens the nearest of them (e)"],
  ["numbers", "rank in the answer; hollow: the counterpart of a ranked node"],
];

const SEARCHES = [
  ["conv layer.3", "both words, in name, operator, module or target"],
  ["op:conv2d", "a field: name, op, target, module, dtype, shape, role, backend, source, code, attrs, stage, graph"],
  ["cosine<0.9", "a metric; also >, <=, >=, =, !=, and units: latency>1ms"],
  ["cosine:nan", "nan, inf, missing (there is a reason) or none (no data)"],
  ['-view "a b"', "not this; words together"],
];

/** @param {ReturnType<import("../page/dom.js").builder>} h @returns {HTMLDialogElement} empty until it is opened by `openHelp` */
export function helpDialog(h) {
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "fx-help", "aria-label": "Keys" }));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

/** @param {ReturnType<import("../page/dom.js").builder>} h @param {HTMLDialogElement} dialog */
export function openHelp(h, dialog) {
  if (!dialog.firstChild) dialog.append(...helpContent(h, () => dialog.close()));
  dialog.showModal();
}

function helpContent(h, close) {
  const table = (rows) =>
    h("table", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell)))));
  const keys = KEYS.map(([names, , text]) => [h("span", {}, ...names.map((name) => h("kbd", {}, name))), text]);
  const searches = SEARCHES.map(([text, means]) => [h("code", {}, text), means]);
  return [
    h("div", { class: "fx-help-head" }, h("h2", {}, "Keys"), h("button", { onclick: close }, "Close")),
    table(keys),
    h("h2", {}, "Marks"),
    table(MARKS),
    h("h2", {}, "Search"),
    table(searches),
    h(
      "p",
      { class: "fx-muted" },
      "Drag to move, wheel or pinch to zoom, Shift and wheel to move sideways. Drag a pane by its head to another place. Click a line for its value, a module's head for its statistics; double click the head to close or open it, or beside the nodes to fit.",
    ),
  ];
}
