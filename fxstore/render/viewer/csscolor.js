// Colours as a payload or a host writes them, as `#rrggbb`. Nothing else of CSS gets through.

const HEX = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
const WORDS = /^[a-z]+$|^(?:rgb|hsl)a?\([\d\s.,%/deg+-]*\)$/i;
const PROBES = ["#010203", "#040506"];

/**
 * @param {CanvasRenderingContext2D|null} context knows names and functions; without one only `#…` is read
 * @returns {(text: any) => string|null} null for what is no colour
 */
export function colorReader(context) {
  const known = new Map();
  return (text) => {
    if (typeof text !== "string") return null;
    if (!known.has(text)) known.set(text, read(text.trim(), context));
    return known.get(text);
  };
}

function read(text, context) {
  if (HEX.test(text)) return long(text.toLowerCase());
  if (!context || !WORDS.test(text)) return null;
  const [first, second] = PROBES.map((probe) => {
    context.fillStyle = probe;
    context.fillStyle = text;
    return String(context.fillStyle);
  });
  if (first !== second) return null;
  if (HEX.test(first)) return first;
  const parts = /^rgba?\((\d+), (\d+), (\d+)/.exec(first);
  return (
    parts &&
    `#${parts
      .slice(1)
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("")}`
  );
}

function long(hex) {
  if (hex.length > 5) return hex.slice(0, 7);
  return `#${[...hex.slice(1, 4)].map((digit) => digit + digit).join("")}`;
}
