// What can be taken along: the lines that make the picture again, files of it, and the picture itself.

import { copyText, download } from "../../viz/report/static/dom.js";
import { figureSize, figureSvg } from "./figure.js";
import { sceneOf } from "./scene.js";
import { furtherOf, labelOf } from "./thumbnails.js";

const SHARPNESS = 2; // pixels of the PNG a pixel of the screen

export class Take {
  // `ask(kind, payload)` asks about the picture that is seen.
  constructor(byId, { title, libraries, start }, plot, ask) {
    Object.assign(this, { byId, title, start, plot, ask, entry: null });
    for (const button of byId("take").querySelectorAll("[data-export]")) {
      button.addEventListener("click", () => this.fetchFile(button));
      button.hidden = button.dataset.export === "parquet" && !libraries.parquet;
    }
    byId("copy-shell").addEventListener("click", (event) => copyText(byId("take-command").textContent, event.currentTarget));
    byId("copy-python").addEventListener("click", (event) => copyText(byId("take-python").textContent, event.currentTarget));
    byId("save-svg").addEventListener("click", () => this.tellOf("picture", this.saveSvg()));
    byId("save-png").addEventListener("click", () => this.tellOf("picture", this.savePng()));
  }

  get stem() {
    return this.title.replace(/\.[A-Za-z0-9]{1,5}$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "-") || "picture";
  }

  show(entry) {
    const { byId } = this;
    this.entry = entry;
    byId("take-command").textContent = entry.result.command;
    byId("take-shell").hidden = !entry.result.command;
    byId("take-python").textContent = entry.result.python;
  }

  async fetchFile(button) {
    button.disabled = true;
    const asked = this.ask("export", { format: button.dataset.export });
    await this.tellOf(button.dataset.export, asked.then(({ message, buffers }) => {
      download(buffers[0], message.name, message.mime);
      return `${message.name} was made.`;
    }));
    button.disabled = false;
  }

  async tellOf(what, work) {
    const note = this.byId("take-note");
    note.textContent = `Making the ${what} …`;
    note.textContent = await work.catch((error) => error.message);
  }

  svg() {
    const further = furtherOf(this.entry, this.start);
    const subtitle = `hne: ${labelOf(this.entry)}${further ? `, ${further}` : ""}. ${this.entry.result.verdict.word}`;
    return figureSvg(sceneOf(this.plot, this.title, subtitle));
  }

  async saveSvg() {
    download(this.svg(), `${this.stem}.svg`, "image/svg+xml");
    return `${this.stem}.svg was made.`;
  }

  // The figure, drawn by the browser at twice the size of the screen.
  async savePng() {
    const svg = this.svg();
    const { width, height } = figureSize(sceneOf(this.plot, "", ""));
    const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * SHARPNESS, height * SHARPNESS];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    download(blob, `${this.stem}.png`, "image/png");
    return `${this.stem}.png was made.`;
  }
}
