// Names, values as texts, what is found, and tables.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as data from "../../../src/hne/viz/report/static/data.js";
import { csvOf, findSamples } from "../../../src/hne/viz/report/static/search.js";

const numbers = (values) => ({ name: "x", values: Float64Array.from(values), categories: null, time: false });
const kinds = { ...numbers([]), name: "kind", values: Uint8Array.of(0, 1, 2, 0), categories: ["ash", "elm"] };

test("samples are called by their ids, else by their rows, else by their numbers from one", () => {
  const rows = Float64Array.of(7, 9);
  assert.equal(data.createData({ n: 2, ids: ["a", "b"], rows }).idOf(1), "b");
  assert.equal(data.createData({ n: 2, rows }).idOf(1), "9");
  const plain = data.createData({ n: 2 });
  assert.deepEqual([plain.idOf(1), plain.idName, [...plain.row.values]], ["2", "sample", [1, 2]]);
});

test("the order in which points are drawn has each once and is the same each time", () => {
  const [first, second] = [data.createData({ n: 500 }).order, data.createData({ n: 500 }).order];
  assert.deepEqual(first, second);
  assert.notDeepEqual([...first], [...first].sort((a, b) => a - b));
  assert.equal(new Set(first).size, 500);
});

test("numbers are written in five digits, whole ones whole", () => {
  const written = [0.1234567, 20240101, 1e15, 0.000012345, -1234567.8].map(data.numberText);
  assert.deepEqual(written, ["0.12346", "20240101", "1.00e+15", "1.23e-5", "-1.23e+6"]);
  assert.deepEqual([data.exactText(Math.fround(8.9648), true), data.exactText(0.1, false)], ["8.9648", "0.1"]);
  assert.equal(data.countText(1234567), "1\u00a0234\u00a0567");
});

test("times are dates, with a time of day where it is not midnight", () => {
  assert.deepEqual([0, 1.5, -1, NaN].map(data.timeText), ["1970-01-01", "1970-01-02 12:00", "1969-12-31", ""]);
});

test("what is missing is said so", () => {
  assert.deepEqual([0, 1, 2].map((i) => data.textOf(kinds, i)), ["ash", "elm", "missing"]);
  assert.deepEqual([0, 1].map((i) => data.textOf(numbers([2.5, NaN]), i)), ["2.5", "missing"]);
});

test("outliers do not squeeze the range of colors, and many powers of ten have a logarithmic one", () => {
  const straight = data.spreadOf(numbers(Array.from({ length: 201 }, (_, i) => (i === 200 ? 1e6 : i - 5))));
  assert.deepEqual([straight.clipped, straight.isLog, straight.high, straight.to], [true, false, 1e6, 193]);
  const skewed = data.spreadOf(numbers([1, 10, 100, 1000]));
  assert.deepEqual([skewed.isLog, skewed.median, skewed.low, skewed.high], [true, 100, 1, 1000]);
  assert.equal(data.spreadOf(numbers([NaN])).count, 0);
  assert.deepEqual(data.spreadOf(numbers([1, 2, 3]), [0, 2]).mean, 2);
});

test("few whole numbers are categories by size, many or broken ones are not", () => {
  const few = data.categoriesOf(numbers([10, 2, NaN, 2]));
  assert.deepEqual([few.categories, [...few.values]], [["2", "10"], [1, 0, 2, 0]]);
  assert.equal(data.categoriesOf(numbers([0.5])), null);
  assert.equal(data.categoriesOf(numbers(Array.from({ length: 21 }, (_, i) => i))), null);
});

const ids = ["oak-1", "1-oak", "birch", "ash"];
const trees = data.createData({ n: 4, ids, columns: [kinds, numbers([1, 2, 3, 4])] });

test("names that start with a text come first, then others, then texts of columns", () => {
  assert.deepEqual(findSamples(trees, " OAK ").map(({ i }) => i), [0, 1]);
  assert.deepEqual(findSamples(trees, "ash").map(({ i, column }) => [i, column?.name]), [[3, undefined], [0, "kind"]]);
  assert.deepEqual(findSamples(trees, "  "), []);
});

test("cells of a table are quoted where they must be, and empty where there is nothing", () => {
  const odd = { ...kinds, name: 'a "b", c', categories: ["x,y", "line\nend"] };
  const single = { ...numbers([]), values: Float32Array.of(0.1, NaN, 3, 1e8) };
  const lines = csvOf(trees, [odd, single], [0, 1, 2]).split("\r\n");
  assert.deepEqual(lines, ['sample,"a ""b"", c",x', 'oak-1,"x,y",0.1', '1-oak,"line\nend",', "birch,,3", ""]);
});
