// Colours as eyes see them that lack one of the three kinds of cones, and how far apart two colours look.

/** Severity 1.0, in linear RGB: Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, table 1. */
const EYES = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
export const KINDS = Object.keys(EYES);

/** @param {string} hex @param {string} kind of eyes @returns {number[]} Oklab (Ottosson, 2020): lightness 0 to 1, a, b */
export function seen(hex, kind) {
  const linear = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const m = EYES[kind];
  const [r, g, b] = [0, 3, 6].map((row) => {
    const value = m[row] * linear[0] + m[row + 1] * linear[1] + m[row + 2] * linear[2];
    return Math.min(1, Math.max(0, value));
  });
  const long = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const middle = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const short = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short,
  ];
}

/** @param {string} one @param {string} other @param {string} kind @returns {number} 0.02 is about as little as one can tell */
export function apart(one, other, kind) {
  const [a, b] = [seen(one, kind), seen(other, kind)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}
