// Links under the points; axes, rings and the line of a selection over them.

const MOST_LINKED = 5000; // samples up to which all links are drawn

function sized(canvas) {
  const [width, height] = [Math.round(view.width * view.ratio), Math.round(view.height * view.ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  return context;
}

function neighborsOf(i) {
  const k = meta.neighbors;
  return Array.from(neighbors.subarray(i * k, (i + 1) * k)).filter((other) => other >= 0);
}

// Both layers of a sample: pairs of samples to draw a line between.
function innerLinks(i) {
  return neighborsOf(i).map((other) => [i, other]);
}

function outerLinks(i) {
  return neighborsOf(i).flatMap((middle) => neighborsOf(middle).filter((far) => far !== i).map((far) => [middle, far]));
}

function strokeLinks(context, links, style) {
  Object.assign(context, style);
  context.setLineDash(style.dash || []);
  context.beginPath();
  for (const [from, to] of links) {
    const [x0, y0] = toPixel(from);
    const [x1, y1] = toPixel(to);
    if (!Number.isFinite(x0 + y0 + x1 + y1)) continue;
    if (Math.max(x0, x1) < 0 || Math.max(y0, y1) < 0) continue;
    if (Math.min(x0, x1) > view.width || Math.min(y0, y1) > view.height) continue;
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
}

// Short circuits, all of them or the one that was asked for; how many.
function drawShorts(context, state, style) {
  const wanted = state.shorts ? meta.shorts : state.short < 0 ? [] : [meta.shorts[state.short]];
  strokeLinks(context, wanted, { strokeStyle: style.shortLink, lineWidth: 2, dash: [7, 4] });
  if (state.short >= 0) strokeLinks(context, [meta.shorts[state.short]], { strokeStyle: style.shortLink, lineWidth: 4 });
  return wanted.length;
}

function drawLinks(canvas, state, style) {
  const context = sized(canvas);
  state.nShorts = drawShorts(context, state, style);
  if (!neighbors) return 0;
  let drawn = 0;
  if (state.all && n <= MOST_LINKED) {
    const links = [];
    for (let i = 0; i < n; i++) if (state.levels[i]) links.push(...innerLinks(i).filter(([, to]) => state.levels[to]));
    strokeLinks(context, links, { strokeStyle: style.faintLink, lineWidth: 0.8 });
    drawn += links.length;
  }
  const focus = state.hovered >= 0 ? state.hovered : state.pinned;
  if (focus < 0) return drawn;
  if (state.outer) {
    const links = outerLinks(focus);
    strokeLinks(context, links, { strokeStyle: style.outerLink, lineWidth: 1.4, dash: [3, 3] });
    drawn += links.length;
  }
  if (state.inner) {
    const links = innerLinks(focus);
    strokeLinks(context, links, { strokeStyle: style.innerLink, lineWidth: 2.2 });
    drawn += links.length;
  }
  return drawn;
}

function ring(context, i, radius, color, width) {
  const [x, y] = toPixel(i);
  if (!Number.isFinite(x + y)) return;
  context.setLineDash([]);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function drawAxes(context, style) {
  const { width, height } = view;
  const [x0, y1] = fromPixel(0, 0);
  const [x1, y0] = fromPixel(width, height);
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
  const named = (column) => (column.group === "coordinates" ? `${column.name} (units of X)` : shorter(column.name));
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

function pixelX(value) {
  return view.width / 2 + (value * view.unitX - view.cx) * scaleOf();
}

function pixelY(value) {
  return view.height / 2 - (value * view.unitY - view.cy) * scaleOf();
}

function drawOver(canvas, state, style, radius) {
  const context = sized(canvas);
  drawAxes(context, style);
  if (state.outer || state.inner) {
    const focus = state.hovered >= 0 ? state.hovered : state.pinned;
    if (focus >= 0 && neighbors) {
      if (state.outer) for (const [, far] of outerLinks(focus)) ring(context, far, radius + 2, style.outerLink, 1);
      if (state.inner) for (const near of neighborsOf(focus)) ring(context, near, radius + 2, style.innerLink, 1.6);
    }
  }
  for (const end of state.short < 0 ? [] : meta.shorts[state.short]) {
    ring(context, end, radius + 4, style.paper, 5);
    ring(context, end, radius + 4, style.shortLink, 2.5);
  }
  if (state.pinned >= 0) {
    ring(context, state.pinned, radius + 5, style.paper, 5);
    ring(context, state.pinned, radius + 5, style.accent, 2.5);
  }
  if (state.hovered >= 0) ring(context, state.hovered, radius + 3, style.ink, 2);
  if (!state.outline || state.outline.length < 2) return;
  context.setLineDash([5, 4]);
  context.strokeStyle = style.accent;
  context.fillStyle = style.wash;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [x, y] of state.outline) context.lineTo(x, y);
  context.closePath();
  context.fill();
  context.stroke();
}

// The samples inside an outline of pixels, by the even-odd rule.
function samplesInside(outline, isShown) {
  const corners = outline.map(([x, y]) => fromPixel(x, y));
  const [allX, allY] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const inside = [];
  eachIn([Math.min(...allX), Math.max(...allX), Math.min(...allY), Math.max(...allY)], (i) => {
    if (!isShown(i)) return;
    const [x, y] = [view.xs[i], view.ys[i]];
    let within = false;
    for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
      const [[ax, ay], [bx, by]] = [corners[a], corners[b]];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
    }
    if (within) inside.push(i);
  });
  return inside.sort((a, b) => a - b);
}
