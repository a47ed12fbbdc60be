// The explorer: what is asked for, what came of it, and who shows it. It knows neither HTTP nor notebooks.

import { countText } from "../../viz/report/static/data.js";
import { createDesk } from "../../viz/report/static/desk.js";
import { element } from "../../viz/report/static/dom.js";
import { entryOf, openedBy } from "./answers.js";
import { Beside } from "./beside.js";
import { isAborted } from "./calls.js";
import { Contrast } from "./contrast.js";
import { Edges } from "./edges.js";
import { Features } from "./features.js";
import { Knobs } from "./knobs.js";
import { isSameRequest, withParameter, withScope } from "./requests.js";
import { Runner } from "./runner.js";
import { Strip } from "./strip.js";
import { Take } from "./take.js";
import { Thumbnails } from "./thumbnails.js";
import { Trail } from "./trail.js";
import { TuneMap } from "./tunemap.js";

const MOVING = 350; // milliseconds from the old places to the new
const NARROW = 832; // pixels, 52rem of explorer.css

export class Workbench {
  // `hooks` tie it to a notebook: start() is what to embed first, settings(request) and selection(samples) are told.
  constructor(root, call, hooks = {}) {
    this.byId = (id) => root.getElementById(id);
    Object.assign(this, { root, call, hooks, trail: new Trail(), scopes: new Map(), request: null });
    this.latency = { first: null, rest: null };
    this.ending = new AbortController();
    this.strip = new Strip(this.byId, () => this.cancel());
    this.runner = new Runner((task, options) => this.embed(task, options), {
      onStart: () => this.strip.begin("Updating …"),
      onProgress: (message) => this.strip.progress(message),
      onDone: (entry, { since }) => this.arrive(entry, since),
      onError: (error) => this.strip.trouble(error.message),
      onRest: () => this.strip.stop(),
    });
  }

  // Read the samples and embed them as they should be first.
  async open() {
    const since = performance.now();
    this.strip.begin("Reading the samples …");
    try {
      const { opening, data } = await this.scope(false, {});
      this.strip.stop();
      this.furnish(opening, data);
      this.change(this.hooks.start?.() || opening.start, 0, since);
    } catch (error) {
      this.strip.stop();
      if (!isAborted(error)) this.strip.trouble(error.message);
    }
  }

  close() {
    this.runner.abort();
    this.contrast?.forget();
    this.map?.stop();
    this.desk?.close();
    this.ending.abort();
  }

  // The samples of the page, or all of them: asked for once.
  async scope(whole, options) {
    if (!this.scopes.has(whole)) this.scopes.set(whole, openedBy(await this.call("open", { whole }, options)));
    return this.scopes.get(whole);
  }

  furnish(opening, data) {
    const { byId } = this;
    arrange(byId);
    tellSource(byId, opening);
    this.desk = createDesk(this.root, data, { color: opening.color });
    this.plot = this.desk.addPlot(byId("plot"));
    const change = (request, gesture) => this.change(request, gesture);
    const ask = (kind, payload, options) => this.ask(kind, payload, options);
    this.knobs = new Knobs(byId, opening, change);
    this.features = new Features(byId, opening.features, (columns) => change({ ...this.request, columns }));
    this.beside = new Beside(byId, this.desk, opening.start, { swap: () => this.swap(), closed: () => this.showTrail() });
    this.thumbnails = new Thumbnails(byId, this.desk, opening.start, this.trailActions());
    this.map = new TuneMap(byId, this.call, () => this.request, (trial) => this.apply(trial));
    this.contrast = new Contrast(byId, this.desk, ask);
    this.edges = new Edges(byId, this.desk, this.plot, change);
    this.take = new Take(byId, opening, this.plot, ask);
    this.desk.listen("select", (samples) => {
      this.contrast.changed();
      this.hooks.selection?.([...samples]);
    });
    this.wireButtons(opening);
  }

  wireButtons({ start }) {
    const { byId } = this;
    const { signal } = this.ending;
    const click = (id, act) => byId(id).addEventListener("click", act, { signal });
    click("reset", () => this.change({ ...start, whole: this.request.whole }));
    click("undo", () => this.undo());
    click("redo", () => this.redo());
    click("patch-whole", () => this.change(withScope(this.request, !this.request.whole)));
    click("skip", () => byId("plot").focus());
    byId("explorer").addEventListener("keydown", (event) => this.key(event), { signal });
  }

  key(event) {
    const isTyping = event.target.closest?.("input:not([type=range], [type=checkbox]), select, textarea");
    if (isTyping || event.key.toLowerCase() !== "z" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.shiftKey) this.redo();
    else this.undo();
  }

  // Another picture is asked for: from memory where it was seen before, else by Python, which leaves the one before.
  change(request, gesture = 0, since = performance.now()) {
    this.request = request;
    this.knobs.show(request, this.trail.current?.settings);
    this.features.show(request);
    const known = this.trail.find(request);
    if (known) this.go(known, since);
    else this.runner.ask({ request, gesture, since });
  }

  async embed({ request, gesture }, options) {
    await this.scope(Boolean(request.whole), options);
    const { current } = this.trail;
    const after = current && Boolean(current.request.whole) === Boolean(request.whole) ? current.id : null;
    return entryOf(await this.call("embed", { request, after }, options), request, gesture);
  }

  arrive(entry, since) {
    this.trail.add(entry, (one) => one === this.beside.entry);
    this.show(entry, since);
  }

