// The answer's table as plain data: which columns are shown, in which order, and the order of its rows.

const COLLATOR = new Intl.Collator("en", { numeric: true });
const NULL_RANK = 3;

/**
 * The order in which columns are shown: a ranking's name and value first, node keys at the end.
 * @param {string[]} columns
 * @returns {number[]}
 */
export function shownOrder(columns) {
  const first = columns.includes("value") ? ["name", "value"] : [];
  const place = (name, i) =>
    isKey(name) ? columns.length : first.includes(name) ? first.indexOf(name) - first.length : i;
  const places = columns.map(place);
  return columns.map((_, i) => i).sort((a, b) => places[a] - places[b]);
}

/** Whether a column holds node keys, which say little to a reader. @param {string} column */
export function isKey(column) {
  return /(^|_)nid$/.test(column);
}

/**
 * The columns that are equal in all of several rows, and what they hold; a ranking's name and value are always columns.
 * @param {{columns: string[], rows: unknown[][]}} answer
 * @returns {Map<number, unknown>}
 */
export function sharedCells({ columns, rows }) {
  if (rows.length < 2) return new Map();
  const texts = rows.map((row) => row.map((cell) => JSON.stringify(cell)));
  const same = (i) => texts.every((row) => row[i] === texts[0][i]);
  const kept = (i) => ["name", "value"].includes(columns[i]) || isKey(columns[i]);
  const shared = columns.map((_, i) => i).filter((i) => !kept(i) && same(i));
  return new Map(shared.length < columns.length ? shared.map((i) => [i, rows[0][i]]) : []);
}

/**
 * @param {unknown[][]} rows
 * @param {number} column
 * @param {string} order `ascending`, `descending`, or `none` as they came
 * @returns {number[]} row numbers: what is broken first whichever the order (NaN, then infinite), NULL last, and equal
 *   cells as they came
 */
export function sortedRows(rows, column, order) {
  const numbers = rows.map((_, i) => i);
  if (order === "none") return numbers;
  const sign = order === "descending" ? -1 : 1;
  const keys = rows.map((row) => keyOf(row[column]));
  return numbers.sort((a, b) => keys[a].rank - keys[b].rank || sign * compared(keys[a].value, keys[b].value) || a - b);
}

/** @returns {{rank: number, value: number|string}} 0 NaN, 1 infinite, 2 a value, 3 NULL */
function keyOf(cell) {
  if (cell === null) return { rank: NULL_RANK, value: 0 };
  const value = typeof cell === "object" ? Number(cell.number) : typeof cell === "boolean" ? Number(cell) : cell;
  if (typeof value === "string") return { rank: 2, value };
  return Number.isNaN(value) ? { rank: 0, value: 0 } : { rank: Number.isFinite(value) ? 2 : 1, value };
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : Number(a > b);
  return COLLATOR.compare(String(a), String(b));
}
