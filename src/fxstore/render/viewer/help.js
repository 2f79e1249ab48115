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

/** @param {ReturnType<import("./dom.js").builder>} h @returns {HTMLDialogElement} */
export function helpDialog(h) {
  const rows = KEYS.map(([keys, , text]) =>
    h("tr", {}, h("td", {}, ...keys.map((key) => h("kbd", {}, key))), h("td", {}, text)),
  );
  const marks = MARKS.map(([mark, text]) => h("tr", {}, h("td", {}, mark), h("td", {}, text)));
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { class: "fx-help", "aria-label": "Keys" },
      h("h2", {}, "Keys"),
      h("table", {}, ...rows),
      h("h2", {}, "Marks"),
      h("table", {}, ...marks),
      h("h2", {}, "Search"),
      h(
        "table",
        {},
        ...SEARCHES.map(([text, means]) => h("tr", {}, h("td", {}, h("code", {}, text)), h("td", {}, means))),
      ),
      h(
        "p",
        { class: "fx-muted" },
        "Drag to move, wheel or pinch to zoom, Shift and wheel to move sideways. Click a line for its value, a module's head for its statistics; double click the head to close or open it, or beside the nodes to fit.",
      ),
      h("button", { onclick: () => dialog.close() }, "Close"),
    )
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
