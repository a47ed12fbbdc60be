// What can be taken along: the lines that make the picture again, files of it, and the picture itself.

import { copyText, download } from "../../viz/report/static/dom.js";
import { isAborted } from "./calls.js";
import { figureSize, figureSvg } from "./figure.js";
import { sceneOf } from "./scene.js";
import { captionOf } from "./thumbnails.js";

const SHARPNESS = 2; // pixels of the PNG a pixel of the screen
const UNCHANGED = 150; // milliseconds without another color before Python is asked for its lines

export class Take {
  // `ask(kind, payload)` asks about the picture that is seen.
  constructor(byId, opening, plot, ask) {
    const { title, libraries } = opening;
    Object.assign(this, { byId, opening, title, plot, ask, entry: null, timer: 0 });
    plot.desk.listen("color", () => this.entry && this.show(this.entry));
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
    this.entry = entry;
    this.write(entry.result);
    clearTimeout(this.timer);
    if (this.plot.desk.state.color !== this.opening.color) this.timer = setTimeout(() => this.colorLines(entry), UNCHANGED);
  }

  write({ command, python }) {
    const { byId } = this;
    byId("take-command").textContent = command;
    byId("take-shell").hidden = !command;
    byId("take-python").textContent = python;
  }

  // Lines are made with the color that a page is opened with; those for another are asked for.
  async colorLines(entry) {
    const { color } = this;
    try {
      const { message } = await this.ask("lines", { color });
      if (entry === this.entry && color === this.color) this.write(message);
    } catch (error) {
      if (!isAborted(error)) this.byId("take-note").textContent = error.message;
    }
  }

  // The name of the data's column that colors, null for what an embedding brings.
  get color() {
    const { data, state } = this.plot.desk;
    return data.columns.find(({ key }) => key === state.color)?.name ?? null;
  }

  async fetchFile(button) {
    button.disabled = true;
    const asked = this.ask("export", { format: button.dataset.export, color: this.color });
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
    const subtitle = `hne: ${captionOf(this.entry, this.opening)}. ${this.entry.result.verdict.word}`;
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
