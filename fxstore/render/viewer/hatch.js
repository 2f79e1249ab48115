// Patterns that tell broken values apart without colour.

const SIZE = 8;

/** @param {Document} document @param {CanvasRenderingContext2D} context @param {import("./themes.js").Theme} theme */
export function hatchesOf(document, context, theme) {
  const ink = theme.graph.paper;
  return {
    stripe: pattern(document, context, ink, [
      [-2, 10, 10, -2],
      [-2, 2, 2, -2],
      [6, 10, 10, 6],
    ]),
    cross: pattern(document, context, ink, [
      [-2, 10, 10, -2],
      [-2, -2, 10, 10],
    ]),
    dot: pattern(document, context, theme.graph.border, [
      [1, 2, 3, 2],
      [5, 6, 7, 6],
    ]),
  };
}

function pattern(document, context, ink, lines) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = SIZE;
  const pen = tile.getContext("2d");
  pen.strokeStyle = ink;
  pen.lineWidth = 1.4;
  for (const [x1, y1, x2, y2] of lines) {
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  }
  return context.createPattern(tile, "repeat");
}
