// The selection in the address, so that a link reopens it.

/** @param {string} hash @returns {number|null} the nid that a hash names */
export function nidIn(hash) {
  const value = new URLSearchParams(hash.replace(/^#/, "")).get("node");
  return value !== null && /^-?\d{1,16}$/.test(value) ? Number(value) : null;
}

/** Follows the address, and keeps it. @param {import("./app.js").PageApp} app @returns {() => void} detaches */
export function attachDeepLink({ window, compare, scene }) {
  const follow = () => {
    const node = scene.nodeOf(nidIn(window.location.hash) ?? NaN);
    if (node >= 0 && node !== compare.selection?.node) compare.selectNode(node);
  };
  const detach = compare.on("selectionchange", (selection) => {
    const hash = selection ? `#node=${scene.nids[selection.node]}` : "#";
    if (window.location.protocol === "about:" || hash === window.location.hash) return;
    window.history.replaceState(null, "", hash);
  });
  window.addEventListener("hashchange", follow);
  follow();
  return () => {
    detach();
    window.removeEventListener("hashchange", follow);
  };
}
