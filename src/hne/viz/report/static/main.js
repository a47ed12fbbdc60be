// The picture: state, what redraws when it changes, and the controls.

const MOST_DISCS = 100000; // beyond, density; unless so few are in view:
const DISCS_IN_VIEW = 30000;
const MOST_RIMMED = 6000; // points up to which discs are set off from each other
const STACKED = "(max-width: 60rem)"; // panels are below the picture, as the style has it
const plot = byId("plot");
const raster = new Raster(byId("points"));
const state = {
  color: meta.color,
  asCategories: false,
  hidden: new Set(),
  emphasis: -1,
  selected: [],
  hovered: -1,
  held: false, // the card of the pinned sample stays
  pinned: -1,
  inner: true,
  outer: false,
  all: false,
  shorts: false, // all short circuits are drawn
  short: -1, // the one that was asked for
  mode: "move",
  size: 1,
  outline: null,
  levels: new Uint8Array(n).fill(2),
  drawnAs: "",
};
let paint = null;
let style = null;
let pending = 0;

function isDark() {
  if (matchMedia("print").matches) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function readStyle() {
  const computed = getComputedStyle(document.documentElement);
  const read = (name) => computed.getPropertyValue(name).trim();
  style = { ink: read("--ink"), dim: read("--dim"), paper: read("--plot"), accent: read("--accent"), wash: read("--wash") };
  style.innerLink = read("--inner");
  style.outerLink = read("--outer");
  style.shortLink = read("--short");
  style.faintLink = read("--faint");
}

const isShown = (i) => state.levels[i] !== 0;

// Who is drawn in full (2), faintly (1), or not at all (0).
function setLevels() {
  const { levels, hidden, emphasis, selected } = state;
  levels.fill(selected.length ? 1 : 2);
  for (const i of selected) levels[i] = 2;
  let hasFaint = selected.length > 0;
  if (paint.entry) {
    const stands = emphasis >= 0 && !hidden.has(emphasis);
    for (let i = 0; i < n; i++) {
      if (hidden.has(paint.entry[i])) levels[i] = 0;
      else if (stands && paint.entry[i] !== emphasis) levels[i] = 1;
    }
    hasFaint ||= stands;
  }
  Object.assign(paint, { levels, hasFaint, inOrder: null });
}

function recolor() {
  readStyle();
  const theme = isDark() ? "dark" : "light";
  paint = coloring(columns[state.color], theme, state.asCategories);
  paint.missing = packed(GREYS[theme].missing);
  paint.paper = packed(style.paper.slice(1));
  // Many points on one another are seen through.
  paint.weight = n <= 2000 ? 256 : n <= 20000 ? 220 : 190;
  setLevels();
  drawLegend(state, paint, on);
  drawSelection(state, paint, on);
  redraw();
}

// Pixels from the center of a disc to its edge: fewer for many, more as one zooms in.
function radiusOf() {
  const base = Math.max(1.1, 6.4 - 1.05 * Math.log10(Math.max(n, 10)));
  return Math.min(14, base * Math.min(3, Math.max(1, view.zoom) ** 0.35) * state.size);
}

function countInView() {
  let count = 0;
  const [x0, y1] = fromPixel(0, 0);
  const [x1, y0] = fromPixel(view.width, view.height);
  for (let i = 0; i < n; i++) {
    if (view.xs[i] >= x0 && view.xs[i] <= x1 && view.ys[i] >= y0 && view.ys[i] <= y1) count++;
  }
  return count;
}

// The paint in the order in which points are drawn, arranged once for an order and what there is to paint.
function arranged() {
  const { order } = view.drawn;
  if (paint.inOrder?.order !== order) {
    const take = (values) => values && values.constructor.from(order, (i) => values[i]);
    const { colors, levels, share } = paint;
    paint.inOrder = { ...paint, order, colors: take(colors), levels: take(levels), share: take(share) };
  }
  return paint.inOrder;
}

function drawPoints() {
  const { ratio } = view;
  const scale = scaleOf() * ratio;
  const window_ = {
    scale,
    left: (view.width / 2) * ratio - view.cx * scale,
    top: (view.height / 2) * ratio + view.cy * scale,
  };
  const asDiscs = n <= MOST_DISCS || countInView() <= DISCS_IN_VIEW;
  state.drawnAs = asDiscs ? "discs" : "density";
  describeScale();
  if (asDiscs) {
    const rim = n <= MOST_RIMMED ? 0.9 * ratio : 0;
    raster.discs(window_, view.drawn, arranged(), radiusOf() * ratio, rim);
  } else {
    raster.density(window_, view.drawn, arranged(), Math.max(1, Math.round(1.5 * ratio * state.size)));
  }
}

function drawAll() {
  drawPoints();
  overlay();
}

function overlay() {
  state.nLinks = drawLinks(byId("links"), state, style);
  drawOver(byId("over"), state, style, radiusOf());
}

// However often things change, they are drawn once a frame.
function redraw(what = drawAll) {
  if (pending === drawAll || pending === what) return;
  if (!pending) {
    requestAnimationFrame(() => {
      const wanted = pending;
      pending = 0;
      wanted();
    });
  }
  pending = what;
}

function describeScale() {
  const scale = view.equal ? `${meta.kind === "chart" ? "Chart" : "Rescaled"} coordinates, in units of X, both axes to one scale` : "Each axis stretched to the plot";
  const density = state.drawnAs === "density" ? "; stronger where more samples lie on one another" : "";
  byId("scale-note").textContent = `${scale}${density}`;
}

function resize() {
  const [width, height] = [plot.clientWidth, plot.clientHeight];
  if (!width || !height) return;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  if (width === view.width && height === view.height && ratio === view.ratio) return;
  Object.assign(view, { width, height, ratio });
  hideCard(); // its place is another now
  raster.resize(Math.round(width * ratio), Math.round(height * ratio));
  if (view.xs && view.equal) fitPlot();
  else changeAxes();
  redraw();
}

function changeAxes() {
  setAxes(columns[byId("x-axis").value], columns[byId("y-axis").value]);
  hideCard();
  redraw();
}

function hideCard() {
  byId("card").hidden = true;
  state.hovered = -1;
  state.held = false;
}

// Scroll the panels beside the picture so far that one of them is seen; controls above them and the page stay.
function reveal(panel) {
  const panels = byId("panels");
  const [inner, outer] = [panel.getBoundingClientRect(), panels.getBoundingClientRect()];
  if (inner.bottom > outer.bottom) panels.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
  else if (inner.top < outer.top) panels.scrollTop += inner.top - outer.top;
}

let speaking = 0;
function say(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => (byId("live").textContent = text), 150);
}

