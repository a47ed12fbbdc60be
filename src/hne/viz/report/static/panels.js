// Words beside the picture: cards, legend, selection, what was found. Data only ever becomes text.

import { cssColor } from "./colors.js";
import { categoriesOf, countText, spreadOf, textOf, valueText } from "./data.js";
import { dataText, element } from "./dom.js";

const LISTED = 100;
const CARD_COLUMNS = 12;

// Thumbnails are cut out of one sheet; until it is decoded they are empty.
export function thumbnail({ sheet }, i, size) {
  const { width, height, per_row: perRow } = sheet;
  const canvas = element("canvas", { class: "thumb", width, height, "aria-hidden": "true" });
  const scale = size / Math.max(width, height);
  [canvas.style.width, canvas.style.height] = [`${width * scale}px`, `${height * scale}px`];
  const [x, y] = [(i % perRow) * width, Math.floor(i / perRow) * height];
  sheet.bitmap.then((image) => canvas.getContext("2d").drawImage(image, x, y, width, height, 0, 0, width, height));
  return canvas;
}

// What a card says of a sample: names and values, data first.
function factsOf({ columns }, i) {
  const data = columns.filter((column) => column.group === "data").slice(0, CARD_COLUMNS);
  const own = columns.filter((column) => column.group === "embedding" && column.key !== "row");
  return [...data, ...own].map((column) => [column.name, textOf(column, i)]);
}

export function sentenceOf(plot, i) {
  const { data } = plot.desk;
  const facts = factsOf(plot, i).map(([name, value]) => `${name} ${value}`);
  return `${data.idName} ${data.idOf(i)}${facts.length ? `: ${facts.join(", ")}` : ""}`;
}

export function cardOf(plot, i, size) {
  const { data } = plot.desk;
  const list = element("dl");
  for (const [name, value] of factsOf(plot, i)) {
    list.append(element("div", {}, dataText("dt", name), dataText("dd", value)));
  }
  const head = dataText("p", `${data.idName} ${data.idOf(i)}`);
  head.classList.add("card-title");
  return data.sheet ? [thumbnail(data, i, size), head, list] : [head, list];
}

// A sample's card beside its point, on the side where there is room, else above or below. With `close` it stays.
export function placeCard(plot, i, close = null) {
  const { card } = plot;
  const attributes = { type: "button", id: "card-close", "aria-label": "Close", onclick: close };
  card.replaceChildren(...(close ? [element("button", attributes, "×")] : []), ...cardOf(plot, i, 96));
  card.hidden = false;
  card.scrollTop = 0;
  card.classList.toggle("held", Boolean(close));
  card.setAttribute("aria-hidden", String(!close));
  const [x, y] = plot.pixelOf(i);
  const { offsetWidth: width, offsetHeight: height } = card;
  const { clientWidth, clientHeight } = plot.element;
  const isBeside = Math.max(x, clientWidth - x) > width + 20;
  const right = x + 16 + width < clientWidth ? x + 16 : x - 16 - width;
  const left = isBeside ? right : Math.min(x - width / 2, clientWidth - width - 4);
  const below = y < clientHeight / 2 ? y + 16 : y - 16 - height;
  const top = Math.min(isBeside ? y - height / 2 : below, clientHeight - height - 4);
  card.style.left = `${Math.max(4, left)}px`;
  card.style.top = `${Math.max(4, top)}px`;
}

function nameButton(desk, i) {
  const button = dataText("button", desk.data.idOf(i));
  button.type = "button";
  button.dataset.point = i;
  button.addEventListener("click", () => desk.on.show(i));
  return button;
}

// What was found, and in which column, where it was not the name.
export function listFound(desk, list, found) {
  const line = ({ i, column }) => {
    const button = nameButton(desk, i);
    if (column) button.append(" ", element("small", { class: "data" }, `${column.name}: ${textOf(column, i)}`));
    return element("li", {}, button);
  };
  list.replaceChildren(...found.map(line));
}

function listNames(desk, list, samples) {
  list.replaceChildren(...samples.map((i) => element("li", {}, nameButton(desk, i))));
}

export function drawLegend(desk) {
  const { state, paint, on } = desk;
  desk.byId("legend-title").textContent = paint.column ? paint.column.name : "Colors";
  const parts = [];
  if (paint.entries.length) {
    parts.push(...paint.entries.map((entry, number) => legendEntry(entry, number, state, on)));
    const help = "Click hides or shows one, a double click shows it alone.";
    parts.push(
      state.hidden.size
        ? element("button", { type: "button", id: "show-all", onclick: on.showEntries }, "Show all")
        : element("p", { class: "dim" }, help),
    );
  } else if (paint.spread) parts.push(...colorBar(paint));
  const column = desk.plots[0]?.column(state.color);
  if (column && !column.categories && column.key !== "row" && categoriesOf(column)) {
    const box = element("input", { type: "checkbox", id: "as-categories", onchange: on.toggleCategories });
    box.checked = state.asCategories;
    parts.push(element("label", { class: "check" }, box, " as categories"));
  }
  desk.byId("legend").replaceChildren(...parts);
}

