// How panes are synchronised, to be chosen.

import { fillSelect } from "./layermenu.js";

const TEXTS = { auto: "automatic", id: "same id", none: "not at all" };

export class SyncSelect {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h @param {() => {layer: string, field: string}[]} keys fields that layers offer
   * @param {(sync: import("./sync.js").SyncMode) => void} changed
   */
  constructor(h, keys, changed) {
    Object.assign(this, { h, keys });
    this.select = h("select", {
      "aria-label": "Synchronise by",
      onchange: () => changed(JSON.parse(this.select.value)),
    });
    this.root = h("label", { class: "fx-by" }, h("span", { class: "fx-muted" }, "Sync"), this.select);
  }

  /** @param {import("./sync.js").SyncMode} sync */
  show({ mode, layer, field }) {
    const modes = Object.entries(TEXTS).map(([name, text]) => [choiceKey({ mode: name }), text]);
    const fields = this.keys();
    const own = mode === "layer" && !fields.some((one) => one.layer === layer && one.field === field);
    if (own) fields.push({ layer, field });
    const layers = fields.map((one) => [choiceKey({ mode: "layer", ...one }), `${one.layer}.${one.field}`]);
    const chosen = mode === "layer" ? choiceKey({ mode, layer, field }) : choiceKey({ mode });
    fillSelect(this.h, this.select, [...modes, ...layers], chosen);
  }
}

function choiceKey({ mode, layer, field }) {
  return JSON.stringify(mode === "layer" ? { mode, layer, field } : { mode });
}
