// Every colour of the page, for light and dark; the style sheet reads them as variables.

/**
 * @typedef {Record<string, string>} Palette
 * @typedef {{name: string, dark: boolean, chrome: Palette, graph: Palette, scale: string[], neutral: string[], diverging: string[],
 *   roles: Record<string, string>, categories: string[], changes: Record<string, string>}} Theme
 *   scale: good to bad; neutral: low to high where neither is good; both read by lightness alone, whatever the eyes;
 *   diverging: below zero, zero, above zero. All have been seen as eyes without one kind of cones see them.
 *   graph.missing: a reason why there is no number; nodata: nothing known; other: a stage that the metric is not of
 */

/** @type {Record<string, Theme>} */
export const THEMES = {
  light: {
    name: "light",
    dark: false,
    chrome: {
      bg: "#eceff3",
      panel: "#ffffff",
      raised: "#f6f7f9",
      ink: "#18202b",
      muted: "#596575",
      line: "#d3d9e1",
      accent: "#0b57d0",
      tint: "#e3edfd",
      differ: "#fdf0cf",
      focus: "#0b57d0",
      warn: "#8a4b00",
    },
    graph: {
      paper: "#fbfcfd",
      edge: "#9aa6b5",
      feedback: "#b0559b",
      border: "#8592a3",
      block: "#5c6f8a",
      label: "#5c6675",
      select: "#0b57d0",
      member: "#0b57d0",
      rank: "#18202b",
      rankInk: "#ffffff",
      hit: "#00856f",
      up: "#7a3db8",
      down: "#b3541e",
      hover: "#18202b",
      nodata: "#c8c8c8",
      missing: "#ffffff",
      other: "#f1f4f7",
      nan: "#b3006e",
      inf: "#0a86b8",
      frame: "#aab5c3",
    },
    scale: ["#fde3a0", "#fdc173", "#f8924c", "#e2602b", "#b93012", "#7a1403"],
    neutral: ["#d4f3b0", "#98dc9b", "#52bda8", "#2f8fae", "#2a5b94", "#26306e"],
    diverging: ["#1f5fa8", "#559cdc", "#9fd0f8", "#ece6cf", "#fcc183", "#e0803c", "#9c3a0c"],
    roles: {
      op: "#dfe7f4",
      input: "#b1dbca",
      output: "#b1dbca",
      parameter: "#f7dea4",
      buffer: "#f7dea4",
      constant: "#f7dea4",
      delegate: "#cdaee1",
      subgraph: "#cdaee1",
      symint: "#a5acae",
      token: "#a5acae",
    },
    categories: ["#87b3fe", "#f6c779", "#bbfacd", "#e990b5", "#aba83a", "#9973c5", "#bc6f5c", "#71e1f7"],
    changes: {
      same: "#e9edf2",
      moved: "#c3dbf6",
      renamed: "#8fbfe6",
      rewired: "#f7d488",
      changed: "#ee9a4d",
      added: "#3f8f6b",
      removed: "#a63f74",
    },
  },
  dark: {
    name: "dark",
    dark: true,
    chrome: {
      bg: "#10141a",
      panel: "#171c24",
      raised: "#1e242e",
      ink: "#e3e8ef",
      muted: "#97a3b3",
      line: "#303947",
      accent: "#8ab4f8",
      tint: "#22324d",
      differ: "#443714",
      focus: "#8ab4f8",
      warn: "#ffb95c",
    },
    graph: {
      paper: "#12161d",
      edge: "#5b6777",
      feedback: "#c07fb2",
      border: "#6c7a8c",
      block: "#8ea3c0",
      label: "#97a3b3",
      select: "#8ab4f8",
      member: "#8ab4f8",
      rank: "#f2f5f9",
      rankInk: "#10141a",
      hit: "#4fd1b5",
      up: "#c79bf2",
      down: "#f2a46f",
      hover: "#e3e8ef",
      nodata: "#56565e",
      missing: "#12161d",
      other: "#1e2530",
      nan: "#ff6ac1",
      inf: "#3fc1f0",
      frame: "#465264",
    },
    scale: ["#5e3d1c", "#7f4c17", "#a85f14", "#d17a1c", "#f59f33", "#ffdf8e"],
    neutral: ["#1f3f7a", "#25559a", "#2b7ba8", "#3fa3a8", "#7fc9b0", "#d9efc4"],
    diverging: ["#8fc2ff", "#4a86c9", "#274d80", "#3a3526", "#7a4a24", "#c4743a", "#ffc48a"],
    roles: {
      op: "#2b3646",
      input: "#2d5c47",
      output: "#2d5c47",
      parameter: "#503700",
      buffer: "#503700",
      constant: "#503700",
      delegate: "#6a4383",
      subgraph: "#6a4383",
      symint: "#717070",
      token: "#717070",
    },
    categories: ["#345499", "#966933", "#76a191", "#74464f", "#a99325", "#3e2d5c", "#691c09", "#25818f"],
    changes: {
      same: "#2a3340",
      moved: "#24476b",
      renamed: "#2b6a8f",
      rewired: "#8a6714",
      changed: "#c96f1e",
      added: "#57b98d",
      removed: "#d971a6",
    },
  },
};

/** @param {string} hex `#rrggbb` @returns {number[]} */
function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** @param {string[]} stops evenly spaced @param {number} t 0 to 1 @returns {string} */
export function mixed(stops, t) {
  const at = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  const mix = from.map((value, i) => Math.round(value + (to[i] - value) * (at - low)));
  return `#${mix.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Relative luminance as WCAG 2 defines it. @param {string} hex @returns {number} 0 to 1 */
export function luminance(hex) {
  const [r, g, b] = channels(hex).map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} fill @returns {string} black or white, whichever reads better on it */
export function inkOn(fill) {
  return luminance(fill) > 0.179 ? "#000000" : "#ffffff";
}
