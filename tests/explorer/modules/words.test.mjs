// Answers as entries, their words, and the ties to a notebook.

import assert from "node:assert/strict";
import { test } from "node:test";

import { entryOf } from "../../../src/hne/explorer/static/answers.js";
import { Beside } from "../../../src/hne/explorer/static/beside.js";
import { edgesText } from "../../../src/hne/explorer/static/edges.js";
import { axisName } from "../../../src/hne/explorer/static/scene.js";
import { wordOf } from "../../../src/hne/explorer/static/knobs.js";
import { rememberedBy } from "../../../src/hne/explorer/static/memory.js";
import { listedFindings } from "../../../src/hne/explorer/static/strip.js";
import { captionOf, furtherOf, labelOf } from "../../../src/hne/explorer/static/thumbnails.js";
import { notebookTheme, tieModel } from "../../../src/hne/explorer/static/widget.js";

const PARAMETERS = { n_neighbors: 8, reg: null, variant: "ihne", n_components: 2, coordinates: "chart", short_circuits: "cut", pieces: "separate", metric: "euclidean" };
const START = { parameters: PARAMETERS, scale: "none", columns: null, cut: [], keep: [], whole: false };

const OPENING = { start: START, features: ["a", "b", "c"] };

test("an answer becomes an entry with its picture, and a verdict even where nobody gave one", () => {
  const buffers = [new Float32Array([1, 2]).buffer, new Int32Array([1, 0]).buffer];
  const columns = [{ key: "coordinate-1", kind: "f4", buffer: 0 }];
  const neighbors = { k: 1, kind: "i4", buffer: 1 };
  const message = { id: 7, columns, neighbors, shorts: [[0, 1]], isCut: true, kind: "chart", settings: { n_neighbors: 8 }, verdict: null };
  const entry = entryOf({ message, buffers }, START, 3);
  assert.deepEqual([entry.id, entry.bytes, entry.gesture, entry.request], [7, 16, 3, START]);
  assert.deepEqual([...entry.picture.columns[0].values], [1, 2]);
  assert.deepEqual([[...entry.picture.neighbors], entry.picture.k, entry.picture.cut], [[1, 0], 1, true]);
  assert.equal(entry.result.verdict.level, "unknown");
  assert.equal(entryOf({ message: { ...message, neighbors: null }, buffers }, START, 0).picture.neighbors, null);
});

test("an entry is named by k, variant and ridge, and by what else was changed", () => {
  assert.equal(labelOf({ settings: { n_neighbors: 8, variant: "bhne", reg: 0.000985 } }), "k 8 · BHNE · 9.8e-4");
  assert.equal(furtherOf({ request: START }, OPENING), "");
  const changed = { ...START, parameters: { ...PARAMETERS, n_components: 3, short_circuits: "keep" }, scale: "robust", columns: ["a"], cut: [[1, 2]] };
  assert.equal(furtherOf({ request: changed }, OPENING), "cut 1 – 2, only a, d 3, short circuits keep, scaling robust");
  const edited = { ...START, cut: [[1, 2], [5, 6]], keep: [[3, 4]], columns: ["a", "b"], whole: true };
  const nameOf = (i) => `tree-${i}`;
  assert.equal(furtherOf({ request: edited, nameOf }, OPENING), "put back tree-3 – tree-4, cut tree-5 – tree-6, 1 more edit, without c, all samples");
  assert.equal(captionOf({ request: START, settings: { n_neighbors: 8, variant: "ihne", reg: 0.1 } }, OPENING), "k 8 · IHNE · 0.1");
  assert.deepEqual([wordOf("ihne"), wordOf("chart")], ["IHNE", "chart"]);
});

test("pictures side by side are compared by stress and score", () => {
  const measures = [["Stress", "0.01"], ["Rebuilt", "2"], ["Score", "0.02"]].map(([name, text]) => ({ name, text }));
  const entry = { request: START, settings: { n_neighbors: 8, variant: "ihne", reg: 0.1 }, result: { verdict: { word: "Good." }, measures } };
  const caption = Beside.prototype.caption.call({ opening: OPENING }, entry);
  assert.equal(caption, "k 8 · IHNE · 0.1 — Good. Stress 0.01, Score 0.02");
});

