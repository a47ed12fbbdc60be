// Colors of points and the entries of a legend.

import assert from "node:assert/strict";
import { test } from "node:test";

import { GREYS, coloring, cssColor, packed } from "../../../src/hne/viz/report/static/colors.js";

const column = (values, categories = null) => ({ key: "c", name: "c", group: "data", values, categories, time: false });

test("a color is packed with its red last and written for styles", () => {
  assert.equal(packed("0102ff"), 0xffff0201);
  assert.equal(cssColor(packed("0102ff")), "rgb(1, 2, 255)");
});

test("numbers run through a ramp, and those without are grey", () => {
  const paint = coloring(column(Float64Array.of(0, 1, 2, NaN)), "light", false, 4);
  assert.deepEqual([...paint.share.slice(0, 3)], [0, 0.5, 1]);
  assert.deepEqual([paint.colors[0], paint.colors[2]], [paint.table[0], paint.table[255]]);
  assert.equal(paint.colors[3], packed(GREYS.light.missing));
  assert.ok(Number.isNaN(paint.share[3]));
});

test("another plot's numbers are colored on the scale of the legend", () => {
  const legend = column(Float64Array.of(0, 10));
  const paint = coloring(column(Float64Array.of(5, 20)), "dark", false, 2, legend);
  assert.deepEqual([[...paint.share], paint.spread.to], [[0.5, 1], 10]);
  const onLog = coloring(column(Float64Array.of(-1, 1000)), "dark", false, 2, column(Float64Array.of(1, 10, 1000)));
  assert.deepEqual([...onLog.share], [0, 1]);
});

test("ten of the most frequent categories have colors in the order of their names; the rest are others", () => {
  const names = Array.from({ length: 12 }, (_, code) => `k${code}`);
  const codes = Uint8Array.from([...names.keys(), 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12]);
  const paint = coloring(column(codes, names), "light", false, codes.length);
  const listed = paint.entries.map(({ name, count }) => [name, count]);
  assert.deepEqual(listed.slice(7), [["k7", 2], ["k10", 2], ["k11", 2], ["other (2 more)", 2], ["missing", 1]]);
  assert.equal(new Set(paint.entries.map(({ color }) => color)).size, 12);
  assert.deepEqual([paint.entry[8], paint.entry[9], paint.entry.at(-1)], [10, 10, 11]);
});

test("without a column all points have one color", () => {
  assert.equal(new Set(coloring(null, "dark", false, 5).colors).size, 1);
});
