// The colourings that a page offers, each made when it is first asked for.

import { metricColoring, roleColoring } from "./coloring.js";

export class Colorings {
  #made = [];

  /** @param {import("./scene.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.names = [...scene.header.colors.map(colorName), "role"];
    this.metricNames = [...scene.header.colors.map(({ metric }) => metric), "role"];
  }

  /** @param {number} index @returns {import("./coloring.js").Coloring} each metric, then what a node is */
  at(index) {
    const { scene } = this;
    const make = index < scene.header.colors.length ? () => metricColoring(scene, index) : () => roleColoring(scene);
    return (this.#made[index] ??= make());
  }

  /** @returns {import("./coloring.js").Coloring[]} all but the last */
  metrics() {
    return this.scene.header.colors.map((_, index) => this.at(index));
  }

  /** Makes them all, one at a time, while nothing else is to be done. @param {Window} window */
  warm(window, index = 0) {
    if (index >= this.names.length) return;
    this.at(index);
    window.setTimeout(() => this.warm(window, index + 1), 20);
  }
}

/** @param {{metric: string, name: string}} color @returns {string} */
export function colorName({ metric, name }) {
  return name === metric ? metric : `${metric} · ${name}`;
}
