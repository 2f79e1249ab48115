// Rows as comma-separated text, as RFC 4180 has it.

const FORMULA = /^[=+\-@\t\r]/;

/** @param {string[]} columns @param {unknown[][]} rows @returns {string} */
export function csvOf(columns, rows) {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Text that a spreadsheet would run as a formula gets an apostrophe in front. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return String(value.number);
  if (typeof value !== "string") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
