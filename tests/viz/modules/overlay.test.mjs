// Which lines across gaps are drawn.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawnPairs } from "../../../src/hne/viz/report/static/overlay.js";

const PAIRS = [[0, 1], [1, 2], [2, 3]];

test("lines lead between samples that are drawn in full", () => {
  const view = { equal: true };
  assert.deepEqual(drawnPairs({ levels: [2, 2, 2, 2], view }, PAIRS), PAIRS);
  assert.deepEqual(drawnPairs({ levels: [2, 2, 1, 2], view }, PAIRS), [[0, 1]]);
  assert.deepEqual(drawnPairs({ levels: [0, 2, 2, 1], view }, PAIRS), [[1, 2]]);
});

test("there are no lines where an axis is no coordinate", () => {
  assert.deepEqual(drawnPairs({ levels: [2, 2, 2, 2], view: { equal: false } }, PAIRS), []);
});
