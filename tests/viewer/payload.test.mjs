import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decode, inflate } from "../../fxstore/render/viewer/scene/payload.js";

function packed(header, parts) {
  const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
  const head = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([padded(Buffer.concat([Buffer.from("FXPG"), length, head])), ...parts.map(padded)]);
}

const HEADER = {
  schema: "fxstore.page",
  version: 1,
  columns: [
    { name: "a", type: "i1", length: 3, delta: true },
    { name: "b", type: "f8", length: 2, delta: false },
    { name: "c", type: "i2", length: 2, delta: false },
  ],
};
const PARTS = [
  Buffer.from(Int8Array.from([5, -1, 2]).buffer),
  Buffer.from(Float64Array.from([NaN, 0.25]).buffer),
  Buffer.from(Int16Array.from([-300, 7]).buffer),
];

test("columns come back widened, aligned and summed", async () => {
  const { columns } = decode(await inflate(gzipSync(packed(HEADER, PARTS)).toString("base64")));
  assert.deepEqual([...columns.get("a")], [5, 4, 6]);
  assert.deepEqual([...columns.get("b")], [NaN, 0.25]);
  assert.deepEqual([...columns.get("c")], [-300, 7]);
});

test("another version is refused with both versions named", () => {
  const bytes = packed({ ...HEADER, version: 2 }, PARTS);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  assert.throws(() => decode(buffer), /version 1, not fxstore.page 2/);
});

test("something else is refused", () => {
  assert.throws(() => decode(new ArrayBuffer(16)), /not an fxstore page payload/);
});
