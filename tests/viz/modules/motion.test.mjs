// Points on their way.

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, easeInOut } from "../../../src/hne/viz/report/static/motion.js";

test("motion starts and ends slowly, and never turns back", () => {
  assert.deepEqual([0, 0.5, 1].map(easeInOut), [0, 0.5, 1]);
  assert.ok(easeInOut(0.1) < 0.01 && easeInOut(0.9) > 0.99);
  const steps = Array.from({ length: 101 }, (_, k) => easeInOut(k / 100));
  assert.ok(steps.every((value, k) => k === 0 || value > steps[k - 1]));
});

test("who had no place appears where it belongs, and who has none is gone", () => {
  const [from, to] = [Float64Array.of(0, NaN, 5), Float64Array.of(10, 7, NaN)];
  assert.deepEqual([...between(from, to, 0)], [0, 7, NaN]);
  assert.deepEqual([...between(from, to, 0.5)], [5, 7, NaN]);
  assert.deepEqual([...between(from, to, 1)], [10, 7, NaN]);
});
