// One details table for the selected nodes of several viewers, a column each.

import { detailRows } from "./facts.js";

/**
 * @typedef {import("./embedviewer.js").FXGraphViewer} FXGraphViewer
 */

/**
 * @param {FXGraphViewer[]} viewers @param {number} origin the one that was clicked
 * @returns {{label: string, cells: import("./facts.js").Cell[]}[]} one cell per viewer; what differs from the clicked node's is marked
 */
export function mergedRows(viewers, origin) {
  const parts = viewers.map(({ scene, core }) => {
    const rows = core.selection ? detailRows(scene, core.selection, [0], []) : [];
    return new Map(rows.map(({ label, cells }) => [label, cells[0]]));
  });
  const order = [parts[origin], ...parts].flatMap((own) => [...(own?.keys() ?? [])]);
  return [...new Set(order)].map((label) => {
    const reference = parts[origin]?.get(label)?.text ?? "";
    const compared = label !== "name" && label !== "inputs" && label !== "graph";
    const cells = parts.map((own, i) => {
      const cell = own.get(label) ?? { text: "", kind: "text" };
      return { ...cell, differs: compared && i !== origin && own.size > 0 && cell.text !== reference };
    });
    return { label, cells };
  });
}

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {FXGraphViewer[]} viewers @param {string[]} names @param {number} origin
 * @returns {HTMLElement}
 */
export function mergedTable(h, viewers, names, origin) {
  const rows = mergedRows(viewers, origin);
  if (!rows.length) return h("p", { class: "fx-about" }, "Click a node: what it became is shown in every graph.");
  const cell = ({ text, differs, kind }) =>
    h(
      "td",
      { class: differs ? "fx-differs" : null },
      kind === "code" && text
        ? h("code", {}, ...text.split("\n").map((line) => h("span", { class: "fx-line" }, line)))
        : text,
    );
  return h(
    "table",
    { class: "fx-table" },
    h("thead", {}, h("tr", {}, h("td", {}), ...names.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...rows.map(({ label, cells }) => h("tr", {}, h("th", { scope: "row" }, label), ...cells.map(cell))),
    ),
  );
}
