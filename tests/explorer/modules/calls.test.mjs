// Bytes and messages -> answers, over both transports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CallError, arrayIn, columnsIn, isAborted } from "../../../src/hne/explorer/static/calls.js";
import { commCall } from "../../../src/hne/explorer/static/comm.js";
import { FrameReader } from "../../../src/hne/explorer/static/frames.js";
import { httpCall, tokenOf } from "../../../src/hne/explorer/static/http.js";

function frame(message, ...buffers) {
  const json = new TextEncoder().encode(JSON.stringify({ ...message, buffers: buffers.map((one) => one.byteLength) }));
  const head = new Uint8Array(4);
  new DataView(head.buffer).setUint32(0, json.length, true);
  return Buffer.concat([head, json, ...buffers.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength))]);
}

const PROGRESS = frame({ type: "progress", stage: "weights", done: 3, total: 10 });
const DONE = frame({ type: "done", text: "größer 漢字" }, new Float64Array([1.5, -2]), new Uint8Array([]), new Uint8Array([7]));

function answer(bytes, size, status = 200) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(new Uint8Array(bytes.subarray(at, at + size)));
  const read = async () => (chunks.length ? { done: false, value: chunks.shift() } : { done: true });
  return { ok: status < 400, status, body: { getReader: () => ({ read }) }, json: async () => JSON.parse(bytes.toString()) };
}

for (const size of [1, 2, 3, 5, 64, 1e6]) {
  test(`frames are the same in chunks of ${size} bytes`, () => {
    const [reader, bytes, frames] = [new FrameReader(), Buffer.concat([PROGRESS, DONE, PROGRESS]), []];
    for (let at = 0; at < bytes.length; at += size) frames.push(...reader.push(new Uint8Array(bytes.subarray(at, at + size))));
    assert.deepEqual(frames.map(({ message }) => message.type), ["progress", "done", "progress"]);
    assert.equal(frames[1].message.text, "größer 漢字");
    assert.deepEqual([...new Float64Array(frames[1].buffers[0])], [1.5, -2]);
    assert.deepEqual(frames[1].buffers.map((one) => one.byteLength), [16, 0, 1]);
    assert.ok(reader.isBetween);
  });
}

test("a frame whose last buffer is empty is whole without a further byte", () => {
  const [only] = new FrameReader().push(new Uint8Array(frame({ type: "done" }, new Uint8Array([]))));
  assert.equal(only.buffers.length, 1);
});

test("arrays and columns are read over their bytes", () => {
  const buffers = [new Float32Array([1, 2]).buffer, new Int32Array([-1]).buffer];
  assert.deepEqual([...arrayIn({ kind: "i4", buffer: 1 }, buffers)], [-1]);
  assert.equal(arrayIn(null, buffers), null);
  const [column] = columnsIn([{ key: "error", kind: "f4", buffer: 0 }], buffers);
  assert.deepEqual([column.key, ...column.values], ["error", 1, 2]);
});

test("a call over HTTP reports progress and ends with the last frame", async () => {
  const seen = [];
  const call = httpCall("secret", async (url, { headers, body }) => {
    seen.push(url, headers["X-Hne-Token"], body);
    return answer(Buffer.concat([PROGRESS, PROGRESS, DONE]), 7);
  });
  const { message, buffers } = await call("embed", { a: 1 }, { onProgress: ({ done }) => seen.push(done) });
  assert.deepEqual(seen, ["/api/embed", "secret", '{"a":1}', 3, 3]);
  assert.equal(message.type, "done");
  assert.equal(buffers.length, 3);
});

test("errors, refusals, a cancelled call and a lost connection are told apart", async () => {
  const failing = (make) => httpCall("", make)("embed", {}).then(assert.fail, (error) => error);
  const error = frame({ type: "error", text: "n_neighbors is too large.", parameter: "n_neighbors" });
  const told = await failing(async () => answer(error, 9));
  assert.ok(told instanceof CallError);
  assert.deepEqual([told.message, told.parameter], ["n_neighbors is too large.", "n_neighbors"]);
  assert.equal((await failing(async () => answer(Buffer.from('{"text": "wrong token"}'), 9, 403))).message, "wrong token");
  assert.match((await failing(async () => answer(Buffer.from("[]"), 9, 500))).message, /status 500/);
  assert.ok(isAborted(await failing(async () => answer(frame({ type: "cancelled" }), 9))));
  assert.match((await failing(async () => answer(PROGRESS, 9))).message, /still running/);
  assert.match((await failing(async () => Promise.reject(new TypeError("Failed to fetch")))).message, /still running/);
});

test("the token is in the address, after the number sign or in the query", () => {
  assert.equal(tokenOf({ hash: "#token=abc", search: "" }), "abc");
  assert.equal(tokenOf({ hash: "", search: "?token=a-b" }), "a-b");
  assert.equal(tokenOf({ hash: "", search: "" }), "");
});

function fakeModel() {
  const sent = [];
  let back = null;
  const model = { send: (message) => sent.push(message), on: (_, callback) => (back = callback) };
  return { model, sent, answer: (message, buffers) => back(message, buffers) };
}

test("a call over a comm takes the answers of its own number, and bytes from within views", async () => {
  const { model, sent, answer: reply } = fakeModel();
  const call = commCall(model);
  const stages = [];
  const first = call("embed", { a: 1 }, { onProgress: ({ stage }) => stages.push(stage) });
  const second = call("contrast", {});
  const bytes = new Uint8Array([9, 9, 1, 0, 0, 0]);
  reply({ call: sent[1].call, type: "done", which: 2 }, []);
  reply({ call: sent[0].call, type: "progress", stage: "weights" });
  reply({ call: sent[0].call, type: "done", which: 1 }, [new DataView(bytes.buffer, 2, 4)]);
  assert.equal((await second).message.which, 2);
  assert.deepEqual([...new Int32Array((await first).buffers[0])], [1]);
  assert.deepEqual(stages, ["weights"]);
  assert.deepEqual(sent[0].payload, { a: 1 });
});

test("aborting a call over a comm tells Python, and what still comes is not heard", async () => {
  const { model, sent, answer: reply } = fakeModel();
  const controller = new AbortController();
  const asked = commCall(model)("tune", {}, { signal: controller.signal });
  controller.abort();
  reply({ call: sent[0].call, type: "done" }, []);
  assert.ok(isAborted(await asked.then(assert.fail, (error) => error)));
  assert.deepEqual(sent[1], { call: sent[0].call, type: "cancel" });
});
