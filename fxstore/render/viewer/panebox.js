// The frame of a pane: title, count, buttons, and what it says about the selection.

import { grouped } from "./numbers.js";

const SEPARATOR = " · ";

/**
 * @param {ReturnType<import("./dom.js").builder>} h
 * @param {import("./scene.js").PaneScene} pane
 * @param {string} note what tells this pane from the others
 * @param {{fit: () => void, move: (step: 1|-1) => void, hide: () => void}} actions
 */
export function paneBox(h, pane, note, { fit, move, hide }) {
  const waiting = pane.graphs.filter((graph) => graph.beside);
  const drawn = pane.graphs.length - waiting.length;
  const graphs = drawn > 1 ? `${drawn} graphs` : "";
  const beside = waiting.reduce((sum, graph) => sum + graph.nodes, 0);
  const more = beside ? `${grouped(beside)} more to open` : "";
  const [own, ...rest] = note.split(SEPARATOR);
  const nodes = `${grouped(pane.end - pane.first - beside)} nodes`;
  const words = [own, nodes, graphs, more, ...rest].filter(Boolean).join(SEPARATOR);
  const found = h("span", { class: "fx-found", hidden: true });
  const status = h("div", { class: "fx-status", hidden: true });
  const mount = h("div", { class: "fx-mount" }, status);
  const view = h("div", { class: "fx-view" }, mount);
  const foot = h("div", { class: "fx-foot" });
  const title = pane.title || `pane ${pane.number + 1}`;
  const tool = (sign, words, label, onclick) =>
    h("button", { class: "fx-icon", title: words, "aria-label": `${label} ${title}`, onclick }, sign);
  const tools = [
    tool("‹", "Move this pane to the left", "Move left", () => move(-1)),
    tool("›", "Move this pane to the right", "Move right", () => move(1)),
    tool("×", "Hide this pane", "Hide", hide),
    tool("⤢", "Fit this pane", "Fit", fit),
  ];
  const head = h(
    "header",
    { class: "fx-pane-head" },
    h("div", { class: "fx-pane-title" }, h("h2", { title }, title), h("span", { class: "fx-pane-tools" }, ...tools)),
    h("p", { class: "fx-subtitle", title: `${words}. Drag to move the pane` }, found, words),
  );
  const root = h("section", { class: "fx-pane", "aria-label": title }, head, view, foot);
  return { root, head, mount, view, foot, status, found };
}

/**
 * What tells panes apart: their subtitles without the parts that all begin with, such as the one run's name.
 * @param {string[]} subtitles @returns {string[]}
 */
export function ownParts(subtitles) {
  const parts = subtitles.map((text) => text.split(SEPARATOR));
  const shared = parts.length > 1 ? parts[0].findIndex((part, i) => parts.some((other) => other[i] !== part)) : 0;
  return parts.map((own) => (shared < 0 ? own.slice(parts[0].length) : own.slice(shared)).join(SEPARATOR));
}

/**
 * What a pane says about the selection.
 * @param {import("./scene.js").Scene} scene @param {import("./selection.js").Selection} selection @param {number} pane
 * @returns {{mark: string, text: string, kind: "selected"|"primary"|"member"|"none"}}
 */
export function statusOf(scene, selection, pane) {
  const { members, lead, reason } = selection.shares[pane];
  if (lead < 0) return { mark: "○", text: reason ? `no counterpart: ${reason}` : "no counterpart", kind: "none" };
  const name = scene.text("name", lead) ?? "";
  const more = members.length > 1 ? ` +${members.length - 1}` : "";
  if (lead === selection.node) return { mark: "◉", text: `${name}${more}`, kind: "selected" };
  const kind = members[0].primary ? "primary" : "member";
  return { mark: kind === "primary" ? "◆" : "◌", text: `${name}${more}`, kind };
}
