// Links under the points; axes, rings and the line of a selection over them.

import { valueText } from "./data.js";
import { ticksOf } from "./view.js";

export const MOST_LINKED = 5000; // samples up to which all links are drawn

function sized(canvas, view) {
  const [width, height] = [Math.round(view.width * view.ratio), Math.round(view.height * view.ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  return context;
}

function neighborsOf({ neighbors, k }, i) {
  return Array.from(neighbors.subarray(i * k, (i + 1) * k)).filter((other) => other >= 0);
}

// Both layers of a sample: pairs of samples to draw a line between.
export function innerLinks(picture, i) {
  return neighborsOf(picture, i).map((other) => [i, other]);
}

export function outerLinks(picture, i) {
  const beyond = (middle) => neighborsOf(picture, middle).filter((far) => far !== i);
  return neighborsOf(picture, i).flatMap((middle) => beyond(middle).map((far) => [middle, far]));
}

function allLinks(plot) {
  const shown = [...plot.levels.keys()].filter((i) => plot.isShown(i));
  return shown.flatMap((i) => innerLinks(plot.picture, i)).filter(([, to]) => plot.isShown(to));
}

function strokeLinks(context, view, links, { color, width, dash = [] }) {
  Object.assign(context, { strokeStyle: color, lineWidth: width });
  context.setLineDash(dash);
  context.beginPath();
  for (const [from, to] of links) {
    const [x0, y0] = view.toPixel(from);
    const [x1, y1] = view.toPixel(to);
    if (!Number.isFinite(x0 + y0 + x1 + y1)) continue;
    if (Math.max(x0, x1) < 0 || Math.max(y0, y1) < 0) continue;
    if (Math.min(x0, x1) > view.width || Math.min(y0, y1) > view.height) continue;
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
  return links.length;
}

// Lines lead between samples that are drawn in full, and only over coordinates: elsewhere they say nothing of gaps.
export function drawnPairs({ levels, view }, pairs) {
  return view.equal ? pairs.filter(([i, j]) => levels[i] === 2 && levels[j] === 2) : [];
}

// Short circuits, all of them or the one that was asked for; how many.
function drawShorts(context, plot) {
  const { view, desk } = plot;
  const { state, style } = desk;
  const wanted = state.shorts ? drawnPairs(plot, plot.picture.shorts) : state.short ? [state.short] : [];
  const drawn = strokeLinks(context, view, wanted, { color: style.shortLink, width: 2, dash: [7, 4] });
  if (state.short) strokeLinks(context, view, [state.short], { color: style.shortLink, width: 4 });
  for (const { pairs, color, isAsked, ...line } of plot.extraLinks) {
    strokeLinks(context, view, isAsked ? pairs : drawnPairs(plot, pairs), { color: desk.cssVariable(color), ...line });
  }
  return drawn;
}

// How many links and short circuits were drawn.
export function drawLinks(plot) {
  const { picture, view, desk } = plot;
  const { state, style } = desk;
  const context = sized(plot.canvases.links, view);
  if (!picture) return { links: 0, shorts: 0 };
  const shorts = drawShorts(context, plot);
  if (!picture.neighbors) return { links: 0, shorts };
  const drawn = (links, line) => strokeLinks(context, view, links, line);
  let links = 0;
  if (state.all && desk.data.n <= MOST_LINKED) links += drawn(allLinks(plot), { color: style.faintLink, width: 0.8 });
  const focus = desk.focus;
  if (focus < 0) return { links, shorts };
  if (state.outer) links += drawn(outerLinks(picture, focus), { color: style.outerLink, width: 1.4, dash: [3, 3] });
  if (state.inner) links += drawn(innerLinks(picture, focus), { color: style.innerLink, width: 2.2 });
  return { links, shorts };
}

function ring(context, view, i, radius, color, width) {
  const [x, y] = view.toPixel(i);
  if (!Number.isFinite(x + y)) return;
  context.setLineDash([]);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function drawAxes(context, view, style) {
  const { width, height } = view;
  const [x0, x1, y0, y1] = view.shownBox;
  const pixelX = (value) => width / 2 + (value * view.unitX - view.cx) * view.scale;
  const pixelY = (value) => height / 2 - (value * view.unitY - view.cy) * view.scale;
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = context.strokeStyle = style.dim;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.beginPath();
  // The first stretch of the upright axis is left to the numbers of the other.
  const across = ticksOf(x0 / view.unitX, x1 / view.unitX, width / 110).filter((value) => pixelX(value) > 60);
  const up = ticksOf(y0 / view.unitY, y1 / view.unitY, height / 80).filter((value) => pixelY(value) < height - 40);
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (const value of across.filter((tick) => pixelX(tick) < width - 24)) {
    context.moveTo(pixelX(value), height - 5);
    context.lineTo(pixelX(value), height);
    label(context, valueText(view.columns[0], value), pixelX(value), height - 7, style);
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const value of up.filter((tick) => pixelY(tick) > 34)) {
    context.moveTo(0, pixelY(value));
    context.lineTo(5, pixelY(value));
    label(context, valueText(view.columns[1], value), 8, pixelY(value), style);
  }
  context.stroke();
  const shorter = (name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name);
  const isChart = (column) => column.group === "coordinates" && column.name.startsWith("chart");
  const named = (column) => (isChart(column) ? `${column.name} (units of X)` : shorter(column.name));
  context.textBaseline = "top";
  label(context, `↑ ${named(view.columns[1])}`, 8, 8, style);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  label(context, `${named(view.columns[0])} →`, width - 8, height - 24, style);
}

// Text on a patch of paper, so that it can be read over points.
function label(context, text, x, y, style) {
  const size = context.measureText(text);
  const [left, up] = [size.actualBoundingBoxLeft + 3, size.actualBoundingBoxAscent + 3];
  const [right, down] = [size.actualBoundingBoxRight + 3, size.actualBoundingBoxDescent + 3];
  context.save();
  context.globalAlpha = 0.85;
  context.fillStyle = style.paper;
  context.fillRect(x - left, y - up, left + right, up + down);
  context.restore();
  context.fillText(text, x, y);
}

// Rings about who is linked to the sample in focus, the ends of a short circuit, the pinned and the hovered one.
function drawRings(context, plot, radius) {
  const { picture, view, desk } = plot;
  const { state, style, focus } = desk;
  const around = (i, more, color, width) => ring(context, view, i, radius + more, color, width);
  if (focus >= 0 && picture.neighbors) {
    if (state.outer) for (const [, far] of outerLinks(picture, focus)) around(far, 2, style.outerLink, 1);
    if (state.inner) for (const [, near] of innerLinks(picture, focus)) around(near, 2, style.innerLink, 1.6);
  }
  for (const end of state.short ?? []) {
    around(end, 4, style.paper, 5);
    around(end, 4, style.shortLink, 2.5);
  }
  if (state.pinned >= 0) {
    around(state.pinned, 5, style.paper, 5);
    around(state.pinned, 5, style.accent, 2.5);
  }
  if (state.hovered >= 0) around(state.hovered, 3, style.ink, 2);
}

function drawOutline(context, outline, style) {
  context.setLineDash([5, 4]);
  Object.assign(context, { strokeStyle: style.accent, fillStyle: style.wash, lineWidth: 1.5 });
  context.beginPath();
  for (const [x, y] of outline) context.lineTo(x, y);
  context.closePath();
  context.fill();
  context.stroke();
}

export function drawOver(plot, radius) {
  const context = sized(plot.canvases.over, plot.view);
  if (!plot.picture) return;
  drawAxes(context, plot.view, plot.desk.style);
  drawRings(context, plot, radius);
  if (plot.outline?.length >= 2) drawOutline(context, plot.outline, plot.desk.style);
}
