// `window.fxstore`: the page as a script sees it. Nodes are named by nid.

/**
 * @typedef {{pane: number, nid: number, name: string, primary: boolean}} Counterpart
 */

/** @param {import("./app.js").PageApp} app */
export function apiOf(app) {
  const { compare, scene } = app;
  const nidOf = (node) => scene.nids[node];
  const known = (nid) => {
    const node = scene.nodeOf(nid);
    if (node < 0) throw new RangeError(`no node ${nid} on this page`);
    return node;
  };
  const viewerOf = (node) => compare.viewers[scene.paneOf(node).number];
  return {
    version: scene.header.version,
    model: () => ({
      title: scene.header.title,
      nodes: scene.nodeCount,
      panes: scene.panes.length,
      colors: app.colorings.metricNames,
    }),
    panes: () => scene.panes.map(({ title, subtitle, first, end }) => ({ title, subtitle, nodes: end - first })),
    nids: (pane) => [...scene.nids.subarray(scene.panes[pane].first, scene.panes[pane].end)],
    select: (nid) => (nid === null ? compare.clearSelection() : compare.selectNode(known(nid))),
    selected: () => (compare.selection ? nidOf(compare.selection.node) : null),
    counterparts: () => (compare.selection ? counterparts(scene, compare.selection) : []),
    nodeAt: (pane, x, y) => nidOrNull(scene, compare.viewers[pane].nodeAt(x, y)),
    pointOf: (nid) => viewerOf(known(nid)).pointOf(known(nid)),
    sizeOf: (nid) => {
      const [, , width, height] = viewerOf(known(nid)).boxOf(known(nid));
      return { width, height };
    },
    viewOf: (pane) => ({ ...compare.viewers[pane].view }),
    search: (text) => {
      const { nodes, counts } = compare.search(text);
      return { nids: nodes.map(nidOf), counts };
    },
    setColor: (index) => compare.setColorBy(index),
    setSample: (name) => compare.setSample(name),
    setTheme: (name) => app.themes.set(name),
    showPane: (pane, show) => app.panes.show(pane, show),
    fit: () => compare.zoomToFit(),
    on: (event, listener) => compare.on(event, listener),
    off: (event, listener) => compare.off(event, listener),
    viewers: compare.viewers,
    compare,
  };
}

/**
 * @param {import("../scene/scene.js").Scene} scene
 * @param {import("../scene/selection.js").Selection} selection
 * @returns {Counterpart[]} all but the selected node
 */
export function counterparts(scene, selection) {
  return selection.shares.flatMap(({ pane, members }) =>
    members
      .filter(({ node }) => node !== selection.node)
      .map(({ node, primary }) => ({ pane, nid: scene.nids[node], name: scene.text("name", node) ?? "", primary })),
  );
}

function nidOrNull(scene, node) {
  return node < 0 ? null : scene.nids[node];
}

// What a page says to the document that frames it, such as a notebook, and what that one may ask: the selection, no more.

const NAME = "fxstore";

/**
 * @param {Window} window of the page
 * @param {{select: (nid: number|null) => void, selected: () => number|null, on: (event: string, listener: () => void) => unknown}} api
 */
export function attachBridge(window, api) {
  const { parent } = window;
  if (!parent || parent === window) return;
  const tell = (message) => parent.postMessage({ [NAME]: 1, ...message }, "*");
  window.addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.[NAME] !== 1 || !("select" in data)) return;
    const { select } = data;
    if (select !== null && !Number.isSafeInteger(select)) return;
    if (select === api.selected()) return;
    try {
      api.select(select);
    } catch (error) {
      tell({ refused: String(error.message) });
    }
  });
  api.on("selectionchange", () => tell({ selected: api.selected() }));
  tell({ ready: true });
}
