// What is shown: sliders, columns, maps of scores, the figure to take along.

import assert from "node:assert/strict";
import { test } from "node:test";

import { chosenAfter, chosenFeatures, columnsOfRequest, matchingFeatures } from "../../../src/hne/explorer/static/featurelist.js";
import { escapeXml, figureSize, figureSvg } from "../../../src/hne/explorer/static/figure.js";
import { cellText, heatMaps, roleOf } from "../../../src/hne/explorer/static/heat.js";
import { SLIDER_STEPS, numberIn, numberRule, ridgeText, sliderEnd, stepOf, valueAt } from "../../../src/hne/explorer/static/scales.js";

const REG = [1e-8, 10];

test("a logarithmic slider has its bounds at its ends and powers of ten evenly between", () => {
  assert.deepEqual([valueAt(0, REG), valueAt(SLIDER_STEPS, REG)], REG);
  assert.deepEqual([stepOf(1e-8, REG), stepOf(10, REG)], [0, SLIDER_STEPS]);
  assert.ok(Math.abs(stepOf(1e-2, REG) - stepOf(1e-3, REG) - SLIDER_STEPS / 9) <= 1);
  assert.deepEqual([stepOf(1e-12, REG), stepOf(1e9, REG)], [0, SLIDER_STEPS]);
});

test("a step of the slider comes back from its value", () => {
  for (let step = 0; step <= SLIDER_STEPS; step += 7) assert.ok(Math.abs(stepOf(valueAt(step, REG), REG) - step) <= 1);
});

test("what is no number is said in a sentence", () => {
  assert.equal(numberRule("n_neighbors", true, " 12.5 "), 'n_neighbors must be a whole number, 1 or more, got "12.5".');
  assert.equal(numberRule("reg", false, ""), "reg must be a number above 0, got nothing.");
});

test("numbers are written short and read within their bounds", () => {
  assert.deepEqual([0.001, 0.00012345, 1e-5, 2.5, 1e5].map((value) => ridgeText(value)), ["0.001", "1.23e-4", "1e-5", "2.5", "1e5"]);
  assert.equal(ridgeText(0.00531, 2), "0.0053");
  assert.equal(numberIn("1e-4", REG), 1e-4);
  assert.deepEqual(["", "x", "20", "-1"].map((text) => numberIn(text, REG)), [null, null, null, null]);
  assert.deepEqual([numberIn("7", [1, 9], true), numberIn("7.5", [1, 9], true)], [7, null]);
  assert.deepEqual([sliderEnd(40, 12), sliderEnd(40, 80), sliderEnd(40, null)], [40, 80, 40]);
});

test("columns are found by a part of their name, and only the first are listed", () => {
  const names = Array.from({ length: 3000 }, (_, k) => `Gene${k}`);
  const all = matchingFeatures(names, "");
  assert.deepEqual([all.shown.length, all.found.length], [200, 3000]);
  assert.deepEqual(matchingFeatures(names, " gene2999 ").shown, ["Gene2999"]);
  assert.deepEqual(matchingFeatures(names, "none").found, []);
});

test("all, none and the others are about what was found", () => {
  const names = ["a1", "a2", "b1"];
  const chosen = chosenFeatures(names, ["a1", "b1"]);
  assert.deepEqual([...chosenAfter("none", chosen, ["a1", "a2"])], ["b1"]);
  assert.deepEqual([...chosenAfter("invert", chosen, ["a1", "a2"])].sort(), ["a2", "b1"]);
  assert.equal(columnsOfRequest(names, chosenAfter("all", chosen, names)), null);
  assert.deepEqual(columnsOfRequest(names, new Set(["b1", "a1"])), ["a1", "b1"]);
  assert.equal(chosenFeatures(names, null).size, 3);
});

test("trials become a map of each variant, with holes where nothing was tried", () => {
  const trial = (variant, n_neighbors, reg, more = {}) => ({ variant, n_neighbors, reg, outcome: "measured", text: "0.1", ...more });
  const maps = heatMaps([trial("bhne", 5, 0.1), trial("ihne", 9, 0.1), trial("ihne", 5, 1e-3, { isBest: true })]);
  assert.deepEqual(maps.map(({ variant }) => variant), ["ihne", "bhne"]);
  assert.deepEqual(maps[0].ks, [5, 9]);
  assert.deepEqual(maps[0].rows.map(({ reg }) => reg), [0.1, 1e-3]);
  assert.equal(maps[0].rows[0].cells[0], null);
  assert.equal(roleOf(maps[0].rows[1].cells[0]), "chosen");
  assert.deepEqual([cellText({ outcome: "stopped early", text: "0.2" }), cellText({ outcome: "failed", text: "" })], [">0.2", "failed"]);
});

const SCENE = {
  width: 300, height: 200, title: "Rolls & <b>more</b>", subtitle: "k 12",
  points: { xs: [1, 2.3456, 3], ys: [4, 5, 6], colors: ["#f00", "#00f", "#f00"], radius: 3 },
  lines: [{ pairs: [[0, 1, 2, 3]], color: "red", width: 2, dash: [7, 4] }],
  across: [{ at: 10, text: "0" }], up: [{ at: 20, text: "−5" }], xName: "coordinate 1", yName: "coordinate 2",
  legend: { title: "kind", entries: [{ name: "a<b", color: "#f00" }, { name: "c", color: "#00f" }], ramp: null },
  paper: "#fff", page: "#fff", ink: "#000", dim: "#555", border: "#ccc",
};

test("the figure has its points by color, its axes, its legend and no markup of the data", () => {
  const svg = figureSvg(SCENE);
  assert.equal(svg.match(/<circle cx="[^"]*" cy="[^"]*" r="3"/g).length, 3);
  assert.match(svg, /<g fill="#f00"><circle cx="1" cy="4" r="3"\/><circle cx="3"/);
  assert.match(svg, /cx="2.35"/);
  assert.match(figureSvg({ ...SCENE, points: { ...SCENE.points, rim: "#fff" } }), /<g fill="#f00" stroke="#fff" stroke-width="0.9">/);
  assert.match(svg, /stroke-dasharray="7 4"/);
  assert.match(svg, />coordinate 1<\/text>/);
  assert.match(svg, />a&lt;b<\/text>/);
  assert.match(svg, /Rolls &amp; &lt;b&gt;more/);
  assert.ok(!svg.includes("<b>"));
  assert.deepEqual(figureSize(SCENE), { width: 572, height: 306 });
});

test("numbers get a ramp, many points are an image, a long legend ends", () => {
  const ramp = { colors: ["#000", "#fff"], low: "0", high: "1" };
  const entries = Array.from({ length: 30 }, (_, k) => ({ name: `c${k}`, color: "#000" }));
  const svg = figureSvg({ ...SCENE, points: { image: "data:image/png;base64,AA" }, legend: { title: "x", entries, ramp } });
  assert.match(svg, /<linearGradient id="ramp"><stop offset="0" stop-color="#000"\/><stop offset="1"/);
  assert.match(svg, /<image href="data:image\/png;base64,AA" width="300"/);
  assert.match(svg, />and 8 more</);
  assert.match(figureSvg({ ...SCENE, legend: null }), /width="382"/);
});

test("characters that XML does not have are replaced", () => {
  assert.equal(escapeXml("a\u0000b\ud800\"'"), "a\ufffdb\ufffd&quot;&#39;");
});
