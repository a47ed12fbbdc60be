// The report: blocks of the page are decoded into samples and a picture of them, and a few read-only numbers handed to
// whoever tests the page.

import { createData } from "./data.js";
import { createDesk } from "./desk.js";
import { copyText } from "./dom.js";
import { thumbnail } from "./panels.js";

const KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array };

function bytesOf(id) {
  const block = document.getElementById(id);
  const text = block.textContent;
  block.remove(); // what is decoded need not be kept twice
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

function arrayOf(id, kind) {
  const bytes = bytesOf(id);
  return new KINDS[kind](bytes.buffer, bytes.byteOffset, bytes.byteLength / KINDS[kind].BYTES_PER_ELEMENT);
}

function sheetOf({ kind, ...sheet }) {
  return { ...sheet, bitmap: createImageBitmap(new Blob([bytesOf("sheet")], { type: kind })) };
}

function readPage() {
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const columns = meta.columns.map((column) => ({ ...column, values: arrayOf(column.block, column.kind) }));
  const isData = (column) => column.group === "data";
  const data = createData({
    ...meta,
    rows: meta.rows ? arrayOf("rows", "f8") : null,
    columns: columns.filter(isData),
    sheet: meta.sheet && sheetOf(meta.sheet),
  });
  const picture = {
    ...meta,
    columns: columns.filter((column) => !isData(column)),
    neighbors: meta.neighbors ? arrayOf("neighbors", "i4") : null,
    k: meta.neighbors,
  };
  return { data, picture, color: meta.color };
}

// Lists below the picture lead into it.
function wireLists(desk, plot) {
  const toPicture = () => {
    plot.element.focus({ preventScroll: true });
    desk.byId("picture").scrollIntoView({ block: "start" });
  };
  for (const button of document.querySelectorAll("button[data-short]")) {
    button.addEventListener("click", () => {
      desk.on.short(plot.picture.shorts[button.dataset.short]);
      toPicture();
    });
  }
  for (const button of document.querySelectorAll("button[data-worst]")) {
    const i = Number(button.dataset.worst);
    if (desk.data.sheet) button.prepend(thumbnail(desk.data, i, 40));
    button.addEventListener("click", () => {
      desk.on.show(i);
      toPicture();
    });
  }
}

// Mean milliseconds of so many redraws, each from a slightly different place.
function redrawTime(desk, plot, times) {
  const begin = performance.now();
  for (let k = 0; k < times; k++) {
    plot.view.moveBy(k % 2 ? 1 : -1, 0);
    desk.draw();
  }
  return (performance.now() - begin) / times;
}

function pagePixelOf(plot, i) {
  const box = plot.element.getBoundingClientRect();
  const [x, y] = plot.pixelOf(i);
  return [box.left + plot.element.clientLeft + x, box.top + plot.element.clientTop + y];
}

function stateOf({ state }, { view, counts, levels, picture, drawnAs, raster }) {
  return {
    hovered: state.hovered,
    pinned: state.pinned,
    selected: [...state.selected],
    zoom: view.zoom,
    center: [view.cx, view.cy],
    drawnAs,
    ...counts,
    short: picture.shorts.indexOf(state.short),
    equal: view.equal,
    shown: levels.filter((level) => level === 2).length,
    size: [raster.width, raster.height],
  };
}

function start() {
  const { data, picture, color } = readPage();
  const desk = createDesk(document, data, { color });
  const plot = desk.addPlot(desk.byId("plot"));
  plot.show(picture);
  wireLists(desk, plot);
  const command = desk.byId("copy-command");
  command?.addEventListener("click", () => copyText(desk.byId("command").textContent, command));
  window.hneReport = Object.freeze({
    pixelOf: (i) => pagePixelOf(plot, i),
    state: () => stateOf(desk, plot),
    redrawTime: (times) => redrawTime(desk, plot, times),
  });
}

start();