function legendEntry(entry, number, state, on) {
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = cssColor(entry.color);
  const button = element(
    "button",
    { type: "button", class: "entry", "aria-pressed": String(!state.hidden.has(number)), "data-entry": number },
    swatch,
    entry.own ? element("em", {}, entry.name) : dataText("span", entry.name),
    element("span", { class: "count" }, countText(entry.count)),
  );
  button.addEventListener("click", () => on.toggleEntry(number));
  button.addEventListener("dblclick", () => on.onlyEntry(number));
  for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => on.emphasize(number));
  for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => on.emphasize(-1));
  return button;
}

function colorBar({ spread, table, colors, column }) {
  const stops = Array.from({ length: 17 }, (_, k) => cssColor(table[Math.round((k / 16) * 255)]));
  const bar = element("div", { class: "bar" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = element("div", { class: "ends" });
  const sign = (mark, value) => `${spread.clipped ? mark : ""}${valueText(column, value)}`;
  ends.append(element("span", {}, sign("≤ ", spread.from)), element("span", {}, sign("≥ ", spread.to)));
  const parts = spread.count ? [bar, ends] : [];
  if (spread.isLog) parts.push(element("p", { class: "dim" }, "Colors on a logarithmic scale."));
  if (spread.clipped) {
    const why = "Colors end at the 1st and 99th percentile, so that outliers do not hide the rest";
    const range = `${valueText(column, spread.low)} to ${valueText(column, spread.high)}`;
    parts.push(element("p", { class: "dim" }, `${why}; values go from ${range}.`));
  }
  const missing = colors.length - spread.count;
  if (missing) {
    const swatch = element("span", { class: "swatch" });
    const first = column.values.findIndex((value) => !Number.isFinite(value));
    swatch.style.background = cssColor(colors[first]);
    parts.push(element("p", { class: "dim missing-key" }, swatch, ` missing: ${countText(missing)}`));
  }
  return parts;
}

// How the column of colors is spread in the selection, and in all samples.
function summaryOf(selected, paint, n) {
  const column = paint.column;
  if (!column) return [];
  const head = element("tr", {}, ...["", "selected", "all"].map((text) => element("th", { scope: "col" }, text)));
  const body = element("tbody");
  const line = (name, here, everywhere) => {
    const title = name instanceof Node ? name : element("th", { scope: "row" }, name);
    body.append(element("tr", {}, title, element("td", {}, here), element("td", {}, everywhere)));
  };
  if (paint.entries.length) {
    const counts = new Uint32Array(paint.entries.length);
    for (const i of selected) counts[paint.entry[i]]++;
    const order = [...counts.keys()].filter((k) => counts[k]).sort((a, b) => counts[b] - counts[a]);
    const share = (count, total) => `${countText(count)} (${((100 * count) / total).toFixed(0)} %)`;
    for (const k of order.slice(0, 6)) {
      const name = dataText("th", paint.entries[k].name);
      name.scope = "row";
      line(name, share(counts[k], selected.length), share(paint.entries[k].count, n));
    }
  } else {
    const [here, all] = [spreadOf(column, selected), spreadOf(column)];
    const text = (spread, key) => (spread.count ? valueText(column, spread[key]) : "none");
    for (const [key, name] of [["low", "lowest"], ["median", "median"], ["mean", "mean"], ["high", "highest"]]) {
      line(name, text(here, key), text(all, key));
    }
  }
  const caption = dataText("caption", column.name);
  return [element("table", {}, caption, element("thead", {}, head), body)];
}

export function drawSelection(desk) {
  const { byId, paint } = desk;
  const { n } = desk.data;
  const { selected } = desk.state;
  const some = selected.length > 0;
  const first = selected.length > LISTED ? `; the first ${LISTED}` : "";
  byId("selection-count").textContent = some
    ? `${countText(selected.length)} of ${countText(n)} samples selected${first}:`
    : "Nothing selected: drag with Box or Lasso, or with the Shift key.";
  byId("selection-tools").hidden = !some;
  byId("selection-summary").replaceChildren(...(some ? summaryOf(selected, paint, n) : []));
  listNames(desk, byId("selection-list"), selected.slice(0, LISTED));
}
