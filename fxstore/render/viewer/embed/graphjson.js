// Graph payloads in JSON, as exporters write them: checked, cut to what can be drawn, and never changed.

export const GRAPH_SCHEMA = "fxstore.graph";
export const COMPARE_SCHEMA = "fxstore.compare";
export const READS = 1;
const FAR_PX = 1e7;
const NODE_WIDTH = 100;
const NODE_HEIGHT = 40;

/**
 * @typedef {{id: string, label: string|null, x: number, y: number, width: number, height: number, topo: number,
 *   info: Record<string, any>, tooltip: string[], fill: string|null, graph: number}} GraphNode x and y: the middle, in pixels
 * @typedef {{from: number, to: number, port: number, arg: string|null, feedback: boolean, points: number[][]}} GraphEdge
 *   from and to: places in `nodes`
 * @typedef {{title: string, parent: string|null, left: number, top: number, width: number, height: number}} GraphPart
 * @typedef {{path: string, graph: number, left: number, top: number, width: number, height: number}} GraphBlock
 * @typedef {{label: string, color: string}} LegendEntry
 * @typedef {{info?: Record<string, any>, tooltip?: string[], label_append?: string[], fill_color?: string|null}} LayerNode
 * @typedef {{name: string, legend: LegendEntry[], nodes: Map<string, LayerNode>, syncKeys: string[]}} Layer
 */

/** One graph with its layers. Layers may be changed later; what the payload says stays as it is. */
export class GraphModel {
  /** @param {any} payload @throws {TypeError|RangeError} where it is no graph payload, or of a later version */
  constructor(payload) {
    checkVersion(payload, GRAPH_SCHEMA);
    const base = payload.base;
    if (!isObject(base) || !Array.isArray(base.nodes))
      throw new TypeError("this is no graph payload: it has no list base.nodes");
    /** What was left out, in words. @type {string[]} */
    this.notes = [];
    const counts = partCounts(base.graphs, base.nodes.length);
    /** @type {GraphNode[]} */
    this.nodes = [];
    /** @type {Map<string, number>} place of each id */
    this.places = new Map();
    this.#addNodes(base.nodes, counts);
    /** @type {GraphPart[]|null} null where the payload does not tell them apart */
    this.parts = counts && base.graphs.map(partOf);
    this.edges = this.#edgesOf(list(base.edges));
    this.blocks = list(base.blocks)
      .filter(isObject)
      .map((block) => blockOf(block, this.parts?.length ?? 1));
    /** @type {LegendEntry[]} */
    this.legend = legendOf(base.legend);
    /** @type {Map<string, Layer>} */
    this.layers = new Map();
    for (const [id, layer] of Object.entries(isObject(payload.extensions) ? payload.extensions : {}))
      if (isObject(layer)) this.layers.set(id, layerOf(id, layer));
  }

  #addNodes(given, counts) {
    let [dropped, part, left] = [0, 0, counts?.[0] ?? Infinity];
    for (const node of given) {
      while (left === 0) left = counts[++part];
      left--;
      const id = isObject(node) ? idOf(node.id) : null;
      if (id === null || this.places.has(id)) dropped++;
      else {
        this.places.set(id, this.nodes.length);
        this.nodes.push(nodeOf(id, node, part, this.nodes.length));
      }
    }
    if (dropped) this.notes.push(`${dropped} nodes without an id of their own are left out`);
  }

  /** @returns {GraphEdge[]} graph by graph */
  #edgesOf(given) {
    const edges = [];
    for (const edge of given) {
      const [from, to] = isObject(edge) ? [this.place(edge.v), this.place(edge.w)] : [-1, -1];
      if (from >= 0 && to >= 0 && this.nodes[from].graph === this.nodes[to].graph)
        edges.push(edgeOf(edge, from, to, this.nodes));
    }
    if (edges.length < given.length)
      this.notes.push(`${given.length - edges.length} edges that name no two nodes of one graph are left out`);
    return edges.sort((a, b) => this.nodes[a.from].graph - this.nodes[b.from].graph);
  }

  /** @param {any} id @returns {number} place of that node, or -1 */
  place(id) {
    return this.places.get(String(id)) ?? -1;
  }

  /** @param {string} layer @param {number} place @returns {LayerNode|undefined} what a layer says of a node */
  said(layer, place) {
    return this.layers.get(layer)?.nodes.get(this.nodes[place].id);
  }
}

/**
 * @param {any} payload of several graphs
 * @returns {{title: string, viewers: {name: string, model: GraphModel}[], sync: any, sets: any[], focus: any[], state: any}}
 * @throws {TypeError|RangeError}
 */
