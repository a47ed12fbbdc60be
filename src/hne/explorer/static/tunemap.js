// Maps of scores over k and reg, a cell of which is a button that applies its setting.

import { element } from "../../viz/report/static/dom.js";
import { isAborted } from "./calls.js";
import { cellText, heatMaps, roleOf } from "./heat.js";
import { ridgeText } from "./scales.js";

export class TuneMap {
  // `call` asks Python, `requestOf()` is what is looked at now, `apply(trial)` embeds by it.
  constructor(byId, call, requestOf, apply) {
    Object.assign(this, { byId, call, requestOf, apply, controller: null, cells: [] });
    byId("tune").addEventListener("click", () => (this.controller ? this.stop() : this.run()));
    byId("map-stop").addEventListener("click", () => this.stop());
    byId("map-close").addEventListener("click", () => {
      this.stop();
      byId("map").hidden = true;
      byId("tune").focus();
    });
  }

  async run() {
    const controller = new AbortController();
    this.controller = controller;
    this.begin();
    try {
      const onProgress = (message) => this.progress(message);
      const { message } = await this.call("tune", { request: this.requestOf() }, { signal: controller.signal, onProgress });
      this.show(message);
      this.tell("");
    } catch (error) {
      this.tell(isAborted(error) ? "Stopped." : error.message);
    } finally {
      this.controller = null;
      this.byId("map-work").hidden = true;
      this.byId("tune").textContent = "Try settings";
    }
  }

  stop() {
    this.controller?.abort();
  }

  begin() {
    const { byId } = this;
    byId("map").hidden = false;
    byId("map-work").hidden = false;
    byId("map-bar").firstElementChild.style.width = "0";
    byId("tune").textContent = "Stop trying";
    this.tell("Trying settings …");
    byId("map").scrollIntoView({ block: "nearest" });
  }

  progress({ stage, done, total }) {
    this.tell(`Trying settings: ${stage}${total ? ` ${done} of ${total}` : ""}`);
    if (total) this.byId("map-bar").firstElementChild.style.width = `${(100 * done) / total}%`;
  }

  tell(text) {
    this.byId("map-note").textContent = text;
  }

  show({ trials, sentences, note }) {
    const { byId } = this;
    byId("map-sentences").replaceChildren(...sentences.map((text) => element("p", {}, text)));
    this.cells = [];
    byId("maps").replaceChildren(...heatMaps(trials).map((map) => this.table(map)));
    byId("map-key").hidden = false;
    byId("map-extra").textContent = note || "";
  }

  table({ variant, ks, rows }) {
    const head = [element("th", { scope: "col" }, "reg \\ k"), ...ks.map((k) => element("th", { scope: "col" }, String(k)))];
    const line = ({ reg, cells }) =>
      element("tr", {}, element("th", { scope: "row" }, ridgeText(reg)), ...cells.map((trial) => this.cell(trial)));
    const caption = element("caption", {}, variant.toUpperCase());
    const body = element("tbody", {}, ...rows.map(line));
    const table = element("table", { class: "heat" }, caption, element("thead", {}, element("tr", {}, ...head)), body);
    return element("div", { class: "scroll" }, table);
  }

  cell(trial) {
    if (!trial) return element("td");
    const role = roleOf(trial);
    const label = `${trial.variant.toUpperCase()}, k ${trial.n_neighbors}, reg ${ridgeText(trial.reg)}`;
    const outcome = trial.outcome === "measured" ? `score ${trial.text}` : `${trial.outcome}${trial.reason ? `, ${trial.reason}` : ""}`;
    const title = `${label}: ${outcome}${role ? ` (${role})` : ""}`;
    const button = element("button", { type: "button", class: "cell", title, "aria-label": title }, cellText(trial));
    button.addEventListener("click", () => this.apply(trial));
    const level = trial.outcome === "measured" && trial.level !== null ? `l${trial.level}` : "none";
    this.cells.push({ trial, button });
    return element("td", { class: `${level}${role ? ` ${role}` : ""}` }, button);
  }

  // Which of the cells is the picture that is seen.
  mark({ n_neighbors: k, reg, variant }) {
    for (const { trial, button } of this.cells) {
      const isSeen = trial.variant === variant && trial.n_neighbors === k && Math.abs(trial.reg / reg - 1) < 1e-9;
      if (isSeen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }
}
