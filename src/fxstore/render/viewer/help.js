// The list of keys and marks, as a dialog.

import { KEYS } from "./keys.js";

const MARKS = [
  ["◉ thick ring", "the selected node"],
  ["◆ thick ring", "its counterpart that holds the value"],
  ["◌ dashed ring", "other nodes of the same computation"],
  ["numbers", "rank in the answer; hollow: the counterpart of a ranked node"],
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
      h(
        "p",
        { class: "fx-muted" },
        "Drag to move, wheel or pinch to zoom, Shift and wheel to move sideways, double click beside the nodes to fit.",
      ),
      h("button", { onclick: () => dialog.close() }, "Close"),
    )
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
