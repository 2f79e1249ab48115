// Runs Model Explorer's own code in plain Node and prints what the app holds of a payload, every layer opened: its worker,
// and those methods of its page that take in a file and fill the side panel.
//
//   node held.js WORKER.js payload.json     prints {"graphs": [...]} for one file
//   node held.js WORKER.js --serve [MS]     answers each line {"text", "settings", "nodeData", "sync"} with one such line
//
// A graph that the worker cannot take has "threw"; a document that the app would refuse gives {"refused": reason}.
'use strict';

const fs = require('fs');
const readline = require('readline');
const vm = require('vm');

const page = require('./page.js');

const EVENT = { process: 0, processed: 1, expand: 2, expanded: 3, again: 4, placedAgain: 5, progress: 8 };
const OP = 0;
const GROUP = 1;
const PANE = 'pane';
// The default of the setting "Hide op nodes with labels below".
const HIDDEN = ['Const', 'no_value', 'pseudo_const', 'pseudo_qconst', 'ReadVariableOp'];
const SHARED = { showOnNodeItemTypes: {}, nodeDataProviderRuns: {}, config: { nodeLabelsToHide: HIDDEN }, paneId: PANE, rendererId: PANE };
const CHARACTER_WIDTH = 0.55;

/** A canvas that only knows how wide a text is: the worker measures its labels on one. */
class Canvas {
  getContext() {
    return {
      font: '',
      measureText(text) {
        const size = /([0-9.]+)px/.exec(this.font);
        return { width: String(text).length * (size ? Number(size[1]) : 11) * CHARACTER_WIDTH };
      },
    };
  }
}

/** Starts a worker; returns a function that sends it one event and returns all that it posts in answer. */
function start(worker, milliseconds) {
  const posted = [];
  const warned = [];
  const listeners = [];
  const scope = {
    OffscreenCanvas: Canvas, performance, structuredClone, setTimeout, clearTimeout, TextEncoder, TextDecoder, URL,
    console: { ...console, warn: (...words) => warned.push(words.map(String).join(' ').slice(0, 300)) },
    addEventListener: (name, listener) => name === 'message' && listeners.push(listener),
    postMessage: (message) => posted.push(structuredClone(message)),
    navigator: { userAgent: 'node' },
    location: { search: '', href: 'http://localhost/' },
  };
  scope.self = scope.globalThis = scope;
  vm.createContext(scope);
  const deliver = new vm.Script('deliver()');
  worker.runInContext(scope);
  if (listeners.length !== 1) throw new Error(`the worker listens ${listeners.length} times`);
  return (event) => {
    posted.length = warned.length = 0;
    scope.deliver = () => listeners[0]({ data: structuredClone(event) });
    deliver.runInContext(scope, { timeout: milliseconds });
    return { posted: [...posted], warned: [...warned] };
  };
}

/** Returns the collections of a document as the app finds them in a file; null where it says that it cannot read it. */
function collections(document) {
  if (document.label != null && document.graphs != null) return [document];
  if (!Array.isArray(document)) return null;
  if (document[0].subgraphs != null) return document.map((one) => ({ label: one.label, graphs: one.subgraphs }));
  return document[0].id != null && document[0].nodes != null ? [{ label: '', graphs: document }] : null;
}

/** Returns left, top, width and height within the layer; null for a node that has no place. */
function place({ x, y, width, height }) {
  return [x, y, width, height].every(Number.isFinite) ? [x, y, width, height] : null;
}

function opNode(node) {
  const { id, label, namespace, fullNamespace, nsParentId, subgraphIds, style, config } = node;
  const { attrs = {}, inputsMetadata = {}, outputsMetadata = {}, incomingEdges = [], outgoingEdges = [] } = node;
  return {
    id, label, namespace, fullNamespace, parent: nsParentId ?? null, hidden: node.hideInLayout === true,
    subgraphIds: subgraphIds ?? [], attrs, inputsMetadata: structuredClone(inputsMetadata), outputsMetadata, incomingEdges, outgoingEdges,
    style: style ?? null, config: config ?? null, place: place(node),
  };
}

function groupNode(node) {
  const { id, label, namespace, nsParentId, nsChildrenIds = [], expanded, sectionContainer } = node;
  return {
    id, label, namespace, parent: nsParentId ?? null, children: nsChildrenIds, expanded, place: place(node),
    section: sectionContainer === true,
  };
}

/** Returns what the side panel shows of a node, or why it cannot. */
function panel(app, graph, node) {
  try {
    return page.panel(app, graph, node);
  } catch (error) {
    return { threw: String(error) };
  }
}

