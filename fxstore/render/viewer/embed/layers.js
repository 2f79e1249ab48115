// Layers over graphs: what each says of a node, which are active, and what they are told at run time.

import { colorReader } from "../paint/themes.js";
import { isObject, layerOf, legendOf, texts } from "./graphjson.js";
import { KNOWN, plainText } from "./jsonscene.js";

export const BASE = "base";
const EMPTY = new Set([null, "", "[]", "{}"]);

/**
 * @typedef {{model: import("./graphjson.js").GraphModel, first: number, end: number}} Part of a scene: one pane's graph
 * @typedef {{type: "threshold", field: string, thresholds: {value: number, color: string}[]}} ThresholdRule
 */

export class LayerSet {
  /** @param {import("./graphjson.js").GraphModel[]} models in the order of the scene's panes */
  constructor(models) {
    let first = 0;
    /** @type {Part[]} */
    this.parts = models.map((model) => {
      const part = { model, first, end: first + model.nodes.length };
      first = part.end;
      return part;
    });
    /** Ids as they were asked for; those that no graph has say nothing. @type {string[]} */
    this.active = [];
    /** Changes whenever what layers say changes. */
    this.version = 0;
    this.colorOf = colorReader(null);
  }

  /** @returns {Map<string, string>} id to name, of all graphs */
  names() {
    const out = new Map();
    for (const { model } of this.parts)
      for (const [id, { name }] of model.layers) if (!out.has(id)) out.set(id, name || id);
    return out;
  }

  /** @returns {{layer: string, field: string}[]} fields that panes may be synchronised by */
  syncKeys() {
    const out = new Map();
    for (const { model } of this.parts)
      for (const [layer, { syncKeys }] of model.layers)
        for (const field of syncKeys) out.set(`${layer}\n${field}`, { layer, field });
    return [...out.values()];
  }

  /** @param {Iterable<string>|string|null} ids */
  setActive(ids) {
    const given = typeof ids === "string" ? [ids] : [...(ids ?? [])];
    this.active = [...new Set(given.map(String))];
  }

  /** @param {number} node @returns {[Part, import("./graphjson.js").GraphNode]} */
  at(node) {
    const part = this.parts.find(({ end }) => node < end);
    return [part, part.model.nodes[node - part.first]];
  }

  /** @param {number} node @returns {string[]} the lines of its own label */
  label(node) {
    const [, { label }] = this.at(node);
    return label === null ? [] : label.split("\n").filter((line) => line.trim());
  }

  /** @param {number} node @returns {string[]} what active layers add to its box */
  lines(node) {
    return this.#said(node).flatMap(([, said]) => texts(said.label_append));
  }

