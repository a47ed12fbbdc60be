// What is seen: two columns as axes, the window on them, and who is nearest to a place in it.

import { spreadOf } from "./data.js";

const MARGIN = 0.06; // of the plot, free around all points
const MOST_ZOOMED = 1e5;
const MOST_SHUFFLED = 20000; // points up to which they are drawn in a random order

export class View {
  constructor() {
    Object.assign(this, { width: 1, height: 1, ratio: 1 });
    this.clear(new Uint32Array(0));
  }

  // No place for any sample; `order` has them all, in the order in which few are drawn.
  clear(order) {
    const nowhere = new Float64Array(order.length).fill(NaN);
    Object.assign(this, { order, columns: null, equal: false, unitX: 1, unitY: 1 });
    this.place(nowhere, nowhere, [0, 0, 0, 0]);
  }

  // Values of both axes in common units: as they are where both are coordinates, else each stretched to the plot.
  setAxes(xColumn, yColumn) {
    this.equal = xColumn.group === "coordinates" && yColumn.group === "coordinates";
    this.columns = [xColumn, yColumn];
    const [across, up] = [spreadOf(xColumn), spreadOf(yColumn)];
    const aspect = this.width / this.height;
    this.unitX = this.equal ? 1 : aspect / (across.high - across.low || 1);
    this.unitY = this.equal ? 1 : 1 / (up.high - up.low || 1);
    const scaled = (values, unit) => Float64Array.from(values, (value) => value * unit);
    const box = [across.low * this.unitX, across.high * this.unitX, up.low * this.unitY, up.high * this.unitY];
    this.place(scaled(xColumn.values, this.unitX), scaled(yColumn.values, this.unitY), box);
  }

  place(xs, ys, box) {
    this.box = box;
    this.grid = gridOf(xs, ys, box, this.order);
    // Many points are drawn cell by cell, at random within each: neighbors in the picture are neighbors in memory.
    this.drawn = { order: this.order.length > MOST_SHUFFLED ? this.grid.items : this.order };
    this.moveTo(xs, ys);
    this.showAll();
  }

  // Points elsewhere for a while: the grid stays that of where they will rest.
  moveTo(xs, ys) {
    const { order } = this.drawn;
    Object.assign(this, { xs, ys });
    this.drawn = { order, xs: Float64Array.from(order, (i) => xs[i]), ys: Float64Array.from(order, (i) => ys[i]) };
  }

  showAll() {
    const [x0, x1, y0, y1] = this.box;
    Object.assign(this, { cx: (x0 + x1) / 2, cy: (y0 + y1) / 2, zoom: 1, isMoved: false });
    this.fitPlot();
  }

  fitPlot() {
    const [x0, x1, y0, y1] = this.box;
    const room = 1 - 2 * MARGIN;
    const wide = x1 > x0 ? (this.width * room) / (x1 - x0) : Infinity;
    const high = y1 > y0 ? (this.height * room) / (y1 - y0) : Infinity;
    const fit = Math.min(wide, high);
    this.fit = Number.isFinite(fit) ? fit : Math.min(this.width, this.height);
  }

  get scale() {
    return this.fit * this.zoom;
  }

  // The same stretch of the axes as before, whatever there is to be seen in it now.
  showSame({ cx, cy, scale }) {
    Object.assign(this, { cx, cy, zoom: limited(scale / this.fit), isMoved: true });
  }

  toPixel(i) {
    const { scale } = this;
    return [this.width / 2 + (this.xs[i] - this.cx) * scale, this.height / 2 - (this.ys[i] - this.cy) * scale];
  }

  fromPixel(x, y) {
    const { scale } = this;
    return [this.cx + (x - this.width / 2) / scale, this.cy - (y - this.height / 2) / scale];
  }

  // Where all points are: across and down, in pixels.
  allPixels() {
    const { scale, width, height, cx, cy } = this;
    return [this.xs.map((x) => width / 2 + (x - cx) * scale), this.ys.map((y) => height / 2 - (y - cy) * scale)];
  }

  allFromPixels([across, down]) {
    const { scale, width, height, cx, cy } = this;
    return [across.map((x) => cx + (x - width / 2) / scale), down.map((y) => cy - (y - height / 2) / scale)];
  }

  // Zoom so that what is under (x, y) stays there.
  zoomAt(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.fromPixel(x, y);
    this.zoom = limited(this.zoom * factor);
    const after = this.fromPixel(x, y);
    this.cx += before[0] - after[0];
    this.cy += before[1] - after[1];
    this.isMoved = true;
  }

  moveBy(dx, dy) {
    this.cx -= dx / this.scale;
    this.cy += dy / this.scale;
    this.isMoved = true;
  }

  hasPlace(i) {
    return Number.isFinite(this.xs[i] + this.ys[i]);
  }

  // Bring a sample into the middle of the plot, unless it is well inside it.
  bringIntoView(i) {
    const [x, y] = this.toPixel(i);
    if (x > 40 && y > 40 && x < this.width - 40 && y < this.height - 40) return;
    Object.assign(this, { cx: this.xs[i], cy: this.ys[i], isMoved: true });
  }

