// Pictures of the page's graphs: what is in view, or the selection with what is next to it.

import { edgesInto, edgesOutOf } from "./adjacency.js";
import { SvgContext, svgOf } from "./svgcontext.js";
import { grown } from "./viewport.js";

const TITLE_PX = 24;
const GAP_PX = 8;
const MOST_PX = 6000;
const MARGIN_PX = 28;
const PICTURE_FONT = '600 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * @typedef {{viewer: import("./viewer.js").PaneViewer, view: import("./viewport.js").View, size: import("./viewport.js").Size}} Part
 */

/** @param {import("./viewer.js").PaneViewer[]} viewers shown ones @returns {Part[]} as they are in view */
export function partsInView(viewers) {
  return viewers.filter((viewer) => viewer.view).map((viewer) => ({ viewer, view: viewer.view, size: viewer.size }));
}

/**
 * @param {import("./viewer.js").PaneViewer[]} viewers @param {import("./scene.js").Scene} scene
 * @param {import("./selection.js").Selection} selection @returns {Part[]} of each pane the selection and its neighbours
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

/** @param {import("./scene.js").Scene} scene @param {number[]} nodes @returns {import("./place.js").Box} */
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
