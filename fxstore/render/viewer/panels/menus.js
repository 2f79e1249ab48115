// A button that opens a small panel: what is not needed all the time.

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {string} label @param {string} title
 * @param {...(Node|string|null)} content
 * @returns {HTMLDetailsElement} closes on Escape, on a click elsewhere, and when another one opens
 */
export function menu(h, label, title, ...content) {
  const root = /** @type {HTMLDetailsElement} */ (
    h("details", { class: "fx-menu" }, h("summary", { title }, label), h("div", { class: "fx-pop" }, ...content))
  );
  const document = root.ownerDocument;
  const away = (event) => {
    if (!event.composedPath().includes(root)) root.open = false;
  };
  root.addEventListener("toggle", () => {
    const change = root.open ? "addEventListener" : "removeEventListener";
    document[change]("pointerdown", away);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    root.open = false;
    root.querySelector("summary").focus();
    event.stopPropagation();
  });
  return root;
}

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {string} label @param {[string, string|number][]} options text, value
 * @param {(value: string) => void} changed @returns {HTMLElement & {select: HTMLSelectElement}}
 */
export function choice(h, label, options, changed) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { onchange: () => changed(select.value) },
      ...options.map(([text, value]) => h("option", { value }, text)),
    )
  );
  return Object.assign(h("label", { class: "fx-choice" }, h("span", {}, label), select), { select });
}

/**
 * @param {ReturnType<import("./dom.js").builder>} h @param {string} label @param {(on: boolean) => void} changed
 * @returns {HTMLElement & {box: HTMLInputElement}}
 */
export function tick(h, label, changed) {
  const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", onchange: () => changed(box.checked) }));
  return Object.assign(h("label", { class: "fx-tick" }, box, h("span", {}, label)), { box });
}