  /** @param {number} node @returns {string[]} its own tooltip, then those of active layers under their names */
  tooltip(node) {
    const [, { tooltip }] = this.at(node);
    return [
      ...tooltip,
      ...this.#said(node).flatMap(([name, said]) => {
        const own = texts(said.tooltip);
        return own.length ? [`[${name}]`, ...own] : [];
      }),
    ];
  }

  /** @param {number} node @returns {[string, string][]} what else is known of it: name and text */
  rows(node) {
    const [, { info }] = this.at(node);
    const rows = (from, name) =>
      Object.entries(from).flatMap(([key, value]) => {
        const text = linedText(value);
        return EMPTY.has(text) ? [] : [[name ? `${name}.${key}` : key, text]];
      });
    const own = rows(Object.fromEntries(Object.entries(info).filter(([key]) => !KNOWN.has(key))), "");
    const said = this.#said(node).flatMap(([name, { info: more }]) => (isObject(more) ? rows(more, name) : []));
    return [...own, ...said];
  }

  #said(node) {
    const [{ model, first }, { id }] = this.at(node);
    return this.active.flatMap((layer) => {
      const said = model.layers.get(layer)?.nodes.get(id);
      return said ? [[model.layers.get(layer).name || layer, said, node - first]] : [];
    });
  }

  /** @param {string} layer an id, or `base` @param {number} node @returns {string|null} `#rrggbb` */
  fill(layer, node) {
    const [{ model, first }, { fill }] = this.at(node);
    return this.colorOf(layer === BASE ? fill : model.said(layer, node - first)?.fill_color);
  }

  /** @returns {{layer: string, name: string, field: string}[]} keys of layers' `info` that hold a number somewhere */
  numericFields() {
    const out = new Map();
    for (const { model } of this.parts)
      for (const [layer, { name, nodes }] of model.layers)
        for (const { info } of nodes.values())
          for (const field in isObject(info) ? info : {})
            if (typeof info[field] === "number") out.set(`${layer}\n${field}`, { layer, name, field });
    return [...out.values()];
  }

  /** @param {string} layer @param {string} field @param {number} node @returns {any} */
  value(layer, field, node) {
    const [{ model, first }] = this.at(node);
    return model.said(layer, node - first)?.info?.[field];
  }

  /** @param {string} layer @param {number} node @returns {string|null} what a layer says of it, in one line */
  words(layer, node) {
    const [{ model, first }] = this.at(node);
    const said = model.said(layer, node - first);
    const lines = texts(said?.label_append);
    if (lines.length || !isObject(said?.info)) return lines.join(" ") || null;
    return Object.entries(said.info)
      .map(([key, value]) => `${key}: ${plainText(value) ?? "none"}`)
      .join(", ");
  }

  /** @param {string} layer an id, or `base` @returns {{label: string, color: string|null}[][]} of each graph */
  legends(layer) {
    return this.parts.map(({ model }) => {
      const own = layer === BASE ? model.legend : model.layers.get(layer)?.legend;
      return (own ?? []).map(({ label, color }) => ({ label, color: this.colorOf(color) }));
    });
  }

  /** Adds a layer, or gives one another name, legend or nodes. @param {string} id @param {any} given */
  upsert(id, given) {
    if (typeof id !== "string" || !id) throw new TypeError("upsertLayer needs the id of a layer");
    if (!isObject(given)) throw new TypeError(`upsertLayer(${JSON.stringify(id)}) needs an object`);
    this.#change(({ layers }) => {
      const before = layers.get(id);
      const layer = layerOf(id, given);
      if (before && typeof given.name !== "string") layer.name = before.name;
      if (before && !Array.isArray(given.legend)) layer.legend = before.legend;
      if (before && !isObject(given.nodes)) layer.nodes = before.nodes;
      if (before && !Array.isArray(given.sync_keys)) layer.syncKeys = before.syncKeys;
      layers.set(id, layer);
    });
  }

  /** @param {string} id */
  remove(id) {
    this.active = this.active.filter((one) => one !== id);
    this.#change(({ layers }) => layers.delete(id));
  }

  /** @param {string} id @param {string} name */
  rename(id, name) {
    this.#change(({ layers }) => {
      const layer = layers.get(id);
      if (layer && name) layers.set(id, { ...layer, name: String(name) });
    });
  }

  /** Changes what a layer says of some nodes; the rest stays. @param {string} id @param {Record<string, any>} patch by node id */
  patch(id, patch) {
    if (!isObject(patch)) throw new TypeError("patchLayerNodes needs an object: node id to what is new");
    if (!this.names().has(id)) this.upsert(id, {});
    this.#change(({ layers }) => {
      const nodes = layers.get(id)?.nodes;
      for (const [node, given] of nodes && Object.entries(patch)) {
        if (!isObject(given)) continue;
        const before = nodes.get(node) ?? {};
        const info = isObject(given.info) ? { ...before.info, ...given.info } : before.info;
        nodes.set(node, { ...before, ...given, ...(info && { info }) });
      }
    });
  }

  /**
   * Colours a layer's nodes anew.
   * @param {string} id @param {((said: import("./graphjson.js").LayerNode, node: string) => any)|ThresholdRule} rule
   */
  recolor(id, rule) {
    const colorFor = typeof rule === "function" ? rule : thresholds(rule);
    this.#change(({ layers }) => {
      const nodes = layers.get(id)?.nodes ?? new Map();
      for (const [node, said] of nodes) {
        const color = colorFor(said, node);
        if (typeof color === "string") nodes.set(node, { ...said, fill_color: color });
      }
    });
  }

  /** @param {string} id @param {any} legend */
  relegend(id, legend) {
    this.#change(({ layers }) => layers.has(id) && layers.set(id, { ...layers.get(id), legend: legendOf(legend) }));
  }

  #change(each) {
    for (const { model } of this.parts) each(model);
    this.version++;
  }
}

/** @returns {(said: any) => string|null} the colour of the highest threshold that a number reaches; below all, of the lowest */
function thresholds(rule) {
  if (!isObject(rule) || rule.type !== "threshold" || !Array.isArray(rule.thresholds))
    throw new TypeError("a colour rule is a function, or {type: 'threshold', field, thresholds: [{value, color}]}");
  const steps = rule.thresholds
    .filter((step) => isObject(step) && Number.isFinite(step.value) && typeof step.color === "string")
    .sort((a, b) => a.value - b.value);
  return ({ info }) => {
    const value = Number(info?.[rule.field] ?? NaN);
    if (Number.isNaN(value) || !steps.length) return null;
    return (steps.findLast((step) => value >= step.value) ?? steps[0]).color;
  };
}

/** An object as one `key: value` a line, anything else as it is. */
function linedText(value) {
  if (!isObject(value)) return plainText(value);
  return Object.entries(value)
    .map(([key, one]) => `${key}: ${plainText(one) ?? "none"}`)
    .join("\n");
}
