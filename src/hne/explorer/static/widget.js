// The same workbench in a notebook: in a shadow root, over the comm of an anywidget.

import { commCall } from "./comm.js";
import { isSameRequest } from "./requests.js";
import { Workbench } from "./workbench.js";

// Notebooks have a light and a dark of their own, each in its own way.
export function notebookTheme({ documentElement: html, body }) {
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false" ? "dark" : "light"; // Jupyter
  if (/\bvscode-(dark|high-contrast)\b/.test(body.className)) return "dark";
  if (/\bvscode-light\b/.test(body.className)) return "light";
  if (html.getAttribute("theme") === "dark" || html.classList.contains("dark") || body.classList.contains("dark")) return "dark"; // Colab, marimo
  return "";
}

// Settings and selection of the model follow the workbench, and it follows them where Python sets them.
export function tieModel(model, bench) {
  const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const set = (name, value) => {
    if (isSame(model.get(name), value)) return;
    model.set(name, value);
    model.save_changes();
  };
  bench.hooks = {
    start: () => (model.get("settings")?.parameters ? model.get("settings") : null),
    settings: (request) => set("settings", request),
    selection: (samples) => set("selection", samples),
  };
  const onSettings = () => {
    const wanted = model.get("settings");
    if (wanted?.parameters && bench.request && !isSameRequest(wanted, bench.request)) bench.change(wanted);
  };
  const onSelection = () => {
    const wanted = [...(model.get("selection") || [])];
    if (bench.desk && !isSame(wanted, bench.desk.state.selected)) bench.desk.on.select(wanted);
  };
  model.on("change:settings", onSettings);
  model.on("change:selection", onSelection);
  const untie = () => {
    model.off("change:settings", onSettings);
    model.off("change:selection", onSelection);
  };
  return { onSelection, untie };
}

// Show the workbench in an element; a function that ends it.
export function renderWidget({ model, el }, markup, style) {
  const host = document.createElement("div");
  const theme = notebookTheme(document);
  if (theme) host.dataset.theme = theme;
  // Keys are the workbench's own, not shortcuts of the notebook; Jupyter, which listens before all others, asks for a mark.
  host.dataset.lmSuppressShortcuts = "true";
  for (const event of ["keydown", "keyup", "keypress"]) host.addEventListener(event, (what) => what.stopPropagation());
  const root = host.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const page = document.createElement("div");
  page.className = "page";
  page.innerHTML = markup; // of the package, without data
  root.append(sheet, page);
  el.append(host);
  const ending = new AbortController();
  const bench = new Workbench(root, commCall(model, ending.signal));
  const { onSelection, untie } = tieModel(model, bench);
  bench.open().then(onSelection);
  return () => {
    untie();
    bench.close();
    ending.abort();
  };
}