const on = {
  isShown,
  overlay: () => redraw(overlay),
  moved: () => {
    hideCard();
    redraw();
  },
  hover: (i) => {
    if (i === state.hovered) return;
    state.hovered = i;
    state.held = false;
    plot.classList.toggle("over-point", i >= 0);
    if (i >= 0) {
      placeCard(byId("card"), i, plot);
      say(sentenceOf(i));
    } else hideCard();
    redraw(overlay);
  },
  pin: (i) => {
    state.pinned = i;
    byId("pinned-panel").hidden = i < 0;
    byId("pinned").replaceChildren(...(i < 0 ? [] : cardOf(i, 140)));
    if (i < 0 && state.held) hideCard();
    if (i >= 0) {
      say(`Pinned: ${sentenceOf(i)}`);
      reveal(byId("pinned-panel"));
    }
    redraw(overlay);
  },
  // Pin a sample with a card that stays: where no pointer hovers, or the panels are far from the picture.
  hold: (i) => {
    on.pin(i);
    state.hovered = -1;
    placeCard(byId("card"), i, plot, () => {
      on.pin(-1);
      plot.focus({ preventScroll: true });
    });
    state.held = true;
  },
  // Pin a sample from a list, and bring it into the picture.
  show: (i) => {
    if (Number.isFinite(view.xs[i] + view.ys[i])) bringIntoView(i);
    else say(`${idOf(i)} has no place in this picture`);
    on.moved();
    if (matchMedia(STACKED).matches && Number.isFinite(view.xs[i] + view.ys[i])) on.hold(i);
    else on.pin(i);
    plot.scrollIntoView({ block: "nearest" });
  },
  // Mark a short circuit and bring its ends into the picture; -1 lets go of it.
  short: (number) => {
    state.short = number;
    if (number >= 0) {
      const [from, to] = meta.shorts[number];
      on.pin(-1);
      on.moved();
      if (!areInView(from, to)) showAll();
      say(`Short circuit${meta.cut ? " that was cut," : ""} between ${idOf(from)} and ${idOf(to)}`);
    }
    redraw();
  },
  select: (samples, added) => {
    state.selected = added ? [...new Set([...state.selected, ...samples])].sort((a, b) => a - b) : samples;
    setLevels();
    drawSelection(state, paint, on);
    if (samples.length) reveal(byId("selection-panel"));
    redraw();
  },
  escape: () => {
    if (state.pinned >= 0 || state.hovered >= 0) {
      hideCard();
      on.pin(-1);
    } else if (state.short >= 0) on.short(-1);
    else on.select([]);
  },
  emphasize: (number) => {
    state.emphasis = number;
    setLevels();
    redraw();
  },
  hide: (entries, focused = null) => {
    state.hidden = entries;
    setLevels();
    drawLegend(state, paint, on);
    if (focused !== null) document.querySelector(`[data-entry="${focused}"]`).focus();
    redraw();
  },
  toggleEntry: (number) => {
    const hidden = new Set(state.hidden);
    if (!hidden.delete(number)) hidden.add(number);
    on.hide(hidden, number);
  },
  onlyEntry: (number) => on.hide(new Set([...paint.entries.keys()].filter((k) => k !== number)), number),
  showEntries: () => on.hide(new Set(), 0),
  toggleCategories: () => {
    state.asCategories = !state.asCategories;
    state.hidden = new Set();
    recolor();
    byId("as-categories").focus();
  },
};
