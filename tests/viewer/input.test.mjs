import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter, shortened, visible } from "../../fxstore/render/viewer/page/dom.js";
import { attachGestures, pinch } from "../../fxstore/render/viewer/panes/viewer.js";
import { KEYS, actionOf } from "../../fxstore/render/viewer/panels/help.js";
import { fittedPath, fittedText } from "../../fxstore/render/viewer/paint/label.js";

const PAGE = { typing: false, onCanvas: false };

test("keys do nothing while someone types, except Escape", () => {
  assert.equal(actionOf({ key: "n" }, { ...PAGE, typing: true }), null);
  assert.deepEqual(actionOf({ key: "Escape" }, { ...PAGE, typing: true }), ["clear"]);
  assert.deepEqual(actionOf({ key: "n" }, PAGE), ["stepRow", 1]);
  assert.equal(actionOf({ key: "n", ctrlKey: true }, PAGE), null);
  assert.equal(actionOf({ key: "constructor" }, PAGE), null);
});

test("arrows move only the pane that has the focus", () => {
  assert.equal(actionOf({ key: "ArrowUp" }, PAGE), null);
  assert.deepEqual(actionOf({ key: "ArrowUp" }, { ...PAGE, onCanvas: true }), ["pan", 0, 60]);
});

test("every key of the help does something", () => {
  const pressed = { Arrows: "ArrowUp", "1 … 9": "1", Esc: "Escape" };
  for (const [keys] of KEYS)
    for (const key of keys) assert.ok(actionOf({ key: pressed[key] ?? key }, { ...PAGE, onCanvas: true }), key);
});

function canvas() {
  const listeners = new Map();
  return {
    addEventListener: (name, listener) => listeners.set(name, listener),
    removeEventListener: (name) => listeners.delete(name),
    getBoundingClientRect: () => ({ left: 10, top: 20 }),
    setPointerCapture: () => {},
    send: (type, x, y, more = {}) =>
      listeners.get(type)?.({
        type,
        clientX: x,
        clientY: y,
        pointerId: 1,
        button: 0,
        deltaMode: 0,
        preventDefault() {},
        ...more,
      }),
    listeners,
  };
}

function recorder() {
  const calls = [];
  const note =
    (name) =>
    (...args) =>
      calls.push([name, ...args]);
  return {
    calls,
    target: Object.fromEntries(["pan", "zoom", "click", "hover", "leave", "double"].map((name) => [name, note(name)])),
  };
}

test("a press without movement is a click, one with movement a drag", () => {
  const [element, { calls, target }] = [canvas(), recorder()];
  const detach = attachGestures(element, target);
  element.send("pointerdown", 60, 70);
  element.send("pointermove", 61, 70);
  element.send("pointerup", 61, 70);
  assert.deepEqual(calls, [["click", 51, 50]]);
  calls.length = 0;
  element.send("pointerdown", 60, 70);
  element.send("pointermove", 80, 75);
  element.send("pointerup", 80, 75);
  assert.deepEqual(calls, [["pan", 20, 5]]);
  detach();
  assert.equal(element.listeners.size, 0);
});

test("the wheel zooms in around the pointer when it turns up", () => {
  const [element, { calls, target }] = [canvas(), recorder()];
  attachGestures(element, target);
  element.send("wheel", 110, 120, { deltaY: -100 });
  const [name, x, y, factor] = calls[0];
  assert.deepEqual([name, x, y], ["zoom", 100, 100]);
  assert.ok(factor > 1);
});

test("two fingers that part zoom in around their middle", () => {
  const { calls, target } = recorder();
  pinch(target, { x: 0, y: 0 }, { x: 100, y: 0 }, { x: 200, y: 0 });
  assert.deepEqual(calls, [
    ["pan", 50, 0],
    ["zoom", 100, 0, 2],
  ]);
});

test("text that hides or reorders is spelled out", () => {
  assert.equal(visible("a\u202eb\u0000c\u2028\ufeff"), "a\\u202eb\\u0000c\\u2028\\ufeff");
  assert.equal(visible("\ud800x"), "\\ud800x");
  assert.equal(visible("ß 日本 😀 </script>"), "ß 日本 😀 </script>");
});

test("text is cut to its room, keeping both ends", () => {
  const measure = (text) => text.length * 7;
  assert.equal(fittedText("short", 100, measure), "short");
  const cut = fittedText("aten_convolution_default_12", 100, measure);
  assert.ok(measure(cut) <= 100 && cut.startsWith("aten") && cut.endsWith("_12"));
  assert.equal(fittedText("anything", 1, measure), "…");
  assert.ok(fittedText("x".repeat(1e6), 300, measure).length < 50);
  assert.equal(shortened("abcdef", 4), "abc…");
});

test("module paths keep their last parts", () => {
  const measure = (text) => text.length * 7;
  assert.equal(fittedPath("layer.0.attention.query", 17 * 7, measure), "…attention.query");
  assert.equal(fittedPath("layer.0", 20 * 7, measure), "layer.0");
  assert.equal(fittedPath("layer.0.a_very_long_name_1", 8 * 7, measure), "a_ve…e_1");
  assert.ok(measure(fittedPath("a.".repeat(1e5), 300, measure)) <= 300);
});

test("listeners come and go", () => {
  const emitter = new Emitter();
  const got = [];
  const off = emitter.on("a", (detail) => got.push(detail));
  emitter.emit("a", 1);
  off();
  emitter.emit("a", 2);
  assert.deepEqual(got, [1]);
});
