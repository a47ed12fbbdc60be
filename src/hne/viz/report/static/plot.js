// One picture of the samples: its places, window, colors and canvases. What is chosen and pointed at is the desk's.

import { GREYS, coloring, packed } from "./colors.js";
import { element, isDark } from "./dom.js";
import { between } from "./motion.js";
import { drawLinks, drawOver } from "./overlay.js";
import { wirePointer } from "./pointer.js";
import { Raster } from "./raster.js";
import { View } from "./view.js";

export const MOST_DISCS = 100000; // beyond, density; unless so few are in view:
const DISCS_IN_VIEW = 30000;
const MOST_RIMMED = 6000; // points up to which discs are set off from each other

export class Plot {
  constructor(desk, place) {
    Object.assign(this, { desk, element: place, view: new View(), extraLinks: [], outline: null, waiting: [] });
    const made = (name, tag) => place.appendChild(element(tag, { class: name, "aria-hidden": "true" }));
    const part = (name, tag) => place.querySelector(`:scope > .${name}`) ?? made(name, tag);
    const [links, points, over] = ["links", "points", "over"].map((name) => part(name, "canvas"));
    this.canvases = { links, points, over };
    this.card = part("card", "div");
    this.card.hidden = true;
    this.raster = new Raster(points);
    this.ending = new AbortController();
    this.observer = new ResizeObserver(() => this.resize());
    this.clear();
    this.resize();
    this.observer.observe(place);
    wirePointer(this, this.ending.signal);
  }

  close() {
    this.rest();
    this.ending.abort();
    this.observer.disconnect();
  }

  // No picture, for what samples the desk has.
  clear() {
    const { data } = this.desk;
    this.rest();
    Object.assign(this, { picture: null, columns: [...data.columns, data.row], motion: null, drawnAs: "" });
    this.levels = new Uint8Array(data.n).fill(2);
    this.view.clear(data.order);
  }

  // The picture, at once or with points on their way to it; a promise of when they rest.
  show(picture, { duration = 0, keepView = false } = {}) {
    const { desk, view } = this;
    const isMoving = duration > 0 && this.picture !== null && !desk.isStill;
    const before = isMoving ? view.allPixels() : null;
    const { cx, cy, scale, isMoved } = view;
    this.picture = picture;
    this.columns = [...picture.columns, ...desk.data.columns, desk.data.row];
    this.setAxes();
    if (keepView && isMoved) view.showSame({ cx, cy, scale });
    if (isMoving) this.moveFrom(before, duration);
    else this.rest();
    desk.changed();
    return isMoving ? new Promise((done) => this.waiting.push(done)) : Promise.resolve();
  }

