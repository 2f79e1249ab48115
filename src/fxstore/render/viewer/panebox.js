// The frame of a pane: title, count, buttons, and what it says about the selection.

import { grouped } from "./numbers.js";

/**
 * @param {ReturnType<import("./dom.js").builder>} h
 * @param {import("./scene.js").PaneScene} pane
 * @param {{fit: () => void, hide: () => void}} actions
 */
export function paneBox(h, pane, actions) {
  const graphs = pane.graphs.length > 1 ? `${pane.graphs.length} graphs` : "";
  const words = [`${grouped(pane.end - pane.first)} nodes`, graphs, pane.subtitle].filter(Boolean).join(" · ");
  const found = h("span", { class: "fx-found", hidden: true });
  const status = h("div", { class: "fx-status", hidden: true });
  const mount = h("div", { class: "fx-mount" }, status);
  const title = pane.title || `pane ${pane.number + 1}`;
  const root = h(
    "section",
    { class: "fx-pane", "aria-label": title },
    h(
      "header",
      { class: "fx-pane-head" },
      h(
        "div",
        { class: "fx-pane-title" },
        h("h2", { title }, title),
        found,
        h("span", { class: "fx-grow" }),
        h(
          "button",
          { class: "fx-icon", title: "Fit this pane", "aria-label": `Fit ${title}`, onclick: actions.fit },
          "⤢",
        ),
        h(
          "button",
          { class: "fx-icon", title: "Hide this pane", "aria-label": `Hide ${title}`, onclick: actions.hide },
          "✕",
        ),
      ),
      h("p", { class: "fx-subtitle", title: words }, words),
    ),
    mount,
  );
  return { root, mount, status, found };
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
