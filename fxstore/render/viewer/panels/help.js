// The list of keys and marks, as a dialog.

import { KEYS } from "./keys.js";

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

/** @param {ReturnType<import("./dom.js").builder>} h @returns {HTMLDialogElement} empty until it is opened by `openHelp` */
export function helpDialog(h) {
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "fx-help", "aria-label": "Keys" }));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

/** @param {ReturnType<import("./dom.js").builder>} h @param {HTMLDialogElement} dialog */
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
