// A second picture beside the one that is seen, on the same desk: what is pointed at and selected is shared.

import { captionOf } from "./thumbnails.js";

const COMPARED = ["Stress", "Score"];

export class Beside {
  // actions: swap(), closed()
  constructor(byId, desk, opening, actions) {
    Object.assign(this, { byId, desk, opening, actions, entry: null, plot: null });
    byId("held-close").addEventListener("click", () => {
      this.close();
      byId("plot").focus({ preventScroll: true });
    });
    byId("held-swap").addEventListener("click", () => actions.swap());
  }

  hold(entry) {
    const { byId, desk } = this;
    const isNew = !this.plot;
    byId("held").hidden = false;
    byId("main-caption").hidden = false;
    this.plot ||= desk.addPlot(byId("plot-held"));
    this.plot.show(entry.picture, { duration: isNew ? 0 : 350 });
    this.entry = entry;
    byId("held-text").textContent = this.caption(entry);
  }

  // What the picture that is seen is of, as long as there are two.
  tell(current) {
    this.byId("main-text").textContent = current ? this.caption(current) : "";
  }

  close() {
    if (!this.plot) return;
    this.desk.removePlot(this.plot);
    Object.assign(this, { plot: null, entry: null });
    this.byId("held").hidden = true;
    this.byId("main-caption").hidden = true;
    this.actions.closed();
  }

  // With the numbers that two pictures are compared by.
  caption(entry) {
    const { verdict, measures } = entry.result;
    const numbers = measures.filter(({ name }) => COMPARED.includes(name)).map(({ name, text }) => `${name} ${text}`);
    return [`${captionOf(entry, this.opening)} — ${verdict.word}`, numbers.join(", ")].join(" ");
  }
}
