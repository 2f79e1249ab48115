// A menu of the layers, each to be ticked.

import { menu, tick } from "./menu.js";

export class LayerMenu {
  /**
   * @param {ReturnType<import("./dom.js").builder>} h
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

/** Fills a select anew and shows what is chosen. @param {ReturnType<import("./dom.js").builder>} h
 * @param {HTMLSelectElement} select @param {[string, string][]} options value, text @param {string} chosen */
export function fillSelect(h, select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => Object.assign(h("option", {}, text), { value })));
  select.value = chosen;
}
