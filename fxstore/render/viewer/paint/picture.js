// Pictures of the page's graphs: what is in view, or the selection with what is next to it.

import { edgesInto, edgesOutOf } from "../scene/adjacency.js";
import { grown } from "./viewport.js";

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

const TITLE_PX = 24;
const GAP_PX = 8;
const MOST_PX = 6000;
const MARGIN_PX = 28;
const PICTURE_FONT = '600 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * @typedef {{viewer: import("../panes/viewer.js").PaneViewer, view: import("./viewport.js").View, size: import("./viewport.js").Size}} Part
 */

/** @param {import("../panes/viewer.js").PaneViewer[]} viewers shown ones @returns {Part[]} as they are in view */
export function partsInView(viewers) {
  return viewers.filter((viewer) => viewer.view).map((viewer) => ({ viewer, view: viewer.view, size: viewer.size }));
}

/**
 * @param {import("../panes/viewer.js").PaneViewer[]} viewers @param {import("../scene/scene.js").Scene} scene
 * @param {import("../scene/selection.js").Selection} selection @returns {Part[]} of each pane the selection and its neighbours
 */
export function partsOfSelection(viewers, scene, selection) {
  return viewers.flatMap((viewer) => {
    const nodes = selection.shares[viewer.pane.number].members.map(({ node }) => node);
    if (!nodes.length) return [];
    const near = nodes.flatMap((node) => [
      node,
      ...[...edgesInto(scene, node).subarray(0, 20)].map((edge) => scene.edgeSrc[edge]),
      ...[...edgesOutOf(scene, node).subarray(0, 20)].map((edge) => scene.edgeDst[edge]),
    ]);
    const box = grown(boxAround(scene, near), MARGIN_PX);
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    const scale = Math.min(1, MOST_PX / width, MOST_PX / height);
    return [
      { viewer, view: { x: box.left, y: box.top, scale }, size: { width: width * scale, height: height * scale } },
    ];
  });
}

/** @param {import("../scene/scene.js").Scene} scene @param {number[]} nodes @returns {import("../scene/boxes.js").Box} */
export function boxAround(scene, nodes) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const node of nodes) {
    const [w, h] = [scene.width[node] / 2, scene.height[node] / 2];
    box.left = Math.min(box.left, scene.x[node] - w);
    box.right = Math.max(box.right, scene.x[node] + w);
    box.top = Math.min(box.top, scene.y[node] - h);
    box.bottom = Math.max(box.bottom, scene.y[node] + h);
  }
  return box;
}

/** @param {Part[]} parts @returns {{offsets: {x: number, y: number}[], width: number, height: number}} side by side */
export function sideBySide(parts) {
  let x = 0;
  const offsets = parts.map(({ size }) => {
    const at = { x, y: TITLE_PX };
    x += size.width + GAP_PX;
    return at;
  });
  return {
    offsets,
    width: Math.max(1, x - GAP_PX),
    height: TITLE_PX + Math.max(1, ...parts.map(({ size }) => size.height)),
  };
}

/** @param {Document} document @param {Part[]} parts @param {number} ratio @returns {Promise<Blob>} PNG */
export function pngOf(document, parts, ratio) {
  const { offsets, width, height } = sideBySide(parts);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * ratio), Math.ceil(height * ratio)];
  const context = canvas.getContext("2d");
  for (const [i, { viewer, view, size }] of parts.entries()) {
    const part = document.createElement("canvas");
    [part.width, part.height] = [Math.ceil(size.width * ratio), Math.ceil(size.height * ratio)];
    viewer.paintOn(part.getContext("2d"), view, size, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!i) pictureGround(context, viewer.ink.theme, width, height);
    pictureTitle(context, viewer, offsets[i].x, size.width);
    context.drawImage(part, offsets[i].x, offsets[i].y, size.width, size.height);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** @param {Part[]} parts @returns {string} SVG */
export function svgPicture(parts) {
  const { offsets, width, height } = sideBySide(parts);
  const measure = parts[0].viewer.document.createElement("canvas").getContext("2d");
  const frame = new SvgContext(width, height, measure);
  pictureGround(frame, parts[0].viewer.ink.theme, width, height);
  const drawn = parts.map(({ viewer, view, size }, i) => {
    pictureTitle(frame, viewer, offsets[i].x, size.width);
    const context = new SvgContext(size.width, size.height, measure);
    viewer.paintOn(context, view, size, 1);
    return context;
  });
  return svgOf([frame, ...drawn], [{ x: 0, y: 0 }, ...offsets], width, height);
}

function pictureGround(context, theme, width, height) {
  context.fillStyle = theme.chrome.panel;
  context.fillRect(0, 0, width, height);
}

function pictureTitle(context, viewer, x, width) {
  context.font = PICTURE_FONT;
  context.fillStyle = viewer.ink.theme.chrome.ink;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(viewer.ink.labels.fit(viewer.pane.title, PICTURE_FONT, width - 12), x + 6, TITLE_PX / 2);
}
