// A selection -> what sets it apart: columns, edges, and who in it is rebuilt worst.

import { reveal } from "../../viz/report/static/actions.js";
import { countText } from "../../viz/report/static/data.js";
import { dataText, element } from "../../viz/report/static/dom.js";
import { arrayIn, isAborted } from "./calls.js";

const PAUSE = 250; // milliseconds without a change of the selection before Python is asked

export class Contrast {
  // `ask(kind, payload, options)` asks about the picture that is seen.
  constructor(byId, desk, ask) {
    Object.assign(this, { byId, desk, ask, timer: 0, controller: null });
  }

  // Another selection, whose panel is then brought into view, or another picture of it.
  changed(isNew = false) {
    const samples = [...this.desk.state.selected];
    this.forget();
    this.byId("contrast-panel").hidden = !samples.length;
    if (!samples.length) return;
    this.byId("contrast-panel").classList.add("updating");
    this.timer = setTimeout(() => this.run(samples, isNew), PAUSE);
  }

  forget() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.controller = null;
  }

  async run(samples, isNew) {
    const controller = new AbortController();
    this.controller = controller;
    try {
      const { message, buffers } = await this.ask("contrast", { samples }, { signal: controller.signal });
      this.show(message, buffers);
    } catch (error) {
      if (isAborted(error)) return;
      this.byId("contrast-lead").textContent = error.message;
      this.byId("contrast").replaceChildren();
    }
    this.byId("contrast-panel").classList.remove("updating");
    if (isNew) this.bring();
  }

  bring() {
    if (this.desk.isStacked) this.byId("contrast-panel").scrollIntoView({ block: "nearest" });
    else reveal(this.desk, "contrast-panel");
  }

  show({ n, columns, edges, worst, worstText, images }, buffers) {
    const { byId, desk } = this;
    byId("contrast-lead").textContent = columns.length
      ? `Columns in which the ${countText(n)} selected differ most from the others:`
      : images
        ? `Mean picture of the ${countText(n)} selected, and of the others:`
        : `No column tells the ${countText(n)} selected from the others.`;
    byId("contrast-images").replaceChildren(...(images ? ["inside", "outside"].map((side) => meanPicture(images, side, buffers)) : []));
    const largest = Math.max(...columns.map(({ effect }) => Math.abs(effect)), 1e-9);
    byId("contrast").replaceChildren(...columns.map((column) => this.line(column, largest)));
    byId("contrast-edges").textContent = edges?.text || "";
    byId("contrast-worst-text").textContent = worst.length ? worstText : "";
    byId("contrast-worst-title").hidden = !worst.length;
    const button = (i) => {
      const made = dataText("button", desk.data.idOf(i));
      made.type = "button";
      made.addEventListener("click", () => desk.on.show(i));
      return element("li", {}, made);
    };
    byId("contrast-worst").replaceChildren(...worst.map(button));
  }

  line({ name, text, inside, outside, effect }, largest) {
    const side = inside < outside ? "lower" : "higher";
    const bar = element("span", { class: `effect ${side}`, "aria-hidden": "true" }, element("i"));
    bar.firstElementChild.style.width = `${(50 * Math.abs(effect)) / largest}%`;
    const head = dataText("button", name);
    head.type = "button";
    head.title = "Color by this column";
    const column = this.desk.data.columns.find((one) => one.name === name);
    if (column) head.addEventListener("click", () => this.colorBy(column.key));
    else head.disabled = true;
    return element("li", {}, head, bar, dataText("p", text));
  }

  colorBy(key) {
    const select = this.byId("color");
    select.value = key;
    select.dispatchEvent(new Event("change"));
  }
}

// The mean of the images of one side, as large as a thumbnail.
function meanPicture({ width, height, ...sides }, side, buffers) {
  const canvas = element("canvas", { class: "thumb", width, height, role: "img", "aria-label": `mean picture ${side}` });
  const scale = 96 / Math.max(width, height);
  [canvas.style.width, canvas.style.height] = [`${width * scale}px`, `${height * scale}px`];
  const pixels = new Uint8ClampedArray(arrayIn(sides[side], buffers));
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  return element("figure", {}, canvas, element("figcaption", { class: "dim" }, side));
}
