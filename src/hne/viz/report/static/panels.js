// Words beside the picture: cards, legend, selection, search. Data only ever becomes text.

const LISTED = 100;
const FOUND = 20;
const CARD_COLUMNS = 12;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function dataText(tag, text) {
  return element(tag, { class: "data", dir: "auto" }, text);
}

// Thumbnails are cut out of one sheet; until it is decoded they are empty.
const sheet = meta.sheet && createImageBitmap(new Blob([bytesOf("sheet")], { type: meta.sheet.kind }));

function thumbnail(i, size) {
  const { width, height, per_row: perRow } = meta.sheet;
  const canvas = element("canvas", { class: "thumb", width, height, "aria-hidden": "true" });
  const scale = size / Math.max(width, height);
  [canvas.style.width, canvas.style.height] = [`${width * scale}px`, `${height * scale}px`];
  const [x, y] = [(i % perRow) * width, Math.floor(i / perRow) * height];
  sheet.then((image) => canvas.getContext("2d").drawImage(image, x, y, width, height, 0, 0, width, height));
  return canvas;
}

// What a card says of a sample: names and values, data first.
function factsOf(i) {
  const data = columns.filter((column) => column.group === "data").slice(0, CARD_COLUMNS);
  const own = columns.filter((column) => column.group === "embedding" && column.name !== "row");
  return [...data, ...own].map((column) => [column.name, textOf(column, i)]);
}

function sentenceOf(i) {
  const facts = factsOf(i).map(([name, value]) => `${name} ${value}`);
  return `${meta.idName} ${idOf(i)}${facts.length ? `: ${facts.join(", ")}` : ""}`;
}

function cardOf(i, size) {
  const list = element("dl");
  for (const [name, value] of factsOf(i)) {
    list.append(element("div", {}, dataText("dt", name), dataText("dd", value)));
  }
  const head = dataText("p", `${meta.idName} ${idOf(i)}`);
  head.classList.add("card-title");
  return sheet ? [thumbnail(i, size), head, list] : [head, list];
}

// A sample's card beside its point, on the side where there is room, else above or below. With `close` it stays.
function placeCard(card, i, plot, close = null) {
  const button = element("button", { type: "button", id: "card-close", "aria-label": "Close", onclick: close }, "×");
  card.replaceChildren(...(close ? [button] : []), ...cardOf(i, 96));
  card.hidden = false;
  card.scrollTop = 0;
  card.classList.toggle("held", Boolean(close));
  card.setAttribute("aria-hidden", String(!close));
  const [x, y] = toPixel(i);
  const { offsetWidth: width, offsetHeight: height } = card;
  const isBeside = Math.max(x, plot.clientWidth - x) > width + 20;
  const right = x + 16 + width < plot.clientWidth ? x + 16 : x - 16 - width;
  const left = isBeside ? right : Math.min(x - width / 2, plot.clientWidth - width - 4);
  const below = y < plot.clientHeight / 2 ? y + 16 : y - 16 - height;
  const top = Math.min(isBeside ? y - height / 2 : below, plot.clientHeight - height - 4);
  card.style.left = `${Math.max(4, left)}px`;
  card.style.top = `${Math.max(4, top)}px`;
}

function nameButton(i, on) {
  const button = dataText("button", idOf(i));
  button.type = "button";
  button.dataset.point = i;
  button.addEventListener("click", () => on.show(i));
  return button;
}

// What was found, and in which column, where it was not the name.
function listFound(list, found, on) {
  const line = ({ i, column }) => {
    const button = nameButton(i, on);
    if (column) button.append(" ", element("small", { class: "data" }, `${column.name}: ${textOf(column, i)}`));
    return element("li", {}, button);
  };
  list.replaceChildren(...found.map(line));
}

function listNames(list, samples, on) {
  list.replaceChildren(...samples.map((i) => element("li", {}, nameButton(i, on))));
}

