// A plot as it is seen -> the scene of a figure.

import { cssColor } from "../../viz/report/static/colors.js";
import { valueText } from "../../viz/report/static/data.js";
import { drawnPairs } from "../../viz/report/static/overlay.js";
import { ticksOf } from "../../viz/report/static/view.js";

// Beyond, points are an image within the figure: a program that opens it could not draw so many circles.
const MOST_CIRCLES = 50000;
const MOST_WITH_RIM = 6000;

export function sceneOf(plot, title, subtitle) {
  const { view, desk } = plot;
  const { width, height } = view;
  const styles = { page: "--paper", paper: "--plot", ink: "--ink", dim: "--dim", border: "--line" };
  const colors = Object.fromEntries(Object.entries(styles).map(([name, variable]) => [name, desk.cssVariable(variable)]));
  const [xColumn, yColumn] = view.columns;
  const [x0, x1, y0, y1] = view.shownBox;
  const across = ticksOf(x0 / view.unitX, x1 / view.unitX, width / 110);
  const up = ticksOf(y0 / view.unitY, y1 / view.unitY, height / 80);
  return {
    ...{ width, height, title, subtitle, ...colors },
    points: pointsIn(plot),
    lines: linesIn(plot),
    across: across.map((value) => ({ at: width / 2 + (value * view.unitX - view.cx) * view.scale, text: valueText(xColumn, value) })),
    up: up.map((value) => ({ at: height / 2 - (value * view.unitY - view.cy) * view.scale, text: valueText(yColumn, value) })),
    xName: axisName(xColumn, plot.picture.coordinates),
    yName: axisName(yColumn, plot.picture.coordinates),
    legend: legendIn(plot.paint),
  };
}

export function axisName({ name, group }, coordinates) {
  const note = { chart: " (units of X)", layout: " (neighborhoods, not distances)" }[coordinates] || "";
  return group === "coordinates" ? `${name}${note}` : name;
}

// Those that are seen, in the order in which they are drawn, fainter ones mixed with paper.
function pointsIn(plot) {
  const { view, paint, levels } = plot;
  const radius = plot.radius();
  const isSeen = (i) => {
    const [x, y] = view.toPixel(i);
    return levels[i] && x > -radius && y > -radius && x < view.width + radius && y < view.height + radius;
  };
  const seen = [...view.drawn.order].filter(isSeen);
  if (seen.length > MOST_CIRCLES) return { image: plot.canvases.points.toDataURL("image/png") };
  // As on the screen, those that stand back come first.
  const ordered = [...seen.filter((i) => levels[i] === 1), ...seen.filter((i) => levels[i] === 2)];
  const places = ordered.map((i) => view.toPixel(i));
  const color = (i) => cssColor(levels[i] === 2 ? paint.colors[i] : paint.missing);
  const rim = ordered.length <= MOST_WITH_RIM ? plot.desk.style.paper : "";
  return { xs: places.map(([x]) => x), ys: places.map(([, y]) => y), colors: ordered.map(color), radius, rim };
}

function linesIn(plot) {
  const { desk, picture, extraLinks, view } = plot;
  const drawn = desk.state.shorts ? [{ pairs: picture.shorts, color: "--short", width: 2, dash: [7, 4] }] : [];
  const placed = ({ pairs, color, width, dash }) => ({
    pairs: drawnPairs(plot, pairs).map(([i, j]) => [...view.toPixel(i), ...view.toPixel(j)]).filter((ends) => ends.every(Number.isFinite)),
    color: desk.cssVariable(color),
    ...{ width, dash },
  });
  return [...drawn, ...extraLinks].map(placed).filter(({ pairs }) => pairs.length);
}

function legendIn({ column, entries, spread, table }) {
  if (!column) return null;
  const named = entries.map(({ name, color }) => ({ name, color: cssColor(color) }));
  if (entries.length || !spread?.count) return { title: column.name, entries: named, ramp: null };
  const stops = Array.from({ length: 17 }, (_, k) => cssColor(table[Math.round((k / 16) * 255)]));
  const sign = (mark, value) => `${spread.clipped ? mark : ""}${valueText(column, value)}`;
  return { title: column.name, entries: named, ramp: { colors: stops, low: sign("≤ ", spread.from), high: sign("≥ ", spread.to) } };
}