/** Returns what the app holds of one model graph: its nodes by id, its layers, and the wires that it draws. */
function held(app, graph) {
  const byId = Object.values(graph.nodesById);
  return {
    id: graph.id,
    nodes: byId.filter((node) => node.nodeType === OP).map((node) => ({ ...opNode(node), panel: panel(app, graph, node) })),
    groups: byId.filter((node) => node.nodeType === GROUP).map(groupNode),
    groupNodeAttributes: graph.groupNodeAttributes ?? {},
    drawn: Object.entries(graph.edgesByGroupNodeIds).flatMap(([layer, wires]) =>
      wires.map((wire) => [layer, wire.fromNodeId, wire.toNodeId]),
    ),
  };
}

/** Lets the worker take in one graph. */
function takeIn(app, label, graph, settings) {
  const answer = { collection: label, id: graph.id, errors: [], warnings: [] };
  try {
    const event = {
      ...SHARED, keepLayersWithASingleChild: true, flattenLayers: false, initialLayout: true, ...settings,
      eventType: EVENT.process, graph: { ...graph, collectionLabel: label },
    };
    const { posted, warned } = app.send(event);
    const { modelGraph } = posted.find((one) => one.eventType === EVENT.processed);
    answer.layers = modelGraph.nodes.some((node) => node.nodeType === GROUP);
    answer.warnings.push(...warned);
    answer.errors.push(...posted.filter((one) => one.eventType === EVENT.progress && one.error).map((one) => one.error));
  } catch (error) {
    answer.threw = String(error);
  }
  return answer;
}

/** Opens every layer of a graph that the worker has taken in. */
function open(app, answer, settings, nodeData) {
  if (answer.threw !== undefined) return answer;
  try {
    // "Expand all" forgets the places of a graph without layers, so such a one is laid out again instead.
    const [eventType, answered] = answer.layers ? [EVENT.expand, EVENT.expanded] : [EVENT.again, EVENT.placedAgain];
    const { posted, warned } = app.send({ ...SHARED, ...settings, eventType, modelGraphId: answer.id, expand: true });
    const { modelGraph } = posted.find((one) => one.eventType === answered);
    answer.warnings.push(...warned);
    Object.assign(answer, held(app.page, modelGraph));
    if (nodeData !== undefined) answer.nodeData = page.nodeData(app.page, nodeData, modelGraph);
  } catch (error) {
    answer.threw = String(error);
  }
  return answer;
}

/** Gives a collection's graphs to the worker first, then opens each by its id: graphs of one id share one place. */
function look(app, document, { settings = {}, nodeData }) {
  const found = collections(document);
  if (found === null) return { refused: 'Unsupported JSON format' };
  const taken = page.added(app.page, found);
  const rows = taken.reduce((count, { graphsWithLevel }) => count + graphsWithLevel.length, 0);
  const graphs = taken.flatMap(({ label, graphs, graphsWithLevel }) => {
    const listed = new Set(graphsWithLevel.map(({ graph }) => graph));
    const taken = graphs.map((graph) => ({ ...takeIn(app, label, graph, settings), listed: listed.has(graph) }));
    return taken.map((answer) => open(app, answer, settings, nodeData));
  });
  return { graphs, rows };
}

function answer(app, text, asked) {
  try {
    if (asked.sync !== undefined) return page.synced(app.page, JSON.parse(text), asked.sync.left, asked.sync.right);
    return look(app, JSON.parse(text), asked);
  } catch (error) {
    return { refused: String(error) };
  }
}

const [, , workerPath, payload, milliseconds = 60_000] = process.argv;
if (payload === undefined) {
  process.stderr.write('usage: node held.js WORKER.js payload.json | --serve\n');
  process.exit(2);
}
const worker = new vm.Script(fs.readFileSync(workerPath, 'utf8'), { filename: workerPath });
const load = page.loader(workerPath);
// A payload can break a worker for all that come after it ("__proto__"), so each one gets a fresh one.
const fresh = () => ({ send: start(worker, Number(milliseconds)), page: load() });
if (payload === '--serve') {
  readline.createInterface({ input: process.stdin, terminal: false }).on('line', (line) => {
    const { text, ...asked } = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(answer(fresh(), text, asked))}\n`);
  });
} else {
  const found = answer(fresh(), fs.readFileSync(payload, 'utf8'), {});
  process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
  process.exit(found.refused === undefined && found.graphs.every((one) => one.threw === undefined) ? 0 : 1);
}
