// One set of controls and panels, and the plots that share what is chosen at it: who is hovered, pinned or selected in
// one is so in all.

import { actionsOf } from "./actions.js";
import { fillControls, wireControls } from "./controls.js";
import { drawLegend, drawSelection } from "./panels.js";
import { Plot } from "./plot.js";

const STYLES = {
  ...{ ink: "--ink", dim: "--dim", paper: "--plot", accent: "--accent", wash: "--wash" },
  ...{ innerLink: "--inner", outerLink: "--outer", shortLink: "--short", faintLink: "--faint" },
};
const NO_PAINT = { entries: [] };

// `root` is a document or a shadow root with the elements of picture.html.
export function createDesk(root, data, { color = null } = {}) {
  return new Desk(root, data, color);
}

// What concerns single samples, which other samples do not inherit.
function noSamples() {
  return {
    hidden: new Set(), // entries of the legend
    emphasis: -1, // the entry that is pointed at
    selected: [],
    hovered: -1,
    pinned: -1,
    held: false, // the card of the pinned sample stays
    short: null, // the pair of the short circuit that was asked for
  };
}

function firstState() {
  return {
    ...noSamples(),
    color: null,
    asCategories: false,
    axes: [null, null], // keys of columns; null for the first coordinates
    inner: true,
    outer: false,
    all: false,
    shorts: false, // all short circuits are drawn
    mode: "move",
    size: 1,
  };
}

// What coordinates of each type preserve.
const SCALES = {
  chart: "Chart coordinates, in units of X",
  layout: "Layout: neighborhoods and groups are preserved, not distances, densities or sizes of groups",
  eigenvectors: "Eigenvectors of unit length",
};

class Desk {
  constructor(root, data, color) {
    this.root = root;
    this.host = root.host ?? root.documentElement;
    this.byId = (id) => root.getElementById(id);
    Object.assign(this, { data, plots: [], onClick: null, listeners: [], pending: "", state: firstState() });
    this.ending = new AbortController();
    this.on = actionsOf(this);
    this.readStyle();
    wireControls(this);
    this.on.color(color);
  }

  close() {
    for (const plot of [...this.plots]) this.removePlot(plot);
    this.ending.abort();
  }

  addPlot(place) {
    const plot = new Plot(this, place);
    this.plots.push(plot);
    place.dataset.mode = this.state.mode;
    this.changed();
    return plot;
  }

  removePlot(plot) {
    plot.close();
    this.plots = this.plots.filter((one) => one !== plot);
    this.changed();
  }

  // Other samples: what was said of those before is forgotten, and plots are empty; the color stays.
  setData(data) {
    this.data = data;
    Object.assign(this.state, noSamples());
    for (const plot of this.plots) plot.clear();
    this.changed();
    this.on.color(this.state.color);
  }

  // Pictures are others: so may be the columns to choose from, and what is said of samples.
  changed() {
    this.hideCards();
    if (!this.plots.length) return;
    fillControls(this);
    this.recolor();
    this.on.drawPinned();
  }

  // Of the first plot, whose legend is shown.
  get paint() {
    return this.plots[0]?.paint ?? NO_PAINT;
  }

  get focus() {
    return this.state.hovered >= 0 ? this.state.hovered : this.state.pinned;
  }

  // Whether the panels are below the picture.
  get isStacked() {
    const top = this.byId("panels").getBoundingClientRect().top;
    return top >= this.plots[0].element.getBoundingClientRect().bottom;
  }

  get isStill() {
    return document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  listen(name, callback) {
    this.listeners.push([name, callback]);
  }

  tell(name, ...what) {
    for (const [wanted, callback] of this.listeners) if (wanted === name) callback(...what);
  }

  cssVariable(name) {
    return getComputedStyle(this.host).getPropertyValue(name).trim();
  }

  readStyle() {
    this.style = {};
    for (const [name, variable] of Object.entries(STYLES)) this.style[name] = this.cssVariable(variable);
  }

  themed() {
    this.recolor();
    this.draw(); // a printer does not wait for the next frame
    this.tell("theme");
  }

  recolor() {
    this.readStyle();
    for (const plot of this.plots) plot.recolor();
    drawLegend(this);
    drawSelection(this);
    this.redraw();
  }

  setLevels() {
    for (const plot of this.plots) plot.setLevels();
    this.redraw();
  }

  hideCards() {
    for (const { card, element } of this.plots) {
      card.hidden = true;
      element.classList.remove("over-point");
    }
    Object.assign(this.state, { hovered: -1, held: false });
  }

  // However often things change, they are drawn once a frame.
  redraw(what = "all") {
    if (!this.pending) {
      requestAnimationFrame(() => {
        const wanted = this.pending;
        this.pending = "";
        if (wanted === "all") this.draw();
        else for (const plot of this.plots) plot.drawOverlay();
      });
    }
    if (this.pending !== "all") this.pending = what;
  }

  draw() {
    for (const plot of this.plots) plot.draw();
    this.describeScale();
  }

  describeScale() {
    const [first] = this.plots;
    if (!first?.picture) return;
    const equal = `${SCALES[first.picture.coordinates]}, both axes to one scale`;
    const scale = first.view.equal ? equal : "Each axis stretched to the plot";
    const density = first.drawnAs === "density" ? "; stronger where more samples lie on one another" : "";
    this.byId("scale-note").textContent = `${scale}${density}`;
  }

  say(text) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => (this.byId("live").textContent = text), 150);
  }
}
