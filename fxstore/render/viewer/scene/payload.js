// The page's payload: base64 of gzip of magic, header length, JSON header and typed columns.

const MAGIC = "FXPG";
const ALIGN = 8;
const TYPES = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f8: Float64Array };

/**
 * @typedef {{name: string, type: "i1"|"i2"|"i4"|"f8", length: number, delta: boolean}} ColumnEntry
 * @typedef {Int32Array|Float64Array} Column
 * @typedef {{header: any, columns: {get: (name: string) => Column, has: (name: string) => boolean}}} Payload
 */

/** @param {string} text @returns {Promise<ArrayBuffer>} */
export async function inflate(text) {
  const stream = new Blob([bytesOf(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** @param {string} base64 */
function bytesOf(base64) {
  return Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer @returns {Payload} */
export function decode(buffer) {
  const head = new DataView(buffer);
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 4));
  if (magic !== MAGIC) throw new Error("this is not an fxstore page payload");
  const length = head.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  if (header.schema !== "fxstore.page" || header.version !== 1) {
    throw new Error(`this page reads payload version 1, not ${header.schema} ${header.version}`);
  }
  const stored = new Map();
  let offset = aligned(8 + length);
  for (const entry of header.columns) {
    const values = new TYPES[entry.type](buffer, offset, entry.length);
    stored.set(entry.name, { values, entry });
    offset = aligned(offset + values.byteLength);
  }
  return { header, columns: new Columns(stored) };
}

/** Columns that are widened when they are first asked for: opening a page needs few of them. */
class Columns {
  #wide = new Map();

  /** @param {Map<string, {values: any, entry: ColumnEntry}>} stored */
  constructor(stored) {
    this.stored = stored;
  }

  /** @param {string} name @returns {boolean} */
  has(name) {
    return this.stored.has(name);
  }

  /** @param {string} name @returns {Column} empty where the payload has none of that name */
  get(name) {
    if (!this.#wide.has(name)) {
      const found = this.stored.get(name);
      this.#wide.set(name, found ? widen(found.values, found.entry) : new Int32Array(0));
    }
    return this.#wide.get(name);
  }
}

/** @param {ArrayLike<number>} stored @param {ColumnEntry} entry @returns {Column} */
function widen(stored, entry) {
  const out = entry.type === "f8" ? new Float64Array(stored) : new Int32Array(stored);
  if (entry.delta) for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
  return out;
}

/** @param {number} offset */
function aligned(offset) {
  return Math.ceil(offset / ALIGN) * ALIGN;
}