  go(entry, since = performance.now()) {
    if (this.runner.isBusy) this.runner.cancel();
    this.strip.trouble("");
    this.trail.visit(entry);
    this.show(entry, since);
  }

  // After a change that failed, the first step back is to the picture that is seen.
  undo() {
    const { current } = this.trail;
    if (!current) return;
    this.step(isSameRequest(this.request, current.request) ? this.trail.undo() : current);
  }

  redo() {
    if (this.trail.current) this.step(this.trail.redo());
  }

  step(entry) {
    if (this.runner.isBusy) this.runner.cancel();
    this.strip.trouble("");
    this.show(entry, performance.now());
  }

  cancel() {
    this.runner.cancel();
    if (this.trail.current) this.show(this.trail.current, null);
  }

  // An entry of the trail becomes what is seen, by all who show something of it.
  show(entry, since) {
    const { data } = this.dataOf(entry);
    const isLast = !this.runner.waiting; // else knobs have been turned further meanwhile
    if (this.desk.data !== data) {
      this.beside.close();
      this.desk.setData(data);
    }
    if (isLast) {
      this.request = entry.request;
      this.features.show(entry.request);
    }
    this.knobs.show(this.request, entry.settings);
    this.strip.show(entry.result);
    this.move(entry, since);
    this.beside.tell(entry);
    this.showTrail();
    this.map.mark(entry.settings);
    this.edges.show(entry);
    this.take.show(entry);
    this.contrast.changed();
    this.showPatch(entry);
    this.byId("lead").textContent = `${entry.result.lead}.`;
    this.hooks.settings?.(entry.request);
  }

  // Points go to their new places; how long that took since it was asked for is kept.
  async move(entry, since) {
    if (this.plot.picture === entry.picture) return;
    const resting = this.plot.show(entry.picture, { duration: MOVING });
    if (since === null) return;
    const latency = { first: null, rest: null };
    this.latency = latency;
    await new Promise(requestAnimationFrame);
    latency.first = performance.now() - since;
    await resting;
    latency.rest = performance.now() - since;
  }

  dataOf(entry) {
    return this.scopes.get(Boolean(entry.request.whole));
  }

  showTrail() {
    this.thumbnails.show(this.trail);
  }

  trailActions() {
    return {
      go: (entry) => this.go(entry),
      beside: (entry) => (this.beside.entry === entry ? this.beside.close() : this.hold(entry)),
      dataOf: (entry) => this.dataOf(entry).data,
      isHeld: (entry) => this.beside.entry === entry,
      canBeside: (entry) => this.dataOf(entry).data === this.desk.data,
    };
  }

  hold(entry) {
    this.beside.hold(entry);
    this.beside.tell(this.trail.current);
    this.showTrail();
  }

  // What is held and what is seen change places.
  swap() {
    const [seen, held] = [this.trail.current, this.beside.entry];
    this.beside.hold(seen);
    this.go(held);
  }

  apply({ n_neighbors: k, reg, variant }) {
    const chosen = withParameter(withParameter(this.request, "n_neighbors", k), "reg", reg);
    this.change(withParameter(chosen, "variant", variant));
  }

  // Ask about the picture that is seen. Python keeps fewer embeddings than the trail: what it has forgotten is made anew.
  async ask(kind, payload, options = {}) {
    const entry = this.trail.current;
    const about = () => ({ ...payload, id: entry.id, request: entry.request });
    try {
      return await this.call(kind, about(), options);
    } catch (error) {
      if (error.parameter !== "id") throw error;
      const { message } = await this.call("embed", { request: entry.request, after: null }, options);
      entry.id = message.id;
      return this.call(kind, about(), options);
    }
  }

  showPatch({ request }) {
    const { byId } = this;
    const { n, nAll, isPatch } = this.scopes.get(false).opening;
    byId("patch").hidden = !isPatch;
    const part = `A connected patch of ${countText(n)} of ${countText(nAll)} samples.`;
    byId("patch-text").textContent = request.whole ? `All ${countText(nAll)} samples.` : part;
    byId("patch-whole").textContent = request.whole ? "Back to the patch" : `All ${countText(nAll)} samples`;
  }
}

// Parts of the markup go to where the picture has room for them.
function arrange(byId) {
  const plot = byId("plot");
  const caption = element("figcaption", { id: "main-caption", class: "caption-line", hidden: "" }, element("span", { id: "main-text", class: "caption" }));
  const main = element("figure", { class: "main" }, caption);
  const plots = element("div", { class: "plots", id: "plots" });
  plot.replaceWith(plots);
  main.append(plot);
  plots.append(main, byId("held"), byId("map"));
  plots.after(byId("trail"));
  byId("selection-panel").after(byId("contrast-panel"));
  byId("pinned-panel").before(byId("edges-panel"));
  const keys = [element("kbd", {}, "z"), " ", element("kbd", {}, "Shift"), " ", element("kbd", {}, "z")];
  const told = [element("dt", {}, ...keys), element("dd", {}, "undo and redo a change of settings")];
  byId("help").querySelector(".keys").append(element("div", {}, ...told));
  // Where knobs are above the picture they leave room for it.
  const isNarrow = byId("explorer").clientWidth < NARROW;
  if (isNarrow) for (const group of byId("explorer").querySelectorAll(".knobs details")) group.open = false;
  byId("explorer").classList.add("is-open");
}

function tellSource(byId, { title, source, notes, leftOut }) {
  byId("title").textContent = title;
  byId("source").textContent = `${source}.`;
  byId("notes").textContent = [...notes, ...leftOut.map((text) => `Left out: ${text}`)].join(" ");
}
