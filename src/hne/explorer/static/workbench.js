// The explorer: what is asked for, what came of it, and who shows it. It knows neither HTTP nor notebooks.

import { countText } from "../../viz/report/static/data.js";
import { createDesk } from "../../viz/report/static/desk.js";
import { entryOf, openedBy } from "./answers.js";
import { Beside } from "./beside.js";
import { isAborted } from "./calls.js";
import { Contrast } from "./contrast.js";
import { Edges } from "./edges.js";
import { Features } from "./features.js";
import { Knobs } from "./knobs.js";
import { arrange, foldWhereNarrow, tellSource } from "./layout.js";
import { isSameRequest, withParameter, withScope } from "./requests.js";
import { Runner } from "./runner.js";
import { Strip } from "./strip.js";
import { Take } from "./take.js";
import { Thumbnails } from "./thumbnails.js";
import { Trail } from "./trail.js";
import { TuneMap } from "./tunemap.js";

const MOVING = 350; // milliseconds from the old places to the new

export class Workbench {
  // `hooks` tie it to a notebook or to what a tab remembers: start() is what to embed first, settings(request) and
  // selection(samples) are told.
  constructor(root, call, hooks = {}) {
    this.byId = (id) => root.getElementById(id);
    Object.assign(this, { root, call, hooks, trail: new Trail(), scopes: new Map(), request: null });
    this.latency = { first: null, rest: null };
    this.ending = new AbortController();
    this.strip = new Strip(this.byId, () => this.cancel());
    this.runner = new Runner((task, options) => this.embed(task, options), {
      onStart: () => this.strip.begin("Updating …"),
      onProgress: (message) => this.strip.progress(message),
      onDone: (entry, task) => this.arrive(entry, task),
      onError: (error, task) => this.fail(error, task),
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
    this.folding?.disconnect();
  }

  // The samples of the page, or all of them: asked for once.
  async scope(whole, options) {
    if (!this.scopes.has(whole)) this.scopes.set(whole, openedBy(await this.call("open", { whole }, options)));
    return this.scopes.get(whole);
  }

  furnish(opening, data) {
    const { byId } = this;
    arrange(byId);
    this.folding = foldWhereNarrow(byId("explorer"));
    tellSource(byId, opening);
    this.desk = createDesk(this.root, data, { color: opening.color });
    this.plot = this.desk.addPlot(byId("plot"));
    const change = (request, gesture) => this.change(request, gesture);
    const ask = (kind, payload, options) => this.ask(kind, payload, options);
    this.knobs = new Knobs(byId, opening, change, (text) => this.strip.trouble(text));
    this.features = new Features(byId, opening.features, (columns) => change({ ...this.request, columns }));
    this.beside = new Beside(byId, this.desk, opening, { swap: () => this.swap(), closed: () => this.leave() });
    this.thumbnails = new Thumbnails(byId, this.desk, opening, this.trailActions());
    this.map = new TuneMap(byId, this.call, () => this.request, (trial) => this.apply(trial));
    this.contrast = new Contrast(byId, this.desk, ask);
    this.edges = new Edges(byId, this.desk, this.plot, change);
    this.take = new Take(byId, opening, this.plot, ask);
    this.desk.listen("select", (samples) => {
      this.contrast.changed(true);
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
    click("turn-back", () => this.turnBack());
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
  change(request, gesture = 0, since = performance.now(), told = "") {
    this.request = request;
    this.knobs.show(request, this.trail.current?.settings);
    this.features.show(request);
    const known = this.trail.find(request);
    if (known) this.go(known, since);
    else this.runner.ask({ request, gesture, since, told });
  }

  async embed({ request, gesture, replaced }, options) {
    const { data } = await this.scope(Boolean(request.whole), options);
    const { current } = this.trail;
    const isBeside = current && !replaced && Boolean(current.request.whole) === Boolean(request.whole);
    const answer = await this.call("embed", { request, after: isBeside ? current.id : null }, options);
    return { ...entryOf(answer, request, gesture), nameOf: data.idOf };
  }

  arrive(entry, { since, replaced, told }) {
    if (replaced) this.replace(replaced, entry, since);
    else {
      this.trail.add(entry, (one) => one === this.beside.entry);
      this.show(entry, since);
    }
    if (told) this.strip.trouble(told);
  }

  // The picture that is seen, with the axes that files have; those that follow move least from there.
  turnBack() {
    const { current } = this.trail;
    this.request = current.request;
    this.runner.ask({ request: current.request, gesture: current.gesture, since: performance.now(), replaced: current });
  }

  replace(entry, { id, result, picture, bytes }, since) {
    Object.assign(entry, { id, result, picture, bytes });
    this.thumbnails.forget(entry);
    if (this.beside.entry === entry) this.beside.hold(entry);
    if (this.trail.current === entry) this.show(entry, since);
  }

  // What Python refuses leaves the picture as it is, and knobs agree with it again. A page that begins with what was
  // seen before, and cannot, begins as if it were new.
  fail({ message }, { request }) {
    const { current } = this.trail;
    const { start } = this.scopes.get(false).opening;
    if (current) this.agree(current);
    else if (!isSameRequest(request, start)) this.change(start, 0, performance.now(), message);
    this.strip.trouble(message);
  }

  go(entry, since = performance.now()) {
    if (this.runner.isBusy) this.runner.cancel();
    this.strip.trouble("");
    this.trail.visit(entry);
    this.show(entry, since);
  }

  // While another is made, the first step back is to the picture that is seen.
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
    if (this.desk.data !== data) {
      this.beside.close();
      this.desk.setData(data);
    }
    this.agree(entry);
    this.strip.show(entry.result);
    this.move(entry, since);
    this.beside.tell(entry);
    this.showTrail();
    this.map.mark(entry.settings);
    this.edges.show(entry);
    this.take.show(entry);
    this.contrast.changed();
    this.showPatch(entry);
    this.byId("turned").hidden = !entry.result.turned;
    this.byId("lead").textContent = `${entry.result.lead}.`;
    this.hooks.settings?.(entry.request);
  }

  // Knobs stand as for the picture that is seen, unless they have been turned further meanwhile.
  agree(entry) {
    if (!this.runner.waiting) {
      this.request = entry.request;
      this.features.show(entry.request);
    }
    this.knobs.show(this.request, entry.settings);
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
    this.edges.show(this.trail.current);
    this.showTrail();
  }

  leave() {
    this.edges.show(this.edges.entry);
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
