// Methods of Model Explorer's page, taken out of its bundle by name and run without a browser.
//
// The bundle is minified, so what a method calls outside its class has no name to look for. Of that, only three kinds
// matter here, told apart by how they are called: f(a, b) copies both into the first, f(node) asks whether the node is
// an operator, and anything else is a constant of the page whose value changes nothing that is looked at.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const NAMES = [
  'addGraphCollections', 'genInfoDataForSelectedOpNode', 'genInputsOutputsData', 'genInputMetadataList',
  'genOutputMetadataList', 'processNodeDataProviderDataForGraph', 'genOutputTensorIdToNodeIdMap',
  'getNodeDataProviderData', 'getBgColor', 'getTextColor', 'getColorFromGradient', 'getRgbFromColor', 'hexStrToInt',
  'numToHex', 'updateSyncNavigationData', 'getMappedNodeIds',
];

/** Returns where the text of a quoted or template string that begins at `from` ends. */
function endOfString(text, from) {
  for (let at = from + 1; ; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[from]) return at;
    else if (text[from] === '`' && text.startsWith('${', at)) at = endOfBlock(text, at + 2);
  }
}

/** Returns where the block whose first character is `from` ends: the place of its closing brace. */
function endOfBlock(text, from) {
  for (let at = from, depth = 1; ; at++) {
    if ('`"\''.includes(text[at])) at = endOfString(text, at);
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
  }
}

/** Returns the source of the first method of that name. */
function method(text, name) {
  const found = new RegExp(`(?<![\\w.$])${name}\\([^()]*\\)\\{`).exec(text);
  if (found === null) throw new Error(`the page has no method ${name}`);
  return text.slice(found.index, endOfBlock(text, found.index + found[0].length) + 1);
}

const standIn = (...given) => (given.length === 1 ? given[0]?.nodeType === 0 : Object.assign({}, ...given));

/** Reads the bundle beside the worker; returns a function that makes a fresh object with the page's methods. */
function loader(workerPath) {
  const folder = path.dirname(workerPath);
  const bundle = fs.readdirSync(folder).find((name) => /^main-.*\.js$/.test(name));
  const text = fs.readFileSync(path.join(folder, bundle), 'utf8');
  const outside = new Proxy({}, {
    has: (_, name) => typeof name === 'string' && !(name in globalThis),
    get: (_, name) => (name === Symbol.unscopables ? undefined : standIn),
  });
  const source = `with (outside) { ({ ${NAMES.map((name) => method(text, name)).join(',\n')} }) }`;
  const script = new vm.Script(source);
  return () =>
    Object.assign(script.runInNewContext({ outside }), {
      appService: { config: () => ({}) },
      nodeDataProviderExtensionService: { getRunsForModelGraph: () => [] },
      curShowOnOpNodeInfoIds: new Set(),
      curShowOnOpNodeAttrIds: new Set(),
      ioPageSize: Infinity,
    });
}

/** Gives collections to the page as it takes a file's; returns them as it then holds them. */
function added(page, collections) {
  let held = [];
  page.curGraphCollections = { update: (change) => (held = change([])) };
  page.addGraphCollections(collections);
  return held;
}

const pairs = (items) => items.map((item) => [item.key ?? item.label, item.value]);

/** Returns what the side panel shows of an operator: attributes, and each input and output with its values. */
function panel(page, graph, node) {
  Object.assign(page, { curModelGraph: graph, curSelectedNode: node, sections: [] });
  page.genInfoDataForSelectedOpNode();
  page.genInputsOutputsData();
  return {
    attrs: pairs(page.sections.slice(1).flatMap((section) => section.items)),
    inputs: page.inputItems.map((item) => [item.opNode.id, pairs(item.metadataList)]),
    outputs: page.outputItems.map((item) => [item.outputId, item.connectedNodes.map(({ id }) => id)]),
  };
}

/** Returns what the page makes of a file of node data on one graph: [node id, {value, bgColor, strValue}]. */
function nodeData(page, text, graph) {
  return Object.entries(page.processNodeDataProviderDataForGraph(graph, page.getNodeDataProviderData(text, graph)));
}

/** Returns where each of the given nodes leads by a sync file: [[id, ids]] from the left and from the right. */
function synced(page, data, left, right) {
  page.mode = () => undefined;
  let held = {};
  page.savedProcessedSyncNavigationData = Object.assign(() => held, { update: (change) => (held = change(held)) });
  page.updateSyncNavigationData('mapping', data);
  const { leftToRightMapping, rightToLeftMapping } = held.mapping;
  const of = (ids, mapping) => ids.map((id) => [id, mapping[id] ?? null]);
  return { left: of(left, leftToRightMapping), right: of(right, rightToLeftMapping) };
}

module.exports = { added, loader, nodeData, panel, synced };
