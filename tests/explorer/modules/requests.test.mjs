// Requests and their edits, the trail of what was tried, and one call at a time.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cutEdge, handEdits, isSameRequest, putBackEdge, undoEdge, withParameter, withScope,
} from "../../../src/hne/explorer/static/requests.js";
import { Runner } from "../../../src/hne/explorer/static/runner.js";
import { Trail } from "../../../src/hne/explorer/static/trail.js";

const START = { parameters: { n_neighbors: null, reg: null, variant: "ihne" }, scale: "none", columns: null, cut: [], keep: [], whole: false };

test("a request is not changed by its edits", () => {
  const next = withParameter(START, "n_neighbors", 8);
  assert.equal(START.parameters.n_neighbors, null);
  assert.equal(next.parameters.n_neighbors, 8);
  assert.ok(!isSameRequest(START, next));
});

test("requests are the same whatever the order of names, columns and edges", () => {
  const one = { ...START, columns: ["a", "b"], cut: [[1, 2], [5, 3]] };
  const other = { ...START, parameters: { variant: "ihne", reg: null, n_neighbors: null }, columns: ["b", "a"], cut: [[3, 5], [2, 1]] };
  assert.ok(isSameRequest(one, other));
  assert.ok(!isSameRequest(one, { ...other, keep: [[1, 2]] }));
});

test("an edge put back and cut again leaves no edit, and the other way round", () => {
  const back = putBackEdge(START, [4, 2]);
  assert.deepEqual(back.keep, [[4, 2]]);
  assert.ok(isSameRequest(cutEdge(back, [2, 4]), START));
  assert.ok(isSameRequest(putBackEdge(cutEdge(START, [2, 4]), [4, 2]), START));
  assert.equal(cutEdge(cutEdge(START, [2, 4]), [4, 2]).cut.length, 1);
});

test("edits by hand are listed and taken back one by one", () => {
  const edited = putBackEdge(cutEdge(START, [1, 2]), [3, 4]);
  assert.deepEqual(handEdits(edited).map(({ kind }) => kind), ["cut", "put back"]);
  assert.ok(isSameRequest(undoEdge(undoEdge(edited, [2, 1]), [4, 3]), START));
});

test("other samples know nothing of edges cut by hand", () => {
  assert.deepEqual(withScope(cutEdge(START, [1, 2]), true), { ...START, whole: true });
});

const asked = (k, more = {}) => ({ request: withParameter(START, "n_neighbors", k), bytes: 10, ...more });
const ks = (entries) => entries.map(({ request }) => request.parameters.n_neighbors);

test("the trail undoes and redoes the way that was gone", () => {
  const trail = new Trail();
  const [five, six] = [trail.add(asked(5)), trail.add(asked(6))];
  trail.add(asked(7));
  assert.equal(trail.undo(), six);
  assert.equal(trail.undo(), five);
  assert.equal(trail.undo(), five);
  assert.ok(!trail.canUndo && trail.canRedo);
  assert.equal(trail.redo(), six);
  trail.add(asked(8));
  assert.ok(!trail.canRedo);
  assert.deepEqual(ks(trail.entries), [5, 6, 7, 8]);
  trail.visit(five);
  assert.deepEqual(ks(trail.visited), [5, 6, 8, 5]);
  assert.equal(trail.find(asked(6).request), six);
  assert.equal(trail.find(asked(60).request), null);
});

test("what a slider passes on its way is one entry, unless it is held beside", () => {
  const trail = new Trail();
  trail.add(asked(5));
  trail.add(asked(6, { gesture: 1 }));
  trail.add(asked(7, { gesture: 1 }));
  assert.deepEqual([ks(trail.entries), ks(trail.visited)], [[5, 7], [5, 7]]);
  const held = trail.current;
  trail.add(asked(8, { gesture: 1 }), (entry) => entry === held);
  trail.add(asked(9, { gesture: 2 }));
  assert.deepEqual(ks(trail.entries), [5, 7, 8, 9]);
});

