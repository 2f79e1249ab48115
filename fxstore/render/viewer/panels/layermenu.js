// A menu of the layers, each to be ticked.

import { menu, tick } from "./menus.js";

export class LayerMenu {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h
   * @param {{names: () => Map<string, string>, active: () => string[], change: (ids: string[]) => void}} layers
   */
  constructor(h, layers) {
    Object.assign(this, { h, layers });
    this.root = menu(h, "Layers", "Which layers write into the boxes, tooltips and details");
    this.content = this.root.lastChild;
    this.refresh();
  }

  refresh() {
    const { h, layers } = this;
    const active = layers.active();
    const ticks = [...layers.names()].map(([id, name]) => {
      const one = tick(h, name, (on) =>
        layers.change(on ? [...layers.active(), id] : layers.active().filter((other) => other !== id)),
      );
      one.dataset.layer = id;
      one.box.checked = active.includes(id);
      return one;
    });
    this.root.hidden = !ticks.length;
    const focused = this.content.getRootNode().activeElement?.closest?.("[data-layer]")?.dataset.layer;
    this.content.replaceChildren(...ticks);
    ticks.find((one) => one.dataset.layer === focused)?.box.focus();
  }
}

/** Fills a select anew and shows what is chosen. @param {ReturnType<import("../page/dom.js").builder>} h
 * @param {HTMLSelectElement} select @param {[string, string][]} options value, text @param {string} chosen */
export function fillSelect(h, select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => Object.assign(h("option", {}, text), { value })));
  select.value = chosen;
}

// How panes are synchronised, to be chosen.


const TEXTS = { auto: "automatic", id: "same id", none: "not at all" };

export class SyncSelect {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h @param {() => {layer: string, field: string}[]} keys fields that layers offer
   * @param {(sync: import("../embed/sync.js").SyncMode) => void} changed
   */
  constructor(h, keys, changed) {
    Object.assign(this, { h, keys });
    this.select = h("select", {
      "aria-label": "Synchronise by",
      onchange: () => changed(JSON.parse(this.select.value)),
    });
    this.root = h("label", { class: "fx-by" }, h("span", { class: "fx-muted" }, "Sync"), this.select);
  }

  /** @param {import("../embed/sync.js").SyncMode} sync */
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
