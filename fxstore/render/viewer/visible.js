// Text from a model as it is: characters that a reader cannot see, or that reorder text, are spelled out.

const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]/u;
const ALL_HIDDEN = new RegExp(HIDDEN.source, "gu");

/** @param {string} text @returns {string} */
export function visible(text) {
  return HIDDEN.test(text) ? text.replace(ALL_HIDDEN, spelled) : text;
}

/** @param {string} char */
function spelled(char) {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** @param {string} text @param {number} most characters @returns {string} */
export function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}
