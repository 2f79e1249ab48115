// As much of a canvas's 2D context as the painters use, writing SVG instead.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const ANCHORS = { left: "start", center: "middle", right: "end" };
const BASELINES = { middle: "central", top: "hanging", alphabetic: "alphabetic" };

export class SvgContext {
  /** @param {number} width @param {number} height @param {CanvasRenderingContext2D} measure for widths of text */
  constructor(width, height, measure) {
    Object.assign(this, {
      width,
      height,
      measure,
      parts: [],
      path: "",
      stack: [],
      dash: [],
      matrix: [1, 0, 0, 1, 0, 0],
    });
    Object.assign(this, {
      fillStyle: "#000",
      strokeStyle: "#000",
      lineWidth: 1,
      globalAlpha: 1,
      font: "10px sans-serif",
    });
    Object.assign(this, { textAlign: "left", textBaseline: "alphabetic" });
  }

  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix } = this;
    this.stack.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix });
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  setTransform(a, b, c, d, e, f) {
    this.matrix = [a, b, c, d, e, f];
  }

  scale(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a * x, b * x, c * y, d * y, e, f];
  }

  translate(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a, b, c, d, e + a * x + c * y, f + b * x + d * y];
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${short(x)} ${short(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  roundRect(x, y, width, height, radius) {
    const r = Math.min(radius, width / 2, height / 2);
    const corner = (dx, dy) => `a${short(r)} ${short(r)} 0 0 1 ${short(dx)} ${short(dy)}`;
    this.path +=
      `M${short(x + r)} ${short(y)}h${short(width - 2 * r)}${corner(r, r)}v${short(height - 2 * r)}${corner(-r, r)}` +
      `h${short(2 * r - width)}${corner(-r, -r)}v${short(2 * r - height)}${corner(r, -r)}Z`;
  }

  arc(x, y, radius) {
    const r = short(radius);
    this.path += `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${short(2 * radius)} 0a${r} ${r} 0 1 0 ${short(-2 * radius)} 0Z`;
  }

  fill() {
    this.#shape(`<path d="${this.path}"`, true, false);
  }

  stroke() {
    if (this.path) this.#shape(`<path d="${this.path}"`, false, true);
  }

  fillRect(x, y, width, height) {
    this.#shape(`<rect ${rectangle(x, y, width, height)}`, true, false);
  }

  strokeRect(x, y, width, height) {
    this.#shape(`<rect ${rectangle(x, y, width, height)}`, false, true);
  }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text, x, y) {
    const place = `x="${short(x)}" y="${short(y)}" text-anchor="${ANCHORS[this.textAlign]}"`;
    const look = `dominant-baseline="${BASELINES[this.textBaseline]}" style="font:${escaped(this.font)}"`;
    this.parts.push(`<text ${place} ${look}${this.#paint(true, false)}>${escaped(text)}</text>`);
  }

  #shape(open, fills, strokes) {
    if (fills && typeof this.fillStyle !== "string") return;
    this.parts.push(`${open}${this.#paint(fills, strokes)}/>`);
  }

  #paint(fills, strokes) {
    const moved = this.matrix.some((value, i) => value !== [1, 0, 0, 1, 0, 0][i]);
    return [
      moved && ` transform="matrix(${this.matrix.map(short).join(" ")})"`,
      ` fill="${fills ? escaped(this.fillStyle) : "none"}"`,
      strokes && ` stroke="${escaped(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"`,
      strokes && this.dash.length && ` stroke-dasharray="${this.dash.map(short).join(" ")}"`,
      this.globalAlpha !== 1 && ` opacity="${short(this.globalAlpha)}"`,
    ]
      .filter(Boolean)
      .join("");
  }
}

/** @param {SvgContext[]} contexts side by side, each at its offset @param {{x: number, y: number}[]} offsets @param {number} width @param {number} height */
export function svgOf(contexts, offsets, width, height) {
  const parts = contexts.map(
    ({ parts: own, width: w, height: h }, i) =>
      `<svg x="${short(offsets[i].x)}" y="${short(offsets[i].y)}" width="${short(w)}" height="${short(h)}">${own.join("\n")}</svg>`,
  );
  const size = `width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${parts.join("\n")}\n</svg>\n`;
}

function rectangle(x, y, width, height) {
  return `x="${short(x)}" y="${short(y)}" width="${short(Math.max(0, width))}" height="${short(Math.max(0, height))}"`;
}

/** Five significant digits are plenty; XML allows no control characters. */
function short(value) {
  return String(Math.round(value * 1000) / 1000);
}

function escaped(text) {
  return String(text)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"]/g, (char) => ESCAPES[char]);
}
