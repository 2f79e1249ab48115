// What someone typed into a search field, as terms that must all hold.

const FIELDS = {
  name: "name",
  op: "op_type",
  type: "op_type",
  target: "target",
  module: "module_path",
  dtype: "dtype",
  shape: "shape",
  role: "role",
  backend: "backend",
  file: "source_file",
  source: "source_file",
  code: "source_code",
  attrs: "attrs",
  info: "attrs",
  stage: "stage",
  graph: "graph",
};
const COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)(.+)$/;
const NUMBER = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(ns|us|µs|ms|s)?$/i;
const BROKEN = { nan: NaN, inf: Infinity, "+inf": Infinity, "-inf": -Infinity, "∞": Infinity };
const STATES = ["nan", "inf", "missing", "none"];

/**
 * @typedef {{kind: "text", text: string, not: boolean}} TextTerm
 * @typedef {{kind: "field", field: string, text: string, not: boolean}} FieldTerm
 * @typedef {{kind: "number", metric: string, op: string, value: number, unit: string|null, not: boolean}} NumberTerm
 * @typedef {{kind: "state", metric: string, state: string, not: boolean}} StateTerm
 * @typedef {{kind: "category", metric: string, text: string, not: boolean}} CategoryTerm
 * @typedef {TextTerm|FieldTerm|NumberTerm|StateTerm|CategoryTerm} Term
 */

/**
 * @param {string} query words and "quoted words"; `field:value`, `metric<0.9`, `metric:nan`; `-` in front negates
 * @param {string[]} metrics names that a comparison may use
 * @param {string[]} [overlays] of categories, which `name:category` may use
 * @returns {Term[]}
 */
export function termsOf(query, metrics, overlays = []) {
  const byName = (names) => new Map(names.map((name) => [name.toLowerCase(), name]));
  return wordsOf(query).map((word) => termOf(word, byName(metrics), byName(overlays)));
}

/** @returns {string[]} words; quotes hold several together and are taken off */
function wordsOf(query) {
  return (query.match(/(?:[^\s"]|"[^"]*(?:"|$))+/g) ?? []).map((word) => word.replaceAll('"', "")).filter(Boolean);
}

function termOf(word, metrics, overlays) {
  const not = word.length > 1 && word.startsWith("-");
  const text = not ? word.slice(1) : word;
  return { ...(comparisonIn(text, metrics) ?? fieldIn(text, metrics, overlays) ?? { kind: "text", text }), not };
}

function comparisonIn(text, metrics) {
  const found = COMPARISON.exec(text);
  const metric = found && metrics.get(found[1].trim().toLowerCase());
  if (!metric) return null;
  const given = found[3].trim().toLowerCase();
  const number = NUMBER.exec(given);
  if (!number && !Object.hasOwn(BROKEN, given)) return null;
  const value = number ? Number(number[1]) : BROKEN[given];
  return { kind: "number", metric, op: found[2], value, unit: number?.[2] ?? null };
}

function fieldIn(text, metrics, overlays) {
  const at = text.indexOf(":");
  if (at < 1 || text[at + 1] === ":") return null;
  const [name, value] = [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
  if (metrics.has(name) && STATES.includes(value.toLowerCase()))
    return { kind: "state", metric: metrics.get(name), state: value.toLowerCase() };
  if (overlays.has(name) && !Object.hasOwn(FIELDS, name))
    return { kind: "category", metric: overlays.get(name), text: value };
  return Object.hasOwn(FIELDS, name) ? { kind: "field", field: FIELDS[name], text: value } : null;
}
