// A table as text for another program, and the way to the clipboard.

/** @param {HTMLTableElement} table @returns {string} cells apart by tabs, rows by lines */
export function tableText(table) {
  const cell = (element) =>
    element.innerText
      .trim()
      .replace(/\s*\n\s*/g, " | ")
      .replaceAll("\t", " ");
  return [...table.rows].map((row) => [...row.cells].map(cell).join("\t")).join("\n");
}

/** @param {Document} document @param {string} text @returns {Promise<void>} */
export async function copyText(document, text) {
  try {
    await document.defaultView.navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