test("findings are not said twice, and what is only to be known is a note", () => {
  const own = { level: "bad", text: "Parts hang by a hinge", remedy: "Raise n_neighbors" };
  const known = { level: "good", text: "Some samples are equal", remedy: "" };
  const verdict = { text: "Cannot be believed: parts hang by a hinge; raise n_neighbors.", findings: [own, known] };
  const listed = listedFindings(verdict, ["Parts hang by a hinge.", "Something else"]);
  assert.deepEqual(listed.map(({ level, text }) => [level, text]), [["note", known.text], ["note", "Something else"]]);
  const further = { ...own, remedy: "Look where it is thin" };
  assert.deepEqual(listedFindings({ ...verdict, findings: [further] }, []), [further]);
});

test("a tab remembers the last request, and begins anew where it may not or cannot", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  const hooks = rememberedBy(() => storage, "one");
  assert.equal(hooks.start(), null);
  hooks.settings(START);
  assert.deepEqual(hooks.start(), START);
  assert.equal(rememberedBy(() => storage, "other").start(), null);
  kept.set("one", "{");
  assert.equal(hooks.start(), null);
  const forbidden = rememberedBy(() => assert.fail("not allowed"), "one");
  forbidden.settings(START);
  assert.equal(forbidden.start(), null);
});

test("edges across gaps are counted in a sentence", () => {
  assert.equal(edgesText({ nShorts: 0, isCut: true }, 0), "None leads across a gap.");
  assert.match(edgesText({ nShorts: 0, isCut: true, coordinates: "layout" }, 0), /^Not searched for: a layout/);
  assert.equal(edgesText({ nShorts: 1, isCut: true }, 1), "1 edge leads across a gap and was cut.");
  assert.equal(edgesText({ nShorts: 3000, isCut: false }, 2000), "3\u00a0000 edges lead across a gap and are suspected, and kept. The worst 2\u00a0000 are drawn.");
});

test("axes of figures say what coordinates preserve", () => {
  const column = (name) => ({ name, group: "coordinates" });
  assert.equal(axisName(column("chart coordinate 1"), "chart"), "chart coordinate 1 (units of X)");
  assert.equal(axisName(column("layout coordinate 2"), "layout"), "layout coordinate 2 (neighborhoods, not distances)");
  assert.equal(axisName(column("eigenvector 1"), "eigenvectors"), "eigenvector 1");
  assert.equal(axisName({ name: "x1", group: "data" }, "chart"), "x1");
});

function page({ theme = null, htmlClass = "", bodyClass = "", jpThemeLight } = {}) {
  const list = (text) => ({ contains: (name) => text.split(" ").includes(name) });
  const body = { dataset: { jpThemeLight }, className: bodyClass, classList: list(bodyClass) };
  return { documentElement: { getAttribute: () => theme, classList: list(htmlClass) }, body };
}

test("the theme of a notebook is known, whichever it is", () => {
  assert.equal(notebookTheme(page({ jpThemeLight: "false" })), "dark");
  assert.equal(notebookTheme(page({ jpThemeLight: "true" })), "light");
  assert.equal(notebookTheme(page({ bodyClass: "vscode-dark" })), "dark");
  assert.equal(notebookTheme(page({ bodyClass: "vscode-light" })), "light");
  assert.equal(notebookTheme(page({ theme: "dark" })), "dark");
  assert.equal(notebookTheme(page({ htmlClass: "dark" })), "dark");
  assert.equal(notebookTheme(page()), "");
});

function fakes() {
  const [values, heard, asked, selected] = [{ settings: START, selection: [] }, {}, [], []];
  let nSaved = 0;
  const model = {
    get: (name) => values[name],
    set: (name, value) => (values[name] = value),
    save_changes: () => nSaved++,
    on: (name, act) => (heard[name] = act),
    off: (name) => delete heard[name],
  };
  const desk = { state: { selected: [] }, on: { select: (samples) => selected.push(samples) } };
  const bench = { request: START, desk, change: (request) => asked.push(request) };
  return { values, heard, asked, selected, model, bench, nSaved: () => nSaved };
}

test("settings and selection go to the model once, and come from it where they differ", () => {
  const { values, heard, asked, selected, model, bench, nSaved } = fakes();
  const { untie } = tieModel(model, bench);
  assert.equal(bench.hooks.start(), START);
  bench.hooks.settings({ ...START, scale: "robust" });
  bench.hooks.settings({ ...START, scale: "robust" });
  bench.hooks.selection([3, 4]);
  assert.deepEqual([values.settings.scale, values.selection, nSaved()], ["robust", [3, 4], 2]);
  bench.request = values.settings;
  heard["change:settings"]();
  assert.deepEqual(asked, []);
  values.settings = START;
  values.selection = [1];
  heard["change:settings"]();
  heard["change:selection"]();
  assert.deepEqual([asked, selected], [[START], [[1]]]);
  untie();
  assert.deepEqual(Object.keys(heard), []);
});
