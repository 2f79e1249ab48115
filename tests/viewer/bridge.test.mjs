import assert from "node:assert/strict";
import { test } from "node:test";
import { attachBridge } from "../../fxstore/render/viewer/page/api.js";

function framed() {
  const said = [];
  const heard = {};
  const parent = { postMessage: (message) => said.push(message) };
  const window = { parent, addEventListener: (event, listener) => (heard[event] = listener) };
  const api = {
    now: null,
    selected: () => api.now,
    select: (nid) => {
      if (nid === 13) throw new RangeError("no node 13 on this page");
      api.now = nid;
      api.changed();
    },
    on: (_, listener) => (api.changed = listener),
  };
  attachBridge(window, api);
  return { api, said, ask: (data, source = parent) => heard.message({ source, data }) };
}

test("a page that is not framed says nothing", () => {
  const window = { addEventListener: () => assert.fail("it listens") };
  window.parent = window;
  attachBridge(window, { on: () => assert.fail("it listens") });
});

test("the selection goes both ways", () => {
  const { api, said, ask } = framed();
  ask({ fxstore: 1, select: 7 });
  assert.equal(api.now, 7);
  ask({ fxstore: 1, select: null });
  assert.deepEqual(said, [
    { fxstore: 1, ready: true },
    { fxstore: 1, selected: 7 },
    { fxstore: 1, selected: null },
  ]);
});

test("what is selected already is not selected again", () => {
  const { said, ask } = framed();
  ask({ fxstore: 1, select: 7 });
  ask({ fxstore: 1, select: 7 });
  assert.equal(said.length, 2);
});

test("other messages, and those of other windows, are not for it", () => {
  const { api, said, ask } = framed();
  for (const data of [null, 5, "x", {}, { fxstore: 2, select: 7 }, { fxstore: 1 }, { fxstore: 1, select: "7" }])
    ask(data);
  ask({ fxstore: 1, select: 1.5 });
  ask({ fxstore: 1, select: 7 }, {});
  assert.equal(api.now, null);
  assert.equal(said.length, 1);
});

test("a node that is not there is refused in words", () => {
  const { said, ask } = framed();
  ask({ fxstore: 1, select: 13 });
  assert.deepEqual(said.at(-1), { fxstore: 1, refused: "no node 13 on this page" });
});