function drawLegend(state, paint, on) {
  const legend = byId("legend");
  byId("legend-title").textContent = paint.column ? paint.column.name : "Colors";
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
  const column = state.color >= 0 ? columns[state.color] : null;
  if (column && !column.categories && column.name !== "row" && categoriesOf(column)) {
    const box = element("input", { type: "checkbox", id: "as-categories", onchange: on.toggleCategories });
    box.checked = state.asCategories;
    parts.push(element("label", { class: "check" }, box, " as categories"));
  }
  legend.replaceChildren(...parts);
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
    const range = `${valueText(column, spread.low)} to ${valueText(column, spread.high)}`;
    const text = `Colors end at the 1st and 99th percentile, so that outliers do not hide the rest; values go from ${range}.`;
    parts.push(element("p", { class: "dim" }, text));
  }
  const missing = n - spread.count;
  if (missing) {
    const swatch = element("span", { class: "swatch" });
    const first = column.values.findIndex((value) => !Number.isFinite(value));
    swatch.style.background = cssColor(colors[first]);
    parts.push(element("p", { class: "dim missing-key" }, swatch, ` missing: ${countText(missing)}`));
  }
  return parts;
}

// How the column of colors is spread in the selection, and in all samples.
function summaryOf(selected, paint) {
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

function drawSelection(state, paint, on) {
  const selected = state.selected;
  const some = selected.length > 0;
  byId("selection-count").textContent = some
    ? `${countText(selected.length)} of ${countText(n)} samples selected${selected.length > LISTED ? `; the first ${LISTED}:` : ":"}`
    : "Nothing selected: drag with Box or Lasso, or with the Shift key.";
  byId("selection-tools").hidden = !some;
  byId("selection-summary").replaceChildren(...(some ? summaryOf(selected, paint) : []));
  listNames(byId("selection-list"), selected.slice(0, LISTED), on);
}

// Samples by name, then by what columns of texts say of them: {i, column}, without a column where the name has it.
function findSamples(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = findIds(wanted).map((i) => ({ i }));
  const seen = new Set(found.map(({ i }) => i));
  for (const column of columns.filter(({ group, categories, time }) => group === "data" && (categories || time))) {
    const has = (name) => name.toLowerCase().includes(wanted);
    const codes = column.categories && column.categories.map(has);
    if (codes && !codes.includes(true)) continue;
    for (let i = 0; i < n && found.length < FOUND; i++) {
      if (isMissing(column, i) || !(codes ? codes[column.values[i]] : has(textOf(column, i))) || seen.has(i)) continue;
      found.push({ i, column });
      seen.add(i);
    }
  }
  return found;
}

// Ids that start with the text come before those that contain it.
function findIds(wanted) {
  const [starting, containing] = [[], []];
  for (let i = 0; i < n && starting.length < FOUND; i++) {
    const at = idOf(i).toLowerCase().indexOf(wanted);
    if (at === 0) starting.push(i);
    else if (at > 0 && containing.length < FOUND) containing.push(i);
  }
  const exact = (i) => (idOf(i).toLowerCase() === wanted ? 0 : 1);
  return [...starting.sort((a, b) => exact(a) - exact(b) || a - b), ...containing].slice(0, FOUND);
}

function csvOf(samples) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (column, i) => {
    if (isMissing(column, i)) return "";
    if (column.categories) return column.categories[column.values[i]];
    if (column.time) return timeText(column.values[i]);
    return exactText(column.values[i], column.kind === "f4");
  };
  const lines = [[meta.idName, ...columns.map((column) => column.name)]];
  for (const i of samples) lines.push([idOf(i), ...columns.map((column) => cell(column, i))]);
  return `${lines.map((line) => line.map(quoted).join(",")).join("\r\n")}\r\n`;
}

function download(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the right to the clipboard, what a hidden text area holds can still be copied.
    const area = element("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => (button.textContent = before), 1500);
}
