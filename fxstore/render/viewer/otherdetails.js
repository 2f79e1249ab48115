// The details of what is no node: an edge, a module.

import { edgeFacts } from "./edgefacts.js";
import { metricText } from "./metrictext.js";
import { modulePath, moduleStats } from "./modules.js";
import { grouped, isTime, withUnit } from "./numbers.js";
import { visible } from "./visible.js";

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {import("./scene.js").Scene} scene @param {number} edge
 * @param {(node: number) => void} select @returns {HTMLElement}
 */
export function edgeDetails(h, scene, edge, select) {
  const facts = edgeFacts(scene, edge);
  const name = (node) => scene.text("name", node) ?? "node";
  const link = (node, rest = "") => nodeButton(h, `${name(node)}${rest}`, () => select(node));
  const port = facts.port ? `:${facts.port}` : "";
  const others = facts.others.map(({ node, port: other, pane, evidence }) =>
    h(
      "span",
      { class: "fx-pair" },
      `${scene.panes[pane].title}: `,
      link(node, other ? `:${other}` : ""),
      ` ${evidence}`,
    ),
  );
  return factTable(h, `Value ${visible(name(facts.source))}${port}`, [
    ["from", link(facts.source, port)],
    ["port", String(facts.port)],
    ["to", link(facts.target)],
    ["argument", facts.argument || "not known"],
    ["dtype", facts.dtype || "not known"],
    ["shape", facts.shape || "not known"],
    ["uses of this value", grouped(facts.uses)],
    ["compared with", others.length ? h("span", {}, ...others) : "no value pair on this page"],
  ]);
}

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {import("./scene.js").Scene} scene
 * @param {{pane: number, block: number}} module @param {import("./coloring.js").Coloring[]} colorings
 * @param {{select: (node: number) => void, toggle: () => void}} actions @returns {HTMLElement}
 */
export function moduleDetails(h, scene, { pane, block }, colorings, { select, toggle }) {
  const part = scene.panes[pane];
  const own = (coloring) => moduleStats(scene, part, coloring)[block - scene.hierarchy(part).first];
  const numeric = colorings.filter(({ categories }) => !categories);
  const { nodes } = own(numeric[0] ?? colorings[0] ?? { categories: [] });
  const rows = numeric.flatMap((coloring) => {
    const { worst, measured, sum } = own(coloring);
    if (worst < 0) return [];
    const button = nodeButton(h, scene.text("name", worst) ?? "node", () => select(worst));
    const word = coloring.better ? "worst" : "highest";
    const label = `${coloring.metric} · ${coloring.name}`;
    const total = isTime(coloring.unit) ? `, sum ${withUnit(sum, coloring.unit)}` : "";
    return [
      [
        label,
        h("span", {}, `${word} ${metricText(scene, coloring, worst)} at `, button, ` of ${measured} measured${total}`),
      ],
    ];
  });
  const closed = part.closed.has(block);
  return factTable(h, `Module ${visible(modulePath(scene, block))}`, [
    ["stage", part.title],
    ["nodes", grouped(nodes)],
    ...rows,
    ["", h("button", { onclick: toggle }, closed ? "Open (double click)" : "Close (double click)")],
  ]);
}

function nodeButton(h, text, onclick) {
  return h("button", { class: "fx-chip", onclick }, text);
}

function factTable(h, caption, rows) {
  return h(
    "table",
    { class: "fx-table fx-facts-table" },
    h("caption", {}, caption),
    h("tbody", {}, ...rows.map(([label, value]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, value)))),
  );
}
