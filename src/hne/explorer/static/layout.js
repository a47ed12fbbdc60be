// Parts of the markup -> where the picture has room for them, in windows wide and narrow.

import { element } from "../../viz/report/static/dom.js";

const NARROW = 832; // pixels, 52rem of explorer.css

export function arrange(byId) {
  const plot = byId("plot");
  const caption = element("figcaption", { id: "main-caption", class: "caption-line", hidden: "" }, element("span", { id: "main-text", class: "caption" }));
  const main = element("figure", { class: "main" }, caption);
  const plots = element("div", { class: "plots", id: "plots" });
  plot.replaceWith(plots);
  main.append(plot);
  plots.append(main, byId("held"), byId("map"));
  plots.after(byId("trail"));
  byId("selection-panel").after(byId("contrast-panel"));
  const names = element("details", { id: "selection-names" }, element("summary", {}, "Names"));
  byId("selection-panel").append(names);
  names.append(byId("selection-list"));
  byId("pinned-panel").before(byId("edges-panel"));
  const keys = [element("kbd", {}, "z"), " ", element("kbd", {}, "Shift"), " ", element("kbd", {}, "z")];
  const told = [element("dt", {}, ...keys), element("dd", {}, "undo and redo a change of settings")];
  byId("help").querySelector(".keys").append(element("div", {}, ...told));
  byId("explorer").classList.add("is-open");
}

// Where knobs are above the picture they leave room for it: at the start, and whenever the window becomes narrow.
export function foldWhereNarrow(explorer) {
  const groups = [...explorer.querySelectorAll(".knobs details")];
  const opened = groups.filter(({ open }) => open);
  let wasNarrow = false;
  const fold = () => {
    const isNarrow = explorer.clientWidth < NARROW;
    if (isNarrow !== wasNarrow) for (const group of isNarrow ? groups : opened) group.open = !isNarrow;
    wasNarrow = isNarrow;
  };
  fold();
  const observer = new ResizeObserver(fold);
  observer.observe(explorer);
  return observer;
}

export function tellSource(byId, { title, source, notes, leftOut }) {
  byId("title").textContent = title;
  byId("source").textContent = `${source}.`;
  byId("notes").textContent = [...notes, ...leftOut.map((text) => `Left out: ${text}`)].join(" ");
}
