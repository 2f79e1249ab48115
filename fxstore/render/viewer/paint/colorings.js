// The colourings that a page offers, each made when it is first asked for.

import { categoryColoring, metricColoring, numberColoring, roleColoring } from "./coloring.js";

export class Colorings {
  #made = [];
  #added = [];
  #ranges = new Map();
  /** Name of the sample that metrics show, where they have it; null: of each node the worst. */
  sample = null;
  /** The one that fills the boxes. */
  current = 0;
  /** Whether scales span the range of their values, whatever the metric means. */
  relative = false;

  /** @param {import("./scene.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    this.names = [...scene.header.colors.map(colorName), "role"];
    this.metricNames = [...scene.header.colors.map(({ metric }) => metric), "role"];
  }

  /** @param {number} index @returns {import("./coloring.js").Coloring} each overlay, then what a node is */
  at(index) {
    return (this.#made[index] ??= this.#make(index));
  }

  /** Offers one more, after all others. @param {import("./coloring.js").Coloring} coloring @returns {number} its index */
  add(coloring) {
    const known = this.names.indexOf(colorName(coloring));
    const index = known >= 0 ? known : this.names.length;
    this.names[index] = colorName(coloring);
    this.metricNames[index] = coloring.metric;
    this.#made[index] = coloring;
    if (known < 0) this.#added.push(index);
    return index;
  }

  #make(index) {
    const entry = this.scene.header.colors[index];
    if (!entry) return roleColoring(this.scene);
    if (entry.categories) return categoryColoring(this.scene, index);
    const sample = (entry.samples ?? []).indexOf(this.sample);
    return metricColoring(this.scene, index, this.#ranges.get(index) ?? null, sample, this.relative);
  }

  /** Shows a sample's numbers. @param {string|null} name null: of each node the worst */
  setSample(name) {
    this.sample = name;
    for (const [index, { samples }] of this.scene.header.colors.entries()) if (samples) delete this.#made[index];
  }

  /** Gives a metric's scale other ends. @param {number} index @param {{min: number, max: number}|null} range null: its own */
  setRange(index, range) {
    const { source } = this.at(index);
    this.#ranges.set(index, range);
    if (this.scene.header.colors[index]) delete this.#made[index];
    else if (source) this.#made[index] = numberColoring(this.scene, source, range, this.relative);
  }

  /** Gives every metric the scale that its values span, or the one that it means. @param {boolean} on */
  setRelative(on) {
    this.relative = on;
    for (const index of this.#made.keys()) if (this.#made[index]?.source) this.setRange(index, null);
  }

  /** @returns {import("./coloring.js").Coloring[]} all but what a node is */
  overlays() {
    return [...this.scene.header.colors.keys(), ...this.#added].map((index) => this.at(index));
  }

  /** @returns {import("./coloring.js").Coloring[]} those with categories, the one in use first */
  categorical() {
    const used = this.#made[this.current];
    return this.names
      .map((_, index) => this.at(index))
      .filter(({ categories }) => categories)
      .sort((a, b) => Number(b === used) - Number(a === used));
  }

  /** @returns {import("./coloring.js").Coloring[]} those with numbers, the one in use first */
  numeric() {
    const used = this.#made[this.current];
    return this.overlays()
      .filter(({ categories }) => !categories)
      .sort((a, b) => Number(b === used) - Number(a === used));
  }
}

/** @param {{metric: string, name: string}} color @returns {string} */
export function colorName({ metric, name }) {
  return name === metric ? metric : `${metric} · ${name}`;
}
