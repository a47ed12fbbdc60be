// Edges across gaps: listed and drawn in red, to put back or to cut by hand.

import { countText } from "../../viz/report/static/data.js";
import { element } from "../../viz/report/static/dom.js";
import { drawnPairs } from "../../viz/report/static/overlay.js";
import { cutEdge, edgeKey, handEdits, putBackEdge, undoEdge } from "./requests.js";

const MOST_EDGES = 60;
const MOST_LINES = 40; // beyond, lines hide the picture and are drawn only where someone asks for them
const NEAR_LINE = 6; // pixels from a line within which a click is meant for it; a sample's own disc comes first

export class Edges {
  // `change(request)` asks for another picture.
  constructor(byId, desk, plot, change) {
    Object.assign(this, { byId, desk, plot, change, entry: null, focus: null, lines: new Map(), isChosen: false });
    byId("edges-lines").addEventListener("change", () => {
      this.isChosen = true;
      byId("edges-many").textContent = "";
      this.draw();
    });
    desk.listen("pin", () => this.listNear());
    desk.onClick = (where, x, y) => this.click(where, x, y);
  }

  // Off where one of the pictures has many, as long as nobody has chosen.
  chooseLines(nEdits) {
    const { byId, desk, isChosen } = this;
    const nLines = nEdits + Math.max(...desk.plots.map(({ picture }) => picture?.shorts.length ?? 0));
    const isMany = nLines > MOST_LINES;
    if (!isChosen) byId("edges-lines").checked = !isMany;
    byId("edges-lines-choice").hidden = !nLines;
    byId("edges-many").textContent = isMany && !isChosen ? `Off at first: ${countText(nLines)} would hide the points.` : "";
  }

  show(entry) {
    this.entry = entry;
    this.focus = null;
    const { byId } = this;
    const { picture, result, request } = entry;
    byId("edges-text").textContent = edgesText({ ...result, coordinates: picture.coordinates }, picture.shorts.length);
    const action = result.isCut ? ["Put back", putBackEdge] : ["Cut", cutEdge];
    const listed = picture.shorts.slice(0, MOST_EDGES);
    this.lines = new Map();
    this.fill("edges", listed, ...action);
    const rest = result.nShorts - listed.length;
    byId("edges-more").textContent = rest > 0 ? `${countText(rest)} more not listed.` : "";
    const edits = handEdits(request);
    byId("edits-part").hidden = !edits.length;
    this.fill("edits", edits.map(({ edge }) => edge), "Undo", undoEdge, edits.map(({ kind }) => kind));
    byId("edges-title").hidden = !edits.length || !listed.length;
    this.chooseLines(edits.length);
    this.listNear();
    this.draw();
  }

  fill(list, pairs, word, edit, kinds = []) {
    const filled = this.byId(list);
    const line = (edge, k) => this.line(edge, word, edit, kinds[k] ? `${kinds[k]}: ` : "");
    const focused = [...filled.children].findIndex((one) => one.contains(filled.getRootNode().activeElement));
    filled.replaceChildren(...pairs.map(line));
    // Whoever works by keys goes on with the edge that is there now.
    if (focused >= 0) filled.children[Math.min(focused, pairs.length - 1)]?.lastElementChild.focus({ preventScroll: true });
  }

  line(edge, word, edit, before) {
    const { desk } = this;
    const [one, other] = edge.map((i) => desk.data.idOf(i));
    const name = element("button", { type: "button", class: "edge data", dir: "auto" }, `${before}${one} – ${other}`);
    const act = element("button", { type: "button", "aria-label": `${word} ${one} – ${other}` }, word);
    act.addEventListener("click", () => this.change(edit(this.entry.request, edge)));
    name.addEventListener("click", () => this.bring(edge));
    const made = element("li", {}, name, act);
    for (const event of ["pointerenter", "focusin"]) made.addEventListener(event, () => this.point(edge));
    for (const event of ["pointerleave", "focusout"]) made.addEventListener(event, () => this.point(null));
    this.lines.set(edgeKey(edge), made);
    return made;
  }

  // Neighbors of the pinned sample, each with a button that cuts the edge to it.
  listNear() {
    const { byId, desk, entry } = this;
    const pinned = desk.state.pinned;
    const { neighbors, k } = entry?.picture || {};
    byId("near-part").hidden = !neighbors || pinned < 0;
    byId("near-hint").hidden = !neighbors || pinned >= 0;
    if (!neighbors || pinned < 0) return;
    byId("near-title").textContent = `Neighbors of ${desk.data.idOf(pinned)}`;
    const near = [...neighbors.subarray(pinned * k, (pinned + 1) * k)].filter((i) => i >= 0);
    this.fill("near", near.map((i) => [pinned, i]), "Cut", cutEdge);
  }

  point(edge) {
    this.focus = edge;
    this.draw();
  }

  // Both ends into the picture.
  bring(edge) {
    this.point(edge);
    const { view } = this.plot;
    if (!view.areInView(...edge)) view.showAll();
    this.desk.redraw();
  }

  // Edits by hand are drawn too, and thicker what is pointed at.
  draw() {
    const { plot, entry, focus, byId } = this;
    if (!entry) return;
    const { cut, keep } = entry.request;
    const isShown = byId("edges-lines").checked;
    plot.extraLinks = [
      ...(isShown && cut?.length ? [{ pairs: cut, color: "--short", dash: [], width: 1.5 }] : []),
      ...(isShown && keep?.length ? [{ pairs: keep, color: "--good", dash: [], width: 2 }] : []),
      ...(focus ? [{ pairs: [focus], color: "--short", dash: [], width: 4.5, isAsked: true }] : []),
    ];
    this.desk.state.shorts = isShown;
    this.desk.redraw();
  }

  // A click on a red line of the picture: its line in the list gets the focus.
  click(where, x, y) {
    if (where !== this.plot || !this.entry || !this.byId("edges-lines").checked) return false;
    const { hovered } = this.desk.state;
    const [hoveredX, hoveredY] = hovered >= 0 ? where.pixelOf(hovered) : [Infinity, Infinity];
    if (Math.hypot(x - hoveredX, y - hoveredY) <= where.radius() + 1) return false;
    const { request, picture } = this.entry;
    const pairs = drawnPairs(where, [...(request.cut || []), ...(request.keep || []), ...picture.shorts.slice(0, MOST_EDGES)]);
    const number = where.edgeAt(x, y, pairs, NEAR_LINE);
    const line = number < 0 ? null : this.lines.get(edgeKey(pairs[number]));
    if (!line) return false;
    line.lastElementChild.focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest" });
    return true;
  }
}

export function edgesText({ nShorts, isCut, coordinates }, nDrawn) {
  if (coordinates === "layout") return "Not searched for: a layout uses the neighbor graph as it was found.";
  if (!nShorts) return "None leads across a gap.";
  const edges = nShorts === 1 ? "1 edge leads" : `${countText(nShorts)} edges lead`;
  const fate = isCut ? `${nShorts === 1 ? "was" : "were"} cut` : `${nShorts === 1 ? "is" : "are"} suspected, and kept`;
  const drawn = nDrawn < nShorts ? ` The worst ${countText(nDrawn)} are drawn.` : "";
  return `${edges} across a gap and ${fate}.${drawn}`;
}