test("the oldest are forgotten, but not what is seen or held", () => {
  const trail = new Trail(3);
  const first = trail.add(asked(1));
  for (const k of [2, 3, 4, 5]) trail.add(asked(k), (entry) => entry === first);
  assert.deepEqual(ks(trail.entries), [1, 4, 5]);
  assert.deepEqual(ks(trail.visited), [1, 4, 5]);
  assert.equal(trail.undo().request.parameters.n_neighbors, 4);
  const small = new Trail(60, 25);
  for (const k of [1, 2, 3]) small.add(asked(k));
  assert.deepEqual(ks(small.entries), [2, 3]);
});

function stopwatch() {
  const planned = [];
  const clock = { time: 0, now: () => clock.time, later: (act, pause) => planned.push([clock.time + pause, act]) };
  clock.pass = (time) => {
    clock.time += time;
    for (const [, act] of planned.splice(0).filter(([at, act]) => at <= clock.time || (planned.push([at, act]), false))) act();
  };
  return clock;
}

function logged() {
  const log = [];
  const pending = [];
  const work = (task, { signal, onProgress }) =>
    new Promise((resolve, reject) => {
      pending.push({ task, resolve, reject, onProgress });
      signal.addEventListener("abort", () => log.push(`abort ${task}`));
    });
  const callbacks = {
    onStart: (task) => log.push(`start ${task}`),
    onProgress: (_, task) => log.push(`progress ${task}`),
    onDone: (result) => log.push(`done ${result}`),
    onError: (error) => log.push(`error ${error.message}`),
    onRest: () => log.push("rest"),
  };
  const clock = stopwatch();
  return { log, pending, clock, runner: new Runner(work, callbacks, clock) };
}

const settled = () => new Promise((done) => setImmediate(done));

test("the next request cancels the one under way, whose answer is not heard any more", async () => {
  const { log, pending, clock, runner } = logged();
  runner.ask("a");
  clock.pass(100);
  runner.ask("b");
  pending[0].resolve("a");
  pending[0].onProgress({});
  pending[1].onProgress({});
  pending[1].resolve("b");
  await settled();
  assert.deepEqual(log, ["start a", "abort a", "start b", "progress b", "done b", "rest"]);
  assert.ok(!runner.isBusy);
});

test("of many requests within a moment the first and the last are started", async () => {
  const { log, clock, runner } = logged();
  runner.ask("a");
  for (const task of ["b", "c", "d"]) {
    clock.pass(10);
    runner.ask(task);
  }
  assert.deepEqual(log, ["start a", "abort a"]);
  clock.pass(60);
  assert.deepEqual(log, ["start a", "abort a", "start d"]);
});

test("errors are told, cancelling by hand leaves nothing under way", async () => {
  const { log, pending, clock, runner } = logged();
  runner.ask("a");
  pending[0].reject(new Error("too few samples"));
  await settled();
  clock.pass(100);
  runner.ask("b");
  runner.cancel();
  await settled();
  assert.deepEqual(log, ["start a", "error too few samples", "rest", "start b", "abort b", "rest"]);
  assert.ok(!runner.isBusy);
});

test("a call that will soon be done is let go on to its end, and the next follows", async () => {
  const { log, pending, clock, runner } = logged();
  runner.ask("a");
  clock.pass(100);
  pending[0].resolve("a");
  await settled();
  runner.ask("b");
  clock.pass(80);
  runner.ask("c");
  runner.ask("d");
  pending[1].resolve("b");
  await settled();
  assert.deepEqual(log, ["start a", "done a", "rest", "start b", "done b", "start d"]);
  runner.ask("e");
  clock.pass(299);
  assert.equal(log.at(-1), "start d");
  clock.pass(1);
  assert.deepEqual(log.slice(-2), ["abort d", "start e"]);
});

test("what is asked for after an error is no rest", async () => {
  const { log, pending, clock, runner } = logged();
  const { onError } = runner.callbacks;
  runner.callbacks.onError = (error) => {
    onError(error);
    clock.pass(100);
    runner.ask("start");
  };
  runner.ask("kept");
  pending[0].reject(new Error("refused"));
  await settled();
  assert.deepEqual(log, ["start kept", "error refused", "start start"]);
});

test("after a call that took long, the next cancels at once", async () => {
  const { log, pending, clock, runner } = logged();
  runner.ask("a");
  clock.pass(900);
  pending[0].resolve("a");
  await settled();
  runner.ask("b");
  clock.pass(70);
  runner.ask("c");
  assert.deepEqual(log.slice(3), ["start b", "abort b", "start c"]);
});
