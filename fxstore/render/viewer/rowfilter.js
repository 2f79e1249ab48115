// Which rows of the answer someone wants to see: words that must all be in the row, `column:text`, `column<number`.

const CELL_COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i;
const CELL_HOLDS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

/** @param {{columns: string[], rows: unknown[][]}} answer @param {string} text @returns {(row: number) => boolean} */
export function rowFilter({ columns, rows }, text) {
  const tests = text
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => cellTest(columns, word));
  return (row) => tests.every((test) => test(rows[row]));
}

function cellTest(columns, word) {
  const found = CELL_COMPARISON.exec(word);
  const compared = found ? columns.indexOf(found[1]) : -1;
  if (compared >= 0) {
    const [holds, number] = [CELL_HOLDS[found[2]], Number(found[3])];
    return (row) => numeric(row[compared]) && holds(valueOf(row[compared]), number);
  }
  const at = word.indexOf(":");
  const column = at > 0 ? columns.indexOf(word.slice(0, at)) : -1;
  const wanted = (column >= 0 ? word.slice(at + 1) : word).toLowerCase();
  const within = (cell) =>
    cell !== null &&
    String(typeof cell === "object" ? cell.number : cell)
      .toLowerCase()
      .includes(wanted);
  return column >= 0 ? (row) => within(row[column]) : (row) => row.some(within);
}

function numeric(cell) {
  return typeof cell === "number" || (typeof cell === "object" && cell !== null);
}

function valueOf(cell) {
  return typeof cell === "object" ? Number(cell.number) : cell;
}
