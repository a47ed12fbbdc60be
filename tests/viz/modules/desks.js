// What tests of desks share: samples on a grid of 10 by 6, pictures of them, a desk with two plots, a shadow root.

const n = 60;

const column = (key, name, group, valueOf, more = {}) => {
  const values = Float32Array.from({ length: n }, (_, i) => valueOf(i));
  return { key, name, group, values, categories: null, time: false, ...more };
};

const picture = (turn, more = {}) => ({
  columns: [
    column("coordinate-1", "chart coordinate 1", "coordinates", (i) => (turn ? Math.floor(i / 10) : i % 10)),
    column("coordinate-2", "chart coordinate 2", "coordinates", (i) => (turn ? i % 10 : Math.floor(i / 10))),
    column("error", "reconstruction error", "embedding", (i) => i / n),
  ],
  neighbors: Int32Array.from({ length: 2 * n }, (_, k) => (Math.floor(k / 2) + 1 + (k % 2)) % n),
  ...{ k: 2, shorts: [[0, 59]], cut: true, coordinates: "chart", ...more },
});

const codes = Uint8Array.from({ length: n }, (_, i) => i % 3);
const kinds = column("data-1", "kind", "data", () => 0, { values: codes, categories: ["a", "b", "c"] });
const dataOf = () => kit.createData({ n, columns: [kinds, column("data-2", "size", "data", (i) => i)] });

const desk = kit.createDesk(document, dataOf(), { color: "data-1" });
const [first, second] = ["plot", "second"].map((id) => desk.addPlot(document.getElementById(id)));
const told = [];
for (const name of ["select", "pin", "color", "theme"]) desk.listen(name, (what) => told.push([name, what]));
const shadow = document.getElementById("host").attachShadow({ mode: "open" });

const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

const pageOf = ({ element, view }, i) => {
  const box = element.getBoundingClientRect();
  const [x, y] = view.toPixel(i);
  return [box.left + element.clientLeft + x, box.top + element.clientTop + y];
};

// How many pixels of a canvas are not empty.
const ink = (canvas) => {
  const copy = canvas.cloneNode();
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  return data.filter((value, at) => at % 4 === 3 && value).length;
};
