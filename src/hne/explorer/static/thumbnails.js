// The trail as a strip of small pictures, to go back to or to hold beside the one that is seen.

import { coloring, cssColor } from "../../viz/report/static/colors.js";
import { element, isDark } from "../../viz/report/static/dom.js";
import { handEdits } from "./requests.js";
import { ridgeText } from "./scales.js";
import { markOf } from "./strip.js";

const [WIDE, HIGH, AROUND] = [104, 72, 5];
const MOST_DOTS = 1500;
const MOST_NAMED = 2; // edits and columns that a label names

export function labelOf({ settings }) {
  return `k ${settings.n_neighbors} · ${settings.variant.toUpperCase()} · ${ridgeText(settings.reg, 2)}`;
}

function someOf(names, word) {
  const rest = names.length - MOST_NAMED;
  const more = rest === 1 ? `1 more ${word}` : `${rest} more ${word}s`;
  return [...names.slice(0, MOST_NAMED), ...(rest > 0 ? [more] : [])].join(", ");
}

// By what is left out, or by what takes part, whichever is less.
function columnsText(columns, features) {
  const without = features.filter((name) => !columns.includes(name));
  const isMost = without.length <= columns.length;
  return `${isMost ? "without" : "only"} ${someOf(isMost ? without : columns, "column")}`;
}

// What else than k, variant and reg differs from the start, in few words: first what a picture itself does not show.
export function furtherOf({ request, nameOf = String }, { start, features }) {
  const edits = handEdits(request).reverse(); // the last first
  const changed = edits.length ? [someOf(edits.map(({ edge, kind }) => `${kind} ${edge.map(nameOf).join(" – ")}`), "edit")] : [];
  if (request.columns) changed.push(columnsText(request.columns, features));
  const others = ["n_components", "coordinates", "short_circuits", "pieces", "metric"]
    .filter((name) => request.parameters[name] !== start.parameters[name])
    .map((name) => (name === "n_components" ? `d ${request.parameters[name]}` : `${name.replace("_", " ")} ${request.parameters[name]}`));
  changed.push(...others);
  if (request.scale !== start.scale) changed.push(`scaling ${request.scale}`);
  if (request.whole) changed.push("all samples");
  return changed.join(", ");
}

export function captionOf(entry, opening) {
  return [labelOf(entry), furtherOf(entry, opening)].filter(Boolean).join(", ");
}

// The first two coordinates, in the colors of the desk.
export function drawThumbnail(canvas, { picture }, desk, data) {
  const theme = isDark(desk.host) ? "dark" : "light";
  const find = (key) => [...picture.columns, ...data.columns, data.row].find((column) => column.key === key) || null;
  const { colors } = coloring(find(desk.state.color), theme, desk.state.asCategories, data.n);
  const xs = find("coordinate-1").values;
  const ys = (find("coordinate-2") || data.row).values;
  const drawn = [...data.order.subarray(0, MOST_DOTS)].filter((i) => Number.isFinite(xs[i] + ys[i]));
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  [canvas.width, canvas.height] = [WIDE * ratio, HIGH * ratio];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const at = placedIn(drawn, xs, ys, Boolean(find("coordinate-2")));
  const size = Math.max(1, Math.min(2.5, 40 / Math.sqrt(drawn.length || 1)));
  for (const i of drawn) {
    const [x, y] = at(i);
    context.fillStyle = cssColor(colors[i]);
    context.fillRect(x - size / 2, y - size / 2, size, size);
  }
}

// Sample -> its pixel: both axes to one scale where both are coordinates.
function placedIn(drawn, xs, ys, isEqual) {
  const range = (values) => drawn.reduce(([low, high], i) => [Math.min(low, values[i]), Math.max(high, values[i])], [Infinity, -Infinity]);
  const [[x0, x1], [y0, y1]] = [range(xs), range(ys)];
  const fit = (low, high, room) => (high > low ? (room - 2 * AROUND) / (high - low) : 0);
  let [across, up] = [fit(x0, x1, WIDE), fit(y0, y1, HIGH)];
  if (isEqual) across = up = Math.min(across || up, up || across);
  return (i) => [WIDE / 2 + (xs[i] - (x0 + x1) / 2) * across, HIGH / 2 - (ys[i] - (y0 + y1) / 2) * up];
}

export class Thumbnails {
  // actions: go(entry), beside(entry), dataOf(entry), isHeld(entry), canBeside(entry)
  constructor(byId, desk, opening, actions) {
    Object.assign(this, { byId, desk, opening, actions, made: new Map() });
    for (const name of ["color", "theme"]) desk.listen(name, () => this.repaint());
  }

  repaint() {
    for (const [entry, { canvas }] of this.made) drawThumbnail(canvas, entry, this.desk, this.actions.dataOf(entry));
  }

  // Its picture is another now.
  forget(entry) {
    this.made.delete(entry);
  }

  show(trail) {
    for (const entry of [...this.made.keys()]) if (!trail.entries.includes(entry)) this.made.delete(entry);
    for (const entry of trail.entries) if (!this.made.has(entry)) this.made.set(entry, this.make(entry));
    for (const [entry, { go, beside }] of this.made) {
      const isCurrent = entry === trail.current;
      if (isCurrent) go.setAttribute("aria-current", "true");
      else go.removeAttribute("aria-current");
      beside.hidden = isCurrent || !this.actions.canBeside(entry);
      beside.setAttribute("aria-pressed", String(this.actions.isHeld(entry)));
    }
    const lines = trail.entries.map((entry) => this.made.get(entry).line);
    const list = this.byId("tries");
    if (lines.length !== list.children.length || lines.some((line, k) => list.children[k] !== line)) list.replaceChildren(...lines);
    const current = this.made.get(trail.current)?.line;
    // The strip alone is scrolled, not the page.
    if (current) list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
    this.byId("undo").disabled = !trail.canUndo;
    this.byId("redo").disabled = !trail.canRedo;
  }

  make(entry) {
    const { actions, byId } = this;
    const canvas = element("canvas", { class: "tiny", "aria-hidden": "true" });
    const { verdict } = entry.result;
    const further = furtherOf(entry, this.opening);
    const label = element("span", { class: "try-label" }, markOf(byId, verdict.level), element("span", {}, labelOf(entry)));
    const caption = captionOf(entry, this.opening);
    const title = `${caption}: ${verdict.word}`;
    const go = element("button", { type: "button", class: "try", title, "aria-label": title }, canvas, label);
    if (further) go.append(element("span", { class: "dim further" }, further));
    const beside = element("button", { type: "button", class: "beside", "aria-label": `Beside: ${caption}` }, "Beside");
    go.addEventListener("click", () => actions.go(entry));
    beside.addEventListener("click", () => actions.beside(entry));
    drawThumbnail(canvas, entry, this.desk, actions.dataOf(entry));
    return { line: element("li", {}, go, beside), canvas, go, beside };
  }
}
