// Controls are filled and wired, the first picture drawn, and a few read-only numbers handed to whoever tests the page.

const GROUPS = { data: "Data", embedding: "Embedding", coordinates: "Coordinates" };

function fillChoices(select, isWanted, chosen, nothing) {
  if (nothing) select.append(element("option", { value: -1 }, nothing));
  for (const [group, title] of Object.entries(GROUPS)) {
    const options = [];
    columns.forEach((column, number) => {
      if (column.group !== group || !isWanted(column)) return;
      options.push(element("option", { value: number }, column.name.length > 60 ? `${column.name.slice(0, 59)}…` : column.name));
    });
    if (options.length) select.append(element("optgroup", { label: title }, ...options));
  }
  select.value = String(chosen);
}

function chooseColor(number) {
  state.color = number;
  state.hidden = new Set();
  const column = columns[number];
  const few = column && !column.categories && column.group === "data" && categoriesOf(column);
  // A handful of whole numbers is more often a class than an amount.
  state.asCategories = Boolean(few) && few.categories.length <= 10 && few.categories.length < n / 2;
  recolor();
}

function setMode(mode) {
  state.mode = mode;
  plot.dataset.mode = mode;
  for (const each of ["move", "box", "lasso"]) byId(`mode-${each}`).setAttribute("aria-pressed", String(each === mode));
}

function wireControls() {
  const isNumber = (column) => !column.categories;
  fillChoices(byId("color"), () => true, meta.color, "one color");
  fillChoices(byId("x-axis"), isNumber, 0);
  fillChoices(byId("y-axis"), isNumber, columns[1].group === "coordinates" ? 1 : columns.length - 1);
  byId("color").addEventListener("change", (event) => chooseColor(Number(event.target.value)));
  for (const axis of ["x-axis", "y-axis"]) byId(axis).addEventListener("change", changeAxes);
  byId("size").addEventListener("input", (event) => {
    state.size = Number(event.target.value);
    redraw();
  });
  for (const mode of ["move", "box", "lasso"]) byId(`mode-${mode}`).addEventListener("click", () => setMode(mode));
  const zoom = { "zoom-in": () => zoomAt(1.5), "zoom-out": () => zoomAt(1 / 1.5), "zoom-reset": showAll };
  for (const [id, act] of Object.entries(zoom)) {
    byId(id).addEventListener("click", () => {
      act();
      on.moved();
    });
  }
  byId("help-toggle").addEventListener("click", (event) => {
    byId("help").hidden = !byId("help").hidden;
    event.target.setAttribute("aria-expanded", String(!byId("help").hidden));
  });
  byId("unpin").addEventListener("click", () => {
    on.pin(-1);
    plot.focus({ preventScroll: true });
  });
  byId("clear").addEventListener("click", () => on.select([]));
  byId("copy-ids").addEventListener("click", (event) => copyText(state.selected.map(idOf).join("\n"), event.target));
  byId("download").addEventListener("click", () => download(csvOf(state.selected), "selection.csv"));
  const others = meta.inLengths ? "" : `; embedding_ and files of coordinates are ${meta.coordinates}`;
  byId("download-note").textContent = `Its coordinates are the ${meta.kind} ones that are drawn${others}.`;
  byId("copy-command")?.addEventListener("click", (event) => copyText(byId("command").textContent, event.target));
  let typing = 0;
  byId("find").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(showFound, n > MOST_DISCS ? 250 : 60);
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(typing);
    const [first] = showFound();
    if (first) on.show(first.i);
  });
}

function showFound() {
  const text = byId("find").value;
  const found = findSamples(text);
  const counted = found.length === FOUND ? `The first ${FOUND}:` : `${found.length} found`;
  byId("found-count").textContent = text.trim() ? counted : "";
  listFound(byId("found"), found, on);
  if (found.length) reveal(byId("find-panel"));
  return found;
}

function wireLinks() {
  for (const name of ["inner", "outer", "all"]) {
    byId(name).checked = state[name];
    byId(name).disabled = !neighbors || (name === "all" && n > MOST_LINKED);
    byId(name).addEventListener("change", (event) => {
      state[name] = event.target.checked;
      redraw(overlay);
    });
  }
  byId("link-note").textContent = neighbors
    ? n > MOST_LINKED
      ? `Of the sample under the pointer, or the pinned one. All links at once are drawn up to ${countText(MOST_LINKED)} samples.`
      : "Of the sample under the pointer, or the pinned one."
    : "Left out of this page, which has too many of them.";
}

function toPicture() {
  plot.focus({ preventScroll: true });
  byId("picture").scrollIntoView({ block: "start" });
}

function wireShorts() {
  byId("shorts-choice").hidden = !meta.shorts.length;
  if (meta.cut) byId("shorts-name").textContent = "short circuits that were cut";
  byId("shorts").addEventListener("change", (event) => {
    state.shorts = event.target.checked;
    redraw(overlay);
  });
  for (const button of document.querySelectorAll("button[data-short]")) {
    button.addEventListener("click", () => {
      on.short(Number(button.dataset.short));
      toPicture();
    });
  }
}

function wireWorst() {
  for (const button of document.querySelectorAll("button[data-worst]")) {
    const i = Number(button.dataset.worst);
    if (sheet) button.prepend(thumbnail(i, 40));
    button.addEventListener("click", () => {
      on.show(i);
      toPicture();
    });
  }
}

function wireTheme() {
  const button = byId("theme");
  const tell = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tell();
    recolor();
  });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => {
      if (query !== "print") tell();
      readStyle();
      recolor();
      drawAll(); // a printer does not wait for the next frame
    });
  }
  tell();
}

wireControls();
wireLinks();
wireShorts();
wireWorst();
wireTheme();
chooseColor(state.color);
resize();
new ResizeObserver(resize).observe(plot);
listen(plot, state, on);
// A card that stays is no part of the plot: what happens on it does not move or pin.
for (const event of ["pointerdown", "pointermove", "pointerup", "wheel", "keydown"]) {
  byId("card").addEventListener(event, (what) => what.key !== "Escape" && what.stopPropagation());
}

// Mean milliseconds of so many redraws, each from a slightly different place.
function redrawTime(times) {
  const begin = performance.now();
  for (let k = 0; k < times; k++) {
    moveBy(k % 2 ? 1 : -1, 0);
    drawAll();
  }
  return (performance.now() - begin) / times;
}

window.hneReport = Object.freeze({
  pixelOf: (i) => {
    const box = plot.getBoundingClientRect();
    const [x, y] = toPixel(i);
    return [box.left + plot.clientLeft + x, box.top + plot.clientTop + y];
  },
  state: () => ({
    hovered: state.hovered,
    pinned: state.pinned,
    selected: [...state.selected],
    zoom: view.zoom,
    center: [view.cx, view.cy],
    drawnAs: state.drawnAs,
    links: state.nLinks,
    shorts: state.nShorts,
    short: state.short,
    equal: view.equal,
    shown: state.levels.filter((level) => level === 2).length,
    size: [raster.width, raster.height],
  }),
  redrawTime,
});
