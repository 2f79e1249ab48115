// The search field with its counts.

import { grouped } from "../scene/numbers.js";

export class SearchBox {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {import("../panes/compare.js").PaneCompare} compare */
  constructor(h, compare) {
    this.compare = compare;
    this.count = h("output", { class: "fx-count", "aria-live": "polite" });
    this.input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "search",
        placeholder: "Search nodes  /",
        "aria-label": "Search nodes by name, operator, module or target",
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => compare.search(this.input.value),
        onkeydown: (event) => this.key(event),
      })
    );
    this.root = h("div", { class: "fx-search", role: "search" }, this.input, this.count);
    compare.on("searchchange", ({ query, nodes }) => this.show(query, nodes));
    compare.on("selectionchange", () => this.show(this.input.value, compare.found.nodes));
  }

  key(event) {
    if (event.key === "Enter") {
      this.compare.stepFound(event.shiftKey ? -1 : 1);
      event.preventDefault();
    } else if (event.key === "Escape" && !this.input.value) this.input.blur();
  }

  show(query, nodes) {
    if (this.input.value !== query) this.input.value = query;
    const at = nodes.indexOf(this.compare.selection?.node ?? -1);
    const total = grouped(nodes.length);
    this.count.textContent = !query.trim() ? "" : at < 0 ? `${total} found` : `${at + 1} of ${total}`;
  }

  /** Empties the field. @returns {boolean} whether there was anything in it */
  clear() {
    if (!this.input.value) return false;
    this.compare.search("");
    return true;
  }
}
