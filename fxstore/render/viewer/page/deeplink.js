// The page's state in the address, so that a link reopens the same view.

/** Browsers take their time over an address, so it follows once things are at rest. */
const WRITE_MS = 250;

/**
 * @typedef {{node: number|null, name: string|null, stage: string|null, run: string|null, color: string|null,
 *   sample: string|null, search: string|null, relative: boolean|null, panes: string[]|null, columns: boolean|null}} Link
 */

/** @param {string} hash @returns {Link} what it names; `#node=NID` alone is enough */
export function linkIn(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const node = given.get("node");
  const isNid = node !== null && /^-?\d{1,16}$/.test(node);
  return {
    node: isNid ? Number(node) : null,
    name: isNid ? given.get("name") : node,
    stage: given.get("stage"),
    run: given.get("run"),
    color: given.get("color"),
    sample: given.get("sample"),
    relative: given.has("scale") ? given.get("scale") === "relative" : null,
    search: given.get("q"),
    columns: given.has("columns") ? given.get("columns") === "1" : null,
    panes: given.has("panes") ? given.get("panes").split(",").filter(Boolean) : null,
  };
}

/** @param {import("../scene/scene.js").Scene} scene @param {Link} link @returns {number} its node by nid, else by stage and name, or -1 */
export function linkedNode(scene, { node, name, stage, run }) {
  const known = node === null ? -1 : scene.nodeOf(node);
  if (known >= 0 || name === null) return known;
  for (const pane of scene.panes) {
    if ((stage !== null && pane.title !== stage) || (run !== null && pane.run && pane.run !== run)) continue;
    for (let at = pane.first; at < pane.end; at++) if (scene.text("name", at) === name) return at;
  }
  return -1;
}

/** @param {import("./app.js").PageApp} app @returns {string} */
export function hashOf({ compare, scene, panes, search }) {
  const out = new URLSearchParams();
  const node = compare.selection?.node ?? -1;
  if (node >= 0) {
    const pane = scene.paneOf(node);
    if (pane.run) out.set("run", pane.run);
    out.set("stage", pane.title);
    out.set("node", String(scene.nids[node]));
    out.set("name", scene.text("name", node) ?? "");
  }
  if (compare.colorings.sample) out.set("sample", compare.colorings.sample);
  if (compare.color) out.set("color", compare.colorings.names[compare.color]);
  if (compare.colorings.relative) out.set("scale", "relative");
  if (search.input.value.trim()) out.set("q", search.input.value.trim());
  if (scene.inColumns !== Boolean(scene.header.inColumns)) out.set("columns", scene.inColumns ? "1" : "0");
  const order = panes.shown();
  if (order.some((pane, i) => pane !== i) || order.length < scene.panes.length) out.set("panes", order.join(","));
  return out.size ? `#${out}` : "#";
}

/** Follows the address, and keeps it. @param {import("./app.js").PageApp} app @returns {() => void} detaches */
export function attachDeepLink(app) {
  const { window, compare, scene } = app;
  const follow = () => {
    const link = linkIn(window.location.hash);
    const color = compare.colorings.names.indexOf(link.color);
    if (link.sample !== null && link.sample !== compare.colorings.sample) compare.setSample(link.sample);
    if (color >= 0) compare.setColorBy(color);
    if ((link.relative ?? false) !== compare.colorings.relative) compare.setRelative(link.relative ?? false);
    if (link.columns !== null) compare.setInColumns(link.columns);
    if (link.panes) app.panes.showOnly(link.panes.map(Number));
    if (link.search !== null && link.search !== app.search.input.value) compare.search(link.search);
    const node = linkedNode(scene, link);
    if (node >= 0 && node !== compare.selection?.node) compare.selectNode(node);
  };
  const write = () => {
    const hash = hashOf(app);
    if (window.location.protocol === "about:" || hash === window.location.hash) return;
    window.history.replaceState(null, "", hash);
  };
  let waiting = 0;
  const keep = () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(write, WRITE_MS);
  };
  follow();
  const detach = ["selectionchange", "colorchange", "searchchange", "panechange", "arrangechange"].map((event) =>
    compare.on(event, keep),
  );
  window.addEventListener("hashchange", follow);
  return () => {
    for (const off of detach) off();
    window.clearTimeout(waiting);
    window.removeEventListener("hashchange", follow);
  };
}