  // From pixels of the picture before: the window is that of the new one at once, and points stay where they are seen.
  moveFrom(pixels, duration) {
    const { view } = this;
    const [fromX, fromY] = view.allFromPixels(pixels);
    const motion = { fromX, fromY, toX: view.xs, toY: view.ys, begin: null, duration };
    this.motion = motion;
    this.moveTo(0);
    const step = (now) => {
      if (this.motion !== motion) return;
      motion.begin ??= now;
      const share = (now - motion.begin) / duration;
      if (share >= 1) {
        this.rest();
        return;
      }
      this.moveTo(share);
      this.draw();
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  moveTo(share) {
    const { fromX, fromY, toX, toY } = this.motion;
    this.view.moveTo(between(fromX, toX, share), between(fromY, toY, share));
  }

  // Points where they belong, wherever they are on their way.
  rest() {
    if (this.motion) this.view.moveTo(this.motion.toX, this.motion.toY);
    this.motion = null;
    for (const done of this.waiting.splice(0)) done();
    this.desk.redraw();
  }

  column(key) {
    return this.columns.find((column) => column.key === key) ?? null;
  }

  // The axes that were chosen, as far as this picture has them: else the first coordinates, and the row for a second.
  axes() {
    const [first, second] = this.desk.state.axes.map((key) => this.column(key));
    return [first ?? this.column("coordinate-1"), second ?? this.column("coordinate-2") ?? this.desk.data.row];
  }

  changeAxes() {
    this.setAxes();
    this.rest();
  }

  setAxes() {
    if (!this.picture) return;
    this.motion = null;
    this.view.setAxes(...this.axes());
  }

  resize() {
    const { view } = this;
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    if (!width || !height || (width === view.width && height === view.height && ratio === view.ratio)) return;
    Object.assign(view, { width, height, ratio });
    this.desk.hideCards(); // their places are others now
    this.raster.resize(Math.round(width * ratio), Math.round(height * ratio));
    if (view.equal) view.fitPlot();
    else this.changeAxes();
    this.desk.redraw();
  }

  recolor() {
    const { state, style, host, plots } = this.desk;
    const { n } = this.desk.data;
    const theme = isDark(host) ? "dark" : "light";
    const column = this.column(state.color);
    this.paint = coloring(column, theme, state.asCategories, n, plots[0].column(state.color) ?? column);
    this.paint.missing = packed(GREYS[theme].missing);
    this.paint.paper = packed(style.paper.slice(1));
    // Many points on one another are seen through.
    this.paint.weight = n <= 2000 ? 256 : n <= 20000 ? 220 : 190;
    this.setLevels();
  }

  // Who is drawn in full (2), faintly (1), or not at all (0).
  setLevels() {
    const { levels, paint } = this;
    const { hidden, emphasis, selected } = this.desk.state;
    levels.fill(selected.length ? 1 : 2);
    for (const i of selected) levels[i] = 2;
    let hasFaint = selected.length > 0;
    if (paint.entry) {
      const stands = emphasis >= 0 && !hidden.has(emphasis);
      for (let i = 0; i < levels.length; i++) {
        if (hidden.has(paint.entry[i])) levels[i] = 0;
        else if (stands && paint.entry[i] !== emphasis) levels[i] = 1;
      }
      hasFaint ||= stands;
    }
    Object.assign(paint, { levels, hasFaint, inOrder: null });
  }

  isShown(i) {
    return this.levels[i] !== 0;
  }

  nearestTo(x, y, reach) {
    return this.motion ? -1 : this.view.nearestTo(x, y, reach, (i) => this.isShown(i));
  }

  samplesInside(outline) {
    this.rest();
    return this.view.samplesInside(outline, (i) => this.isShown(i));
  }

  pixelOf(i) {
    return this.view.toPixel(i);
  }

  edgeAt(x, y, pairs, reach) {
    return this.view.edgeAt(x, y, pairs, reach);
  }

  // Pixels from the center of a disc to its edge: fewer for many, more as one zooms in.
  radius() {
    const { data, state } = this.desk;
    const base = Math.max(1.1, 6.4 - 1.05 * Math.log10(Math.max(data.n, 10)));
    return Math.min(14, base * Math.min(3, Math.max(1, this.view.zoom) ** 0.35) * state.size);
  }

  // The paint in the order in which points are drawn, arranged once for an order and what there is to paint.
  arranged() {
    const { paint } = this;
    const { order } = this.view.drawn;
    if (paint.inOrder?.order !== order) {
      const take = (values) => values && values.constructor.from(order, (i) => values[i]);
      const { colors, levels, share } = paint;
      paint.inOrder = { ...paint, order, colors: take(colors), levels: take(levels), share: take(share) };
    }
    return paint.inOrder;
  }

  drawPoints() {
    const { view, raster } = this;
    const { data, state } = this.desk;
    const { ratio } = view;
    const scale = view.scale * ratio;
    const left = (view.width / 2) * ratio - view.cx * scale;
    const top = (view.height / 2) * ratio + view.cy * scale;
    const asDiscs = data.n <= MOST_DISCS || view.countInView() <= DISCS_IN_VIEW;
    this.drawnAs = asDiscs ? "discs" : "density";
    if (asDiscs) {
      const rim = data.n <= MOST_RIMMED ? 0.9 * ratio : 0;
      raster.discs({ scale, left, top }, view.drawn, this.arranged(), this.radius() * ratio, rim);
    } else {
      const splat = Math.max(1, Math.round(1.5 * ratio * state.size));
      raster.density({ scale, left, top }, view.drawn, this.arranged(), splat);
    }
  }

  draw() {
    this.drawPoints();
    this.drawOverlay();
  }

  drawOverlay() {
    this.counts = drawLinks(this);
    drawOver(this, this.radius());
  }
}
