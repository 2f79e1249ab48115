// The panes of a payload: which of its graphs, nodes, edges and modules each one holds.

/** @param {any} header of a payload @returns {import("./scene.js").PaneScene[]} */
export function panesOf(header) {
  let [graph, node, edge, block] = [0, 0, 0, 0];
  return header.panes.map(({ title, subtitle, run = "", graphs }, number) => {
    const pane = { number, title, subtitle, run, graphs: [], slices: [], first: node, firstEdge: edge };
    Object.assign(pane, { closed: new Set(), closedGraphs: new Set() });
    for (const end = graph + graphs; graph < end; graph++) {
      const entry = header.graphs[graph];
      pane.graphs.push({
        ...entry,
        number: graph,
        first: node,
        firstEdge: edge,
        firstBlock: block,
        fullWidth: entry.width / 2,
        fullHeight: entry.height / 2,
        width: entry.width / 2,
        height: entry.height / 2,
        x: 0,
        y: 0,
      });
      node += entry.nodes;
      edge += entry.edges;
      block += entry.blocks;
    }
    for (const { beside, number: own } of pane.graphs) if (beside) pane.closedGraphs.add(own);
    return { ...pane, end: node, endEdge: edge };
  });
}
