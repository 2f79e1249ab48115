// Light, dark, or as the system.

import { THEMES } from "../paint/themes.js";

const CHOICES = ["system", "light", "dark"];
const SIGNS = { system: "◐", light: "☀", dark: "☾" };

export class ThemeSwitch {
  /**
   * @param {ReturnType<import("../page/dom.js").builder>} h
   * @param {HTMLElement} root
   * @param {(theme: import("../paint/themes.js").Theme) => void} changed
   */
  constructor(h, root, changed) {
    this.root = root;
    this.changed = changed;
    this.choice = "system";
    this.paper = false;
    this.query = root.ownerDocument.defaultView.matchMedia("(prefers-color-scheme: dark)");
    this.button = h("button", { onclick: () => this.next() });
    this.follow = () => this.choice === "system" && this.apply();
    this.query.addEventListener("change", this.follow);
    this.window = root.ownerDocument.defaultView;
    this.toPaper = () => this.onPaper(true);
    this.fromPaper = () => this.onPaper(false);
    this.window.addEventListener("beforeprint", this.toPaper);
    this.window.addEventListener("afterprint", this.fromPaper);
    this.apply();
  }

  /** Paper is white. @param {boolean} paper */
  onPaper(paper) {
    if (this.paper === paper) return;
    this.paper = paper;
    this.apply();
  }

  get theme() {
    if (this.paper) return THEMES.light;
    return this.choice === "system" ? THEMES[this.query.matches ? "dark" : "light"] : THEMES[this.choice];
  }

  next() {
    this.set(CHOICES[(CHOICES.indexOf(this.choice) + 1) % CHOICES.length]);
  }

  /** @param {string} choice `system`, `light` or `dark` */
  set(choice) {
    if (!CHOICES.includes(choice)) throw new RangeError(`no theme ${choice}; there are ${CHOICES.join(", ")}`);
    this.choice = choice;
    this.apply();
  }

  apply() {
    const { theme } = this;
    this.root.style.colorScheme = theme.name;
    this.root.dataset.theme = theme.name;
    for (const [name, color] of Object.entries(theme.chrome)) this.root.style.setProperty(`--fx-${name}`, color);
    for (const [name, color] of Object.entries(theme.graph)) this.root.style.setProperty(`--fx-graph-${name}`, color);
    this.button.textContent = SIGNS[this.choice];
    this.button.title = `Theme: ${this.choice} (t)`;
    this.button.setAttribute("aria-label", `Theme: ${this.choice}`);
    this.changed(theme);
  }

  destroy() {
    this.query.removeEventListener("change", this.follow);
    this.window.removeEventListener("beforeprint", this.toPaper);
    this.window.removeEventListener("afterprint", this.fromPaper);
  }
}