  areInView(...samples) {
    const places = samples.map((i) => this.toPixel(i));
    return places.every(([x, y]) => x > 0 && y > 0 && x < this.width && y < this.height);
  }

  // The points within a box of data, each handed to `take`.
  eachIn([x0, x1, y0, y1], take) {
    const { starts, items, side, columns: across, rows: up } = this.grid;
    const [left, right] = [across(x0), across(x1)];
    for (let row = up(y0); row <= up(y1); row++) {
      const end = starts[row * side + right + 1];
      for (let k = starts[row * side + left]; k < end; k++) take(items[k]);
    }
  }

  // The shown sample nearest to a pixel, at most `reach` pixels from it; -1 for none.
  nearestTo(x, y, reach, isShown) {
    const [dataX, dataY] = this.fromPixel(x, y);
    const radius = reach / this.scale;
    let [best, least] = [-1, radius * radius];
    this.eachIn([dataX - radius, dataX + radius, dataY - radius, dataY + radius], (i) => {
      const distance = (this.xs[i] - dataX) ** 2 + (this.ys[i] - dataY) ** 2;
      if (distance <= least && isShown(i)) [best, least] = [i, distance];
    });
    return best;
  }

  // The number of the pair whose line is nearest to a pixel, at most `reach` pixels from it; -1 for none.
  edgeAt(x, y, pairs, reach) {
    let [best, least] = [-1, reach];
    pairs.forEach(([from, to], number) => {
      const distance = distanceToLine([x, y], this.toPixel(from), this.toPixel(to));
      if (distance <= least) [best, least] = [number, distance];
    });
    return best;
  }

  get shownBox() {
    const [x0, y1] = this.fromPixel(0, 0);
    const [x1, y0] = this.fromPixel(this.width, this.height);
    return [x0, x1, y0, y1];
  }

  countInView() {
    const [x0, x1, y0, y1] = this.shownBox;
    const { xs, ys } = this;
    let count = 0;
    for (let i = 0; i < xs.length; i++) if (xs[i] >= x0 && xs[i] <= x1 && ys[i] >= y0 && ys[i] <= y1) count++;
    return count;
  }

  // Samples in the plot, those nearest to its center first.
  fromCenter(isShown) {
    const [x0, x1, y0, y1] = this.shownBox;
    const { xs, ys } = this;
    const found = [];
    this.eachIn([x0, x1, y0, y1], (i) => {
      if (xs[i] >= x0 && xs[i] <= x1 && ys[i] >= y0 && ys[i] <= y1 && isShown(i)) found.push(i);
    });
    const distance = (i) => (xs[i] - this.cx) ** 2 + (ys[i] - this.cy) ** 2;
    return found.sort((a, b) => distance(a) - distance(b) || a - b);
  }

  // The samples inside an outline of pixels, by the even-odd rule.
  samplesInside(outline, isShown) {
    const corners = outline.map(([x, y]) => this.fromPixel(x, y));
    const [allX, allY] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
    const inside = [];
    this.eachIn([Math.min(...allX), Math.max(...allX), Math.min(...allY), Math.max(...allY)], (i) => {
      if (isShown(i) && isWithin(corners, this.xs[i], this.ys[i])) inside.push(i);
    });
    return inside.sort((a, b) => a - b);
  }
}

function limited(zoom) {
  return Math.min(MOST_ZOOMED, Math.max(0.2, zoom));
}

function isWithin(corners, x, y) {
  let within = false;
  for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
    const [[ax, ay], [bx, by]] = [corners[a], corners[b]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

function distanceToLine([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1);
  const at = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - at * dx, y - ay - at * dy);
}

// Cells of a square grid, two points each on average: `starts` are where the points of each begin in `items`.
function gridOf(xs, ys, [x0, x1, y0, y1], order) {
  const side = Math.max(1, Math.ceil(Math.sqrt(order.length / 2)));
  const [cellX, cellY] = [(x1 - x0 || 1) / side, (y1 - y0 || 1) / side];
  const place = (value, low, cell) => Math.min(side - 1, Math.max(0, Math.floor((value - low) / cell)));
  const cellOf = (i) => place(ys[i], y0, cellY) * side + place(xs[i], x0, cellX);
  const starts = new Uint32Array(side * side + 1);
  const isThere = (i) => Number.isFinite(xs[i]) && Number.isFinite(ys[i]);
  for (const i of order) if (isThere(i)) starts[cellOf(i) + 1]++;
  for (let cell = 0; cell < side * side; cell++) starts[cell + 1] += starts[cell];
  const next = starts.slice();
  const items = new Uint32Array(starts[side * side]);
  for (const i of order) if (isThere(i)) items[next[cellOf(i)]++] = i;
  return { starts, items, side, columns: (x) => place(x, x0, cellX), rows: (y) => place(y, y0, cellY) };
}

// Round numbers within a range of an axis, about `wanted` of them.
export function ticksOf(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  if (!Number.isFinite(step) || step <= 0) return [];
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high && ticks.length < 50; k++) ticks.push(k * step);
  return ticks.map((value) => Number(value.toPrecision(10)));
}
