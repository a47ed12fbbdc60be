// The window on a picture: units, zoom, who is where, and ticks of axes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { View, ticksOf } from "../../../src/hne/viz/report/static/view.js";

const axis = (values, group) => ({ group, values: Float64Array.from(values), categories: null, time: false });
const all = () => true;

function viewOf(xs, ys, { group = "coordinates", width = 400, height = 200 } = {}) {
  const view = new View();
  Object.assign(view, { width, height });
  view.clear(Uint32Array.from(xs, (_, i) => i));
  view.setAxes(axis(xs, group), axis(ys, group));
  return view;
}

function near(found, wanted) {
  for (const [k, value] of found.entries()) assert.ok(Math.abs(value - wanted[k]) < 1e-9, `${found} is not ${wanted}`);
}

// The square of four fills the height of 200 but for 6 in 100 on each side: 88 pixels a unit.
const square = () => viewOf([0, 2, 0, 2], [0, 0, 2, 2]);

test("coordinates have one scale, other columns fill the plot", () => {
  near(square().toPixel(0), [112, 188]);
  near(square().toPixel(3), [288, 12]);
  const stretched = viewOf([0, 5], [0, 100], { group: "data" });
  assert.ok(!stretched.equal);
  near(stretched.toPixel(0), [24, 188]);
  near(stretched.toPixel(1), [376, 12]);
});

test("what is under the pointer stays there as one zooms, and All shows all", () => {
  const view = square();
  const before = view.fromPixel(150, 60);
  view.zoomAt(3, 150, 60);
  near(view.fromPixel(150, 60), before);
  view.moveBy(10, -20);
  near(view.fromPixel(160, 40), before);
  assert.ok(view.isMoved);
  view.showAll();
  assert.deepEqual([view.zoom, view.isMoved], [1, false]);
  view.zoomAt(1e9);
  assert.equal(view.zoom, 1e5);
});

test("the same stretch of the axes is shown of another picture", () => {
  const [view, other] = [square(), viewOf([0, 8], [0, 8])];
  view.zoomAt(2, 100, 50);
  other.showSame(view);
  near(other.fromPixel(30, 40), view.fromPixel(30, 40));
});

test("pixels of all points come back as their places", () => {
  const view = square();
  view.zoomAt(1.7, 3, 5);
  const [xs, ys] = view.allFromPixels(view.allPixels());
  near([...xs], [0, 2, 0, 2]);
  near([...ys], [0, 0, 2, 2]);
  near(view.allPixels().map((values) => values[2]), view.toPixel(2));
});

test("the nearest is the same as by looking at all", () => {
  const wave = Array.from({ length: 300 }, (_, i) => [Math.sin(i * 12.9898) * 3, Math.cos(i * 78.233)]);
  const view = viewOf(wave.map(([x]) => x), wave.map(([, y]) => y));
  const isShown = (i) => i % 3 !== 0;
  for (let k = 0; k < 50; k++) {
    const [x, y] = [(k * 97) % 400, (k * 53) % 200];
    const pixels = wave.map((_, i) => view.toPixel(i));
    const distances = pixels.map(([px, py], i) => (isShown(i) ? Math.hypot(px - x, py - y) : Infinity));
    const least = Math.min(...distances);
    assert.equal(view.nearestTo(x, y, 14, isShown), least <= 14 ? distances.indexOf(least) : -1);
  }
});

test("samples without a place are nowhere", () => {
  const view = viewOf([0, NaN, 2], [0, 1, 2]);
  assert.deepEqual([view.hasPlace(0), view.hasPlace(1)], [true, false]);
  assert.deepEqual(view.fromCenter(all), [0, 2]);
  assert.equal(view.countInView(), 2);
  view.clear(Uint32Array.of(0, 1, 2));
  assert.deepEqual([view.fromCenter(all), view.nearestTo(5, 5, 500, all)], [[], -1]);
});

test("an outline takes what is inside it", () => {
  const view = square();
  assert.deepEqual(view.samplesInside([[120, 0], [400, 0], [400, 200], [280, 200]], all), [1, 3]);
  assert.deepEqual(view.samplesInside([[0, 0], [400, 0], [400, 200], [0, 200]], (i) => i !== 1), [0, 2, 3]);
});

test("the edge nearest to a pixel is found within reach, as a line that ends at its samples", () => {
  const view = square();
  const pairs = [[0, 1], [0, 2], [0, 3]];
  assert.equal(view.edgeAt(200, 184, pairs, 6), 0);
  assert.equal(view.edgeAt(116, 60, pairs, 6), 1);
  assert.equal(view.edgeAt(200, 100, pairs, 6), 2);
  assert.equal(view.edgeAt(200, 150, pairs, 6), -1);
  assert.equal(view.edgeAt(296, 188, pairs, 6), -1); // beyond the end
  assert.equal(view.edgeAt(112, 188, [[0, 0], [1, NaN]], 6), 0);
});

test("ticks are round and about as many as wanted", () => {
  assert.deepEqual(ticksOf(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticksOf(-30, 45, 4), [-20, 0, 20, 40]);
  assert.deepEqual(ticksOf(3, 3, 4), []);
});
