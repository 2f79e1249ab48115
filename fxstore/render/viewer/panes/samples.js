// Which sample the coloured numbers are of: the worst of each node, or one prompt or decode step.

/** A slider under the arrow keys; there only where the metric in use has several samples. */
export class SampleSlider {
  /** @param {ReturnType<import("../page/dom.js").builder>} h @param {(name: string|null) => void} choose */
  constructor(h, choose) {
    this.samples = [];
    const oninput = () => choose(this.samples[Number(this.input.value) - 1] ?? null);
    this.input = h("input", { type: "range", min: 0, step: 1, "aria-label": "Sample", oninput });
    this.said = h("output", { class: "fx-muted" });
    this.root = h("label", { class: "fx-sample", hidden: true }, h("span", { class: "fx-muted" }, "Sample"), this.input, this.said);
  }

  /** @param {import("../paint/coloring.js").Coloring} coloring */
  show({ samples = [], sample = -1, allSamples: all = samples.length }) {
    this.samples = samples;
    this.root.hidden = samples.length < 2;
    if (this.root.hidden) return;
    const text = samples[sample] ?? `worst of ${all}`;
    this.input.max = String(samples.length);
    this.input.value = String(sample + 1);
    this.input.setAttribute("aria-valuetext", text);
    this.said.textContent = text;
    const left = all > samples.length ? `; the page has the first ${samples.length} of ${all}` : "";
    this.root.title = `Show the numbers of one sample (arrow keys)${left}`;
  }
}
