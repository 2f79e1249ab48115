// The verdict on top: how the run stands in a word and a shape, and where an error starts; names lead there.

const LEVELS = { good: ["✓", "within limits"], warn: ["▲", "look at this"], bad: ["✖", "error"] };

/**
 * @typedef {{level: "good"|"warn"|"bad", caption: string, sentences: (string|[string, number])[][], panes: number[]}} Verdict
 *   a part of a sentence that is no text names a node: its name and its number; panes: the reference, where the error
 *   starts, the device, as far as they are on the page
 */

/**
 * @param {(tag: string, attributes?: Record<string, any>, ...children: any[]) => HTMLElement} h
 * @param {Verdict} verdict @param {(node: number) => void} select @returns {HTMLElement}
 */
export function verdictBar(h, verdict, select) {
  const [shape, word] = LEVELS[verdict.level] ?? LEVELS.warn;
  const part = (one) =>
    typeof one === "string"
      ? one
      : h("button", { class: "fx-name", title: `Show ${one[0]}`, onclick: () => select(one[1]) }, one[0]);
  return h(
    "section",
    { class: `fx-verdict fx-${verdict.level}`, "aria-label": "Verdict" },
    h("strong", { class: "fx-word" }, `${shape} ${word}`),
    h(
      "div",
      { class: "fx-said" },
      ...verdict.sentences.map((parts) => h("p", {}, ...parts.map(part))),
      h("p", { class: "fx-muted" }, verdict.caption),
    ),
  );
}

/** @param {Verdict|undefined} verdict @returns {number|undefined} the first node that it names */
export function firstNamed(verdict) {
  return verdict?.sentences.flat().find((part) => typeof part !== "string")?.[1];
}

const MOST_PANES = 3;
const NARROW_PX = 700;

/**
 * The panes that a page opens with: those that tell the story, with those of what is highlighted; one where it is narrow.
 * @param {import("../scene/scene.js").Scene} scene @param {number} width of the window
 * @returns {number[]} all, where nothing says which of them matter
 */
export function openingPanes(scene, width) {
  const all = scene.panes.map((pane) => pane.number);
  const { verdict } = scene.header;
  const lit = [...scene.columns.get("highlight")].map((node) => scene.paneOf(node).number);
  const named = firstNamed(verdict);
  const main = lit[0] ?? (named === undefined ? undefined : scene.paneOf(named).number);
  if (width < NARROW_PX && main !== undefined) return [main];
  if (!verdict?.panes.length || all.length <= MOST_PANES) return all;
  const wanted = new Set([...verdict.panes, ...lit]);
  return all.filter((pane) => wanted.has(pane));
}
