// Controls of a desk: wired once, and filled anew when there are other columns or links to choose from.

import { MODES, reveal } from "./actions.js";
import { countText } from "./data.js";
import { copyText, download, element, wireTheme } from "./dom.js";
import { MOST_LINKED } from "./overlay.js";
import { listFound } from "./panels.js";
import { MOST_DISCS } from "./plot.js";
import { FOUND, csvOf, findSamples } from "./search.js";

const GROUPS = { data: "Data", embedding: "Embedding", coordinates: "Coordinates" };
const AXES = ["x-axis", "y-axis"];
const LINKS = ["inner", "outer", "all", "shorts"];

export function wireControls(desk) {
  const { state, on } = desk;
  const listen = (id, name, act) => desk.byId(id).addEventListener(name, act, { signal: desk.ending.signal });
  const click = (id, act) => listen(id, "click", act);
  listen("color", "change", (event) => on.color(event.target.value || null));
  for (const id of AXES) listen(id, "change", () => on.axes(...AXES.map((axis) => desk.byId(axis).value)));
  listen("size", "input", (event) => {
    state.size = Number(event.target.value);
    desk.redraw();
  });
  for (const mode of MODES) click(`mode-${mode}`, () => on.mode(mode));
  wireZoom(desk, click);
  wireHelp(desk, click);
  click("unpin", () => {
    on.pin(-1);
    desk.plots[0].element.focus({ preventScroll: true });
  });
  wireSelection(desk, click);
  wireFind(desk, listen);
  for (const name of LINKS) {
    listen(name, "change", (event) => {
      state[name] = event.target.checked;
      desk.redraw("overlay");
    });
  }
  wireTheme(desk.host, desk.byId("theme"), () => desk.themed(), desk.ending.signal);
}

function wireHelp(desk, click) {
  const [help, button] = ["help", "help-toggle"].map(desk.byId);
  const open = (isOpen) => {
    help.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
  };
  click("help-toggle", () => open(help.hidden));
  // Unless the plot has let go of something by this key.
  const close = (event) => event.key === "Escape" && !event.defaultPrevented && open(false);
  desk.root.addEventListener("keydown", close, { signal: desk.ending.signal });
}

function wireZoom(desk, click) {
  const acts = {
    "zoom-in": (view) => view.zoomAt(1.5),
    "zoom-out": (view) => view.zoomAt(1 / 1.5),
    "zoom-reset": (view) => view.showAll(),
  };
  for (const [id, act] of Object.entries(acts)) {
    click(id, () => {
      for (const { view } of desk.plots) act(view);
      desk.on.moved();
    });
  }
}

function wireSelection(desk, click) {
  const { state } = desk;
  click("clear", () => desk.on.select([]));
  click("copy-ids", (event) => copyText(state.selected.map(desk.data.idOf).join("\n"), event.target));
  click("download", () => download(csvOf(desk.data, desk.plots[0].columns, state.selected), "selection.csv"));
}

function wireFind(desk, listen) {
  let typing = 0;
  listen("find", "input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => showFound(desk), desk.data.n > MOST_DISCS ? 250 : 60);
  });
  listen("find", "keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(typing);
    const [first] = showFound(desk);
    if (first) desk.on.show(first.i);
  });
}

function showFound(desk) {
  const text = desk.byId("find").value;
  const found = findSamples(desk.data, text);
  const counted = found.length === FOUND ? `The first ${FOUND}:` : `${found.length} found`;
  desk.byId("found-count").textContent = text.trim() ? counted : "";
  listFound(desk, desk.byId("found"), found);
  if (found.length) reveal(desk, "find-panel");
  return found;
}

// For the pictures that there are now.
export function fillControls(desk) {
  const { byId, state } = desk;
  const [first] = desk.plots;
  const isNumber = (column) => !column.categories;
  fillChoices(byId("color"), first.columns, state.color, "one color");
  first.axes().forEach((axis, number) => {
    fillChoices(byId(AXES[number]), first.columns.filter(isNumber), axis?.key ?? null);
  });
  fillLinks(desk);
  if (!first.picture) return;
  byId("download-note").textContent = "Its coordinates are those that are drawn.";
}

function fillChoices(select, columns, chosen, nothing = "") {
  const choices = nothing ? [element("option", { value: "" }, nothing)] : [];
  for (const [group, title] of Object.entries(GROUPS)) {
    const options = columns.filter((column) => column.group === group).map(({ key, name }) => {
      return element("option", { value: key }, name.length > 60 ? `${name.slice(0, 59)}…` : name);
    });
    if (options.length) choices.push(element("optgroup", { label: title }, ...options));
  }
  select.replaceChildren(...choices);
  select.value = columns.some(({ key }) => key === chosen) ? chosen : "";
}

function fillLinks(desk) {
  const { byId, state } = desk;
  const { n } = desk.data;
  const pictures = desk.plots.map(({ picture }) => picture).filter(Boolean);
  const hasLinks = pictures.some(({ neighbors }) => neighbors);
  for (const name of LINKS) byId(name).checked = state[name];
  for (const name of ["inner", "outer", "all"]) byId(name).disabled = !hasLinks || (name === "all" && n > MOST_LINKED);
  byId("shorts-choice").hidden = !pictures.some(({ shorts }) => shorts.length);
  byId("shorts-name").textContent = pictures.some(({ cut }) => cut) ? "short circuits that were cut" : "short circuits";
  const few = "Of the sample under the pointer, or the pinned one.";
  const many = `${few} All links at once are drawn up to ${countText(MOST_LINKED)} samples.`;
  const none = pictures.length ? "Left out of this page, which has too many of them." : "";
  byId("link-note").textContent = hasLinks ? (n > MOST_LINKED ? many : few) : none;
}
