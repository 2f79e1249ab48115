// What a click on the legend found, listed pane by pane.

import { metricText } from "./metrictext.js";
import { grouped } from "./numbers.js";

const MOST_LISTED = 100;

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {import("./compare.js").PaneCompare} compare
 * @param {number[]} panes those in view, in order @param {(node: number) => void} select
 * @returns {HTMLElement}
 */
export function foundList(h, compare, panes, select) {
  const { scene, found, coloring } = compare;
  const rows = panes.map((pane) => {
    const { first, end, title } = scene.panes[pane];
    const nodes = found.nodes.filter((node) => node >= first && node < end);
    const chips = nodes.slice(0, MOST_LISTED).map((node) => {
      const told = { class: "fx-chip", title: metricText(scene, coloring, node), onclick: () => select(node) };
      return h("button", told, scene.text("name", node) ?? "");
    });
    const more = nodes.length - chips.length;
    const rest = more > 0 && h("span", { class: "fx-muted" }, `${grouped(more)} more`);
    const head = h("th", { scope: "row" }, `${title}: ${grouped(nodes.length)}`);
    return nodes.length ? h("tr", {}, head, h("td", {}, h("div", { class: "fx-listed" }, ...chips, rest))) : null;
  });
  const caption = h("caption", {}, `${grouped(found.nodes.length)} found: ${compare.query}`);
  return h("table", { class: "fx-table fx-facts-table" }, caption, h("tbody", {}, ...rows));
}
