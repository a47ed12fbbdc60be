// What is seen: two columns as axes, the window on them, and who is nearest to a place in it.

const MARGIN = 0.06; // of the plot, free around all points
const MOST_ZOOMED = 1e5;
const MOST_SHUFFLED = 20000; // points up to which they are drawn in a random order

const view = { width: 1, height: 1, ratio: 1, cx: 0, cy: 0, fit: 1, zoom: 1, xs: null, ys: null, grid: null };

// All points in a random order, the same each time: what comes last in the data does not cover the rest.
const shuffled = (() => {
  const found = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
})();

function isEqual(xColumn, yColumn) {
  return xColumn.group === "coordinates" && yColumn.group === "coordinates";
}

// Values of both axes in common units: as they are where both are coordinates, else each stretched to the plot.
function setAxes(xColumn, yColumn) {
  view.equal = isEqual(xColumn, yColumn);
  view.columns = [xColumn, yColumn];
  const [across, up] = [spreadOf(xColumn), spreadOf(yColumn)];
  const aspect = view.width / view.height;
  view.unitX = view.equal ? 1 : aspect / (across.high - across.low || 1);
  view.unitY = view.equal ? 1 : 1 / (up.high - up.low || 1);
  const scaled = (values, unit) => Float64Array.from(values, (value) => value * unit);
  view.xs = scaled(xColumn.values, view.unitX);
  view.ys = scaled(yColumn.values, view.unitY);
  const box = [across.low * view.unitX, across.high * view.unitX, up.low * view.unitY, up.high * view.unitY];
  view.box = box;
  view.grid = gridOf(view.xs, view.ys, box);
  // Many points are drawn cell by cell, at random within each: neighbors in the picture are neighbors in memory.
  const order = n > MOST_SHUFFLED ? view.grid.items : shuffled;
  view.drawn = { order, xs: Float64Array.from(order, (i) => view.xs[i]), ys: Float64Array.from(order, (i) => view.ys[i]) };
  showAll();
}

function showAll() {
  const [x0, x1, y0, y1] = view.box;
  view.cx = (x0 + x1) / 2;
  view.cy = (y0 + y1) / 2;
  view.zoom = 1;
  fitPlot();
}

function fitPlot() {
  const [x0, x1, y0, y1] = view.box;
  const room = 1 - 2 * MARGIN;
  const wide = x1 > x0 ? (view.width * room) / (x1 - x0) : Infinity;
  const high = y1 > y0 ? (view.height * room) / (y1 - y0) : Infinity;
  const fit = Math.min(wide, high);
  view.fit = Number.isFinite(fit) ? fit : Math.min(view.width, view.height);
}

function scaleOf() {
  return view.fit * view.zoom;
}

function toPixel(i) {
  const scale = scaleOf();
  return [view.width / 2 + (view.xs[i] - view.cx) * scale, view.height / 2 - (view.ys[i] - view.cy) * scale];
}

function fromPixel(x, y) {
  const scale = scaleOf();
  return [view.cx + (x - view.width / 2) / scale, view.cy - (y - view.height / 2) / scale];
}

// Zoom so that what is under (x, y) stays there.
function zoomAt(factor, x = view.width / 2, y = view.height / 2) {
  const before = fromPixel(x, y);
  view.zoom = Math.min(MOST_ZOOMED, Math.max(0.2, view.zoom * factor));
  const after = fromPixel(x, y);
  view.cx += before[0] - after[0];
  view.cy += before[1] - after[1];
}

function moveBy(dx, dy) {
  view.cx -= dx / scaleOf();
  view.cy += dy / scaleOf();
}

// Bring a sample into the middle of the plot, unless it is well inside it.
function bringIntoView(i) {
  const [x, y] = toPixel(i);
  if (x > 40 && y > 40 && x < view.width - 40 && y < view.height - 40) return;
  [view.cx, view.cy] = [view.xs[i], view.ys[i]];
}

function areInView(...samples) {
  return samples.map(toPixel).every(([x, y]) => x > 0 && y > 0 && x < view.width && y < view.height);
}

// Cells of a square grid, two points each on average: `starts` are where the points of each begin in `items`.
function gridOf(xs, ys, [x0, x1, y0, y1]) {
  const side = Math.max(1, Math.ceil(Math.sqrt(n / 2)));
  const [cellX, cellY] = [(x1 - x0 || 1) / side, (y1 - y0 || 1) / side];
  const place = (value, low, cell) => Math.min(side - 1, Math.max(0, Math.floor((value - low) / cell)));
  const cellOf = (i) => place(ys[i], y0, cellY) * side + place(xs[i], x0, cellX);
  const starts = new Uint32Array(side * side + 1);
  const isThere = (i) => Number.isFinite(xs[i]) && Number.isFinite(ys[i]);
  for (let i = 0; i < n; i++) if (isThere(i)) starts[cellOf(i) + 1]++;
  for (let cell = 0; cell < side * side; cell++) starts[cell + 1] += starts[cell];
  const next = starts.slice();
  const items = new Uint32Array(starts[side * side]);
  for (const i of shuffled) if (isThere(i)) items[next[cellOf(i)]++] = i;
  return { starts, items, side, columns: (x) => place(x, x0, cellX), rows: (y) => place(y, y0, cellY) };
}

// The points within a box of data, each handed to `take`.
function eachIn([x0, x1, y0, y1], take) {
  const { starts, items, side, columns: across, rows: up } = view.grid;
  const [left, right] = [across(x0), across(x1)];
  for (let row = up(y0); row <= up(y1); row++) {
    const end = starts[row * side + right + 1];
    for (let k = starts[row * side + left]; k < end; k++) take(items[k]);
  }
}

// The shown sample nearest to a pixel, at most `reach` pixels from it; -1 for none.
function nearestTo(x, y, reach, isShown) {
  const [dataX, dataY] = fromPixel(x, y);
  const radius = reach / scaleOf();
  let [best, least] = [-1, radius * radius];
  eachIn([dataX - radius, dataX + radius, dataY - radius, dataY + radius], (i) => {
    const distance = (view.xs[i] - dataX) ** 2 + (view.ys[i] - dataY) ** 2;
    if (distance <= least && isShown(i)) [best, least] = [i, distance];
  });
  return best;
}

// Samples in the plot, those nearest to its center first.
function fromCenter(isShown) {
  const [x0, y1] = fromPixel(0, 0);
  const [x1, y0] = fromPixel(view.width, view.height);
  const found = [];
  eachIn([x0, x1, y0, y1], (i) => {
    const inside = view.xs[i] >= x0 && view.xs[i] <= x1 && view.ys[i] >= y0 && view.ys[i] <= y1;
    if (inside && isShown(i)) found.push(i);
  });
  const distance = (i) => (view.xs[i] - view.cx) ** 2 + (view.ys[i] - view.cy) ** 2;
  return found.sort((a, b) => distance(a) - distance(b) || a - b);
}

// Round numbers within a range of an axis, about `wanted` of them.
function ticksOf(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  if (!Number.isFinite(step) || step <= 0) return [];
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high && ticks.length < 50; k++) ticks.push(k * step);
  return ticks.map((value) => Number(value.toPrecision(10)));
}
