// Runs Model Explorer's own worker in plain Node and prints what the app holds of a payload, every layer opened.
//
//   node held.js WORKER.js payload.json     prints {"graphs": [...]} for one file
//   node held.js WORKER.js --serve          answers each line {"text": payload, "settings": {...}} with one such line
//
// A graph that the worker cannot take has "threw"; a document that the app would refuse gives {"refused": reason}.
'use strict';

const fs = require('fs');
const readline = require('readline');
const vm = require('vm');

const EVENT = { process: 0, processed: 1, expand: 2, expanded: 3, again: 4, placedAgain: 5, progress: 8, cleanup: 11 };
const OP = 0;
const GROUP = 1;
const PANE = 'pane';
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

/** Loads the worker; returns a function that sends it one event and returns all that it posts in answer. */
function start(path) {
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
  vm.runInContext(fs.readFileSync(path, 'utf8'), scope, { filename: path });
  if (listeners.length !== 1) throw new Error(`the worker listens ${listeners.length} times`);
  return (event) => {
    posted.length = warned.length = 0;
    listeners[0]({ data: structuredClone(event) });
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

const finite = (node) => [node.x, node.y, node.width, node.height].every(Number.isFinite);

function opNode(node) {
  const { id, label, namespace, fullNamespace, nsParentId, subgraphIds, style, config } = node;
  const { attrs = {}, inputsMetadata = {}, outputsMetadata = {}, incomingEdges = [], outgoingEdges = [] } = node;
  return {
    id, label, namespace, fullNamespace, parent: nsParentId ?? null, hidden: node.hideInLayout === true,
    subgraphIds: subgraphIds ?? [], attrs, inputsMetadata, outputsMetadata, incomingEdges, outgoingEdges,
    style: style ?? null, config: config ?? null, placed: finite(node),
  };
}

function groupNode(node) {
  const { id, label, namespace, nsParentId, nsChildrenIds = [], expanded, sectionContainer } = node;
  return {
    id, label, namespace, parent: nsParentId ?? null, children: nsChildrenIds, expanded, placed: finite(node),
    section: sectionContainer === true,
  };
}

/** Returns what the app holds of one model graph: its nodes by id, its layers, and the wires that it draws. */
function held(graph) {
  const byId = Object.values(graph.nodesById);
  return {
    id: graph.id,
    nodes: byId.filter((node) => node.nodeType === OP).map(opNode),
    groups: byId.filter((node) => node.nodeType === GROUP).map(groupNode),
    listed: graph.nodes.length,
    groupNodeAttributes: graph.groupNodeAttributes ?? {},
    drawn: Object.entries(graph.edgesByGroupNodeIds).flatMap(([layer, wires]) =>
      wires.map((wire) => [layer, wire.fromNodeId, wire.toNodeId]),
    ),
  };
}

/** Gives a collection's graphs to the worker first, then opens each by its id: graphs of one id share one place. */
function look(send, document, settings) {
  const found = collections(document);
  if (found === null) return { refused: 'Unsupported JSON format' };
  send({ eventType: EVENT.cleanup });
  const shared = { showOnNodeItemTypes: {}, nodeDataProviderRuns: {}, config: {}, paneId: PANE, rendererId: PANE };
  const process = (label, graph) => {
    const answer = { collection: label, id: graph?.id, errors: [], warnings: [] };
    try {
      const event = {
        ...shared, keepLayersWithASingleChild: true, flattenLayers: false, initialLayout: true, ...settings,
        eventType: EVENT.process, graph: { ...graph, collectionLabel: label },
      };
      const { posted, warned } = send(event);
      answer.warnings.push(...warned);
      const { modelGraph } = posted.find((one) => one.eventType === EVENT.processed);
      answer.layers = modelGraph.nodes.some((node) => node.nodeType === GROUP);
      answer.errors.push(...posted.filter((one) => one.eventType === EVENT.progress && one.error).map((one) => one.error));
    } catch (error) {
      answer.threw = String(error);
    }
    return answer;
  };
  const open = (answer) => {
    if (answer.threw !== undefined) return answer;
    try {
      // "Expand all" forgets the places of a graph without layers, so such a one is laid out again instead.
      const [eventType, answered] = answer.layers ? [EVENT.expand, EVENT.expanded] : [EVENT.again, EVENT.placedAgain];
      const { posted, warned } = send({ ...shared, ...settings, eventType, modelGraphId: answer.id, expand: true });
      answer.warnings.push(...warned);
      Object.assign(answer, held(posted.find((one) => one.eventType === answered).modelGraph));
    } catch (error) {
      answer.threw = String(error);
    }
    return answer;
  };
  return { graphs: found.flatMap(({ label, graphs }) => graphs.map((graph) => process(label, graph)).map(open)) };
}

function answer(send, text, settings = {}) {
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return { refused: String(error) };
  }
  try {
    return look(send, document, settings);
  } catch (error) {
    return { refused: String(error) };
  }
}

const [, , workerPath, payload] = process.argv;
if (payload === undefined) {
  process.stderr.write('usage: node held.js WORKER.js payload.json | --serve\n');
  process.exit(2);
}
const send = start(workerPath);
if (payload === '--serve') {
  readline.createInterface({ input: process.stdin, terminal: false }).on('line', (line) => {
    const { text, settings } = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(answer(send, text, settings))}\n`);
  });
} else {
  const found = answer(send, fs.readFileSync(payload, 'utf8'));
  process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
  process.exit(found.refused === undefined && found.graphs.every((graph) => graph.threw === undefined) ? 0 : 1);
}
