// A scene -> SVG text: points by color, axes with their numbers and names, a legend, a title. No DOM.

const FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const TITLE_HEIGHT = 56;
const LEGEND_WIDTH = 190;
const EDGE = { left: 68, right: 14, bottom: 50 };
const MOST_IN_LEGEND = 22;

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

// Text that is safe in XML: no markup, and none of the characters that XML does not have.
export function escapeXml(text) {
  const allowed = String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Surrogate}]/gu, "\ufffd");
  return allowed.replace(/[&<>"']/g, (sign) => ESCAPES[sign]);
}

function decimals(value) {
  return String(Math.round(value * 100) / 100);
}

function textAt(x, y, text, attributes = "") {
  return `<text x="${decimals(x)}" y="${decimals(y)}" ${attributes}>${escapeXml(text)}</text>`;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// Points of each color together, in the order in which colors first come.
function groupsOf({ xs, ys, colors }) {
  const groups = new Map();
  for (let i = 0; i < xs.length; i++) {
    if (!groups.has(colors[i])) groups.set(colors[i], []);
    groups.get(colors[i]).push(i);
  }
  return groups;
}

function pointsOf(points) {
  const radius = decimals(points.radius);
  const circle = (i) => `<circle cx="${decimals(points.xs[i])}" cy="${decimals(points.ys[i])}" r="${radius}"/>`;
  // As on the screen, few points are set off from each other.
  const rim = points.rim ? ` stroke="${points.rim}" stroke-width="0.9"` : "";
  const group = ([color, members]) => `<g fill="${color}"${rim}>${members.map(circle).join("")}</g>`;
  return [...groupsOf(points)].map(group).join("\n");
}

function linesOf({ pairs, color, width, dash }) {
  const line = ([x0, y0, x1, y1]) => `M${decimals(x0)} ${decimals(y0)}L${decimals(x1)} ${decimals(y1)}`;
  const dashes = dash?.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return `<path d="${pairs.map(line).join("")}" fill="none" stroke="${color}" stroke-width="${width}"${dashes}/>`;
}

function axesOf({ width, height, across, up, xName, yName, ink, dim }) {
  const marks = [
    ...across.map(({ at }) => `M${decimals(at)} ${height}v5`),
    ...up.map(({ at }) => `M0 ${decimals(at)}h-5`),
  ];
  const numbers = [
    ...across.map(({ at, text }) => textAt(at, height + 19, text, `text-anchor="middle"`)),
    ...up.map(({ at, text }) => textAt(-9, at + 4, text, `text-anchor="end"`)),
  ];
  const middle = `text-anchor="middle"`;
  return [
    `<path d="${marks.join("")}" stroke="${dim}" fill="none"/>`,
    `<g font-size="12" fill="${dim}">${numbers.join("")}</g>`,
    `<g font-size="13" fill="${ink}">${textAt(width / 2, height + 40, shortened(xName, 60), middle)}`,
    textAt(0, 0, shortened(yName, 60), `${middle} transform="translate(-50 ${decimals(height / 2)}) rotate(-90)"`),
    `</g>`,
  ].join("\n");
}

function legendOf({ title, entries, ramp }, { ink, dim }) {
  const parts = [textAt(0, 10, shortened(title, 26), `font-size="13" font-weight="650" fill="${ink}"`)];
  entries.slice(0, MOST_IN_LEGEND).forEach(({ name, color }, k) => {
    const y = 30 + 19 * k;
    parts.push(`<circle cx="6" cy="${y - 4}" r="5" fill="${color}"/>`);
    parts.push(textAt(18, y, shortened(name, 25), `font-size="12" fill="${ink}"`));
  });
  const rest = entries.length - MOST_IN_LEGEND;
  if (rest > 0) parts.push(textAt(18, 30 + 19 * MOST_IN_LEGEND, `and ${rest} more`, `font-size="12" fill="${dim}"`));
  if (ramp) {
    const stops = ramp.colors.map((color, k) => `<stop offset="${decimals(k / (ramp.colors.length - 1))}" stop-color="${color}"/>`);
    parts.push(`<defs><linearGradient id="ramp">${stops.join("")}</linearGradient></defs>`);
    parts.push(`<rect y="22" width="${LEGEND_WIDTH - 24}" height="12" rx="3" fill="url(#ramp)"/>`);
    parts.push(textAt(0, 50, ramp.low, `font-size="12" fill="${dim}"`));
    parts.push(textAt(LEGEND_WIDTH - 24, 50, ramp.high, `font-size="12" text-anchor="end" fill="${dim}"`));
  }
  return parts.join("\n");
}

// { width, height } of the whole picture, whose plot is as large as the scene's.
export function figureSize({ width, height, legend }) {
  return {
    width: EDGE.left + width + EDGE.right + (legend ? LEGEND_WIDTH : 0),
    height: TITLE_HEIGHT + height + EDGE.bottom,
  };
}

// scene: { width, height, title, subtitle, points: {xs, ys, colors, radius, rim} | {image}, lines: [{pairs, color, width, dash}],
// across, up: [{at, text}], xName, yName, legend: {title, entries, ramp} | null, paper, page, ink, dim, border }
export function figureSvg(scene) {
  const { width, height, legend, lines, points } = scene;
  const whole = figureSize(scene);
  const image = points.image && `<image href="${points.image}" width="${width}" height="${height}"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${whole.width}" height="${whole.height}" viewBox="0 0 ${whole.width} ${whole.height}" font-family="${FONT}">`,
    `<title>${escapeXml(scene.title)}</title>`,
    `<rect width="100%" height="100%" fill="${scene.page}"/>`,
    textAt(14, 24, shortened(scene.title, 90), `font-size="17" font-weight="650" fill="${scene.ink}"`),
    textAt(14, 44, shortened(scene.subtitle, 140), `font-size="12" fill="${scene.dim}"`),
    `<g transform="translate(${EDGE.left} ${TITLE_HEIGHT})">`,
    `<clipPath id="plot"><rect width="${width}" height="${height}"/></clipPath>`,
    `<rect width="${width}" height="${height}" fill="${scene.paper}" stroke="${scene.border}"/>`,
    `<g clip-path="url(#plot)">`,
    ...lines.map(linesOf),
    image || pointsOf(points),
    `</g>`,
    axesOf(scene),
    legend ? `<g transform="translate(${width + EDGE.right + 8} 4)">${legendOf(legend, scene)}</g>` : "",
    `</g>`,
    `</svg>`,
  ].join("\n");
}