export function readCompare(payload) {
  checkVersion(payload, COMPARE_SCHEMA);
  if (!Array.isArray(payload.viewers) || !payload.viewers.length)
    throw new TypeError("this is no compare payload: it has no list viewers");
  const viewers = payload.viewers.map((viewer, i) => {
    if (!isObject(viewer)) throw new TypeError(`viewer ${i + 1} of the compare payload is no object`);
    return { name: text(viewer.name) || `Graph ${i + 1}`, model: new GraphModel(viewer.payload) };
  });
  return {
    title: text(payload.title),
    viewers,
    sync: isObject(payload.sync) ? payload.sync : {},
    sets: list(payload.sync_sets),
    focus: list(payload.focus),
    state: isObject(payload.state) ? payload.state : {},
  };
}

/** @param {any} payload @returns {boolean} whether it is one of several graphs */
export function isCompare(payload) {
  return isObject(payload) && (payload.schema === COMPARE_SCHEMA || Array.isArray(payload.viewers));
}

/** @param {string} id @param {any} layer @returns {Layer} */
export function layerOf(id, layer) {
  const nodes = isObject(layer.nodes) ? Object.entries(layer.nodes).filter(([, said]) => isObject(said)) : [];
  return {
    name: text(layer.name) || id,
    legend: legendOf(layer.legend),
    nodes: new Map(nodes),
    syncKeys: list(layer.sync_keys).filter((key) => typeof key === "string"),
  };
}

/** @param {any} legend @returns {LegendEntry[]} */
export function legendOf(legend) {
  return list(legend)
    .filter(isObject)
    .map(({ label, color }) => ({ label: text(label), color: text(color) }));
}

/** @param {any} value @returns {value is Record<string, any>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {any} value @returns {string[]} its texts, where it is a list */
export function texts(value) {
  return list(value)
    .filter((one) => one !== null && one !== undefined && typeof one !== "object")
    .map(String);
}

function checkVersion(payload, schema) {
  if (!isObject(payload)) throw new TypeError("a payload is an object, as JSON.parse gives it");
  if (payload.schema !== undefined && payload.schema !== schema)
    throw new TypeError(`this payload is ${JSON.stringify(payload.schema)}, not ${schema}`);
  if (payload.version !== undefined && payload.version !== READS)
    throw new RangeError(
      `this viewer reads payload version ${READS}, not ${JSON.stringify(payload.version)}: a newer fxstore can show it`,
    );
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function idOf(id) {
  if (typeof id === "number") return String(id);
  return typeof id === "string" && id ? id : null;
}

/** @param {any} value @param {number} other @returns {number} within what can be drawn */
function length(value, other) {
  return Number.isFinite(value) ? Math.min(FAR_PX, Math.max(-FAR_PX, value)) : other;
}

function extent(value, other) {
  return Number.isFinite(value) && value > 0 ? Math.min(FAR_PX, value) : other;
}

function nodeOf(id, node, graph, place) {
  return {
    id,
    label: typeof node.label === "string" && node.label.trim() ? node.label : null,
    x: length(node.x, 0),
    y: length(node.y, 0),
    width: extent(node.width, NODE_WIDTH),
    height: extent(node.height, NODE_HEIGHT),
    topo: Number.isFinite(node.topo_index) ? node.topo_index : place,
    info: isObject(node.info) ? node.info : {},
    tooltip: texts(node.tooltip),
    fill: typeof node.fill_color === "string" ? node.fill_color : null,
    graph,
  };
}

function edgeOf(edge, from, to, nodes) {
  const points = list(edge.points)
    .filter(isObject)
    .map(({ x, y }) => [length(x, 0), length(y, 0)]);
  return {
    from,
    to,
    port: Number.isInteger(edge.src_port) && edge.src_port >= 0 ? Math.min(edge.src_port, 1e6) : 0,
    arg: typeof edge.dst_arg === "string" ? edge.dst_arg : null,
    feedback: edge.feedback === true,
    points: points.length > 1 ? points : straight(nodes[from], nodes[to]),
  };
}

function straight(from, to) {
  const down = to.y >= from.y ? 1 : -1;
  return [
    [from.x, from.y + (down * from.height) / 2],
    [to.x, to.y - (down * to.height) / 2],
  ];
}

/** @returns {number[]|null} how many of the nodes are each graph's own */
function partCounts(graphs, nodes) {
  if (!Array.isArray(graphs) || !graphs.length || !graphs.every(isObject)) return null;
  const counts = graphs.map((graph) => (Number.isInteger(graph.nodes) && graph.nodes >= 0 ? graph.nodes : -1));
  const sum = counts.reduce((total, count) => total + count, 0);
  return counts.every((count) => count >= 0) && sum === nodes ? counts : null;
}

function partOf(graph) {
  return {
    title: text(graph.title),
    parent: idOf(graph.parent),
    left: length(graph.left, 0),
    top: length(graph.top, 0),
    width: extent(graph.width, 1),
    height: extent(graph.height, 1),
  };
}

function blockOf(block, parts) {
  return {
    path: text(block.path),
    graph: Number.isInteger(block.graph) && block.graph >= 0 && block.graph < parts ? block.graph : 0,
    left: length(block.left, 0),
    top: length(block.top, 0),
    width: extent(block.width, 1),
    height: extent(block.height, 1),
  };
}
