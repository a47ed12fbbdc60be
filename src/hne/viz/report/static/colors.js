// A column -> a color for each point, and what a legend says of it. Colors are packed as 0xAABBGGRR.

import { categoriesOf, spreadOf } from "./data.js";

// Seventeen anchors of matplotlib's plasma: 0.02 to 0.86 stands out on white, 0.25 to 0.98 on black.
const ON_WHITE =
  "1b068d350498 4c02a16100a7 7501a88a09a5 9c179ead2793 bc3587ca457a d5546ee06363 ea7457f2844b f9973ffca934 febe2a";
const ON_BLACK =
  "7e03a88e0ca4 9e199dad2793 ba3388c6417d d14e72da5b69 e4695eec7754 f3854bf89540 fca636feb72d fdca26f9dd25 f3f027";
// Petroff's ten accessible colors (arXiv 2107.02270); on black, red, purple and slate are lifted to be seen.
const TEN = "3f90da ffa90e bd1f01 94a4a2 832db6 a96b59 e76300 b9ac70 717581 92dadd".split(" ");
const LIFTED = { bd1f01: "e04a2b", "832db6": "b06be0", 717581: "858b9a" };
export const GREYS = { light: { other: "b4bac1", missing: "d6d9dd" }, dark: { other: "6b7178", missing: "4c5157" } };
const PLAIN = { light: "3f6fb5", dark: "8ab4f8" };
const MOST_COLORED = TEN.length;

export function packed(hex) {
  const value = parseInt(hex, 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export function cssColor(color) {
  return `rgb(${color & 0xff}, ${(color >> 8) & 0xff}, ${(color >> 16) & 0xff})`;
}

function ramp(anchors) {
  const colors = anchors.replaceAll(" ", "").match(/.{6}/g).map(packed);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (colors.length - 1);
    const low = Math.min(Math.floor(at), colors.length - 2);
    const mix = (shift) => {
      const [a, b] = [(colors[low] >> shift) & 0xff, (colors[low + 1] >> shift) & 0xff];
      return Math.round(a + (b - a) * (at - low)) << shift;
    };
    return (0xff000000 | mix(16) | mix(8) | mix(0)) >>> 0;
  });
}

const RAMPS = { light: ramp(ON_WHITE), dark: ramp(ON_BLACK) };

// {colors, share, entries, spread}: `share` is where a number lies in the ramp, NaN for none; entries are categories.
// Colors span the column of `scale`, so that plots side by side share one legend.
export function coloring(column, theme, asCategories, n, scale = column) {
  const greys = GREYS[theme];
  const colors = new Uint32Array(n);
  if (!column) return { colors: colors.fill(packed(PLAIN[theme])), entries: [] };
  const coded = asCategories ? categoriesOf(column) : column.categories ? column : null;
  if (coded) return byCategory(coded, colors, greys, theme);
  return byNumber(column, colors, greys, RAMPS[theme], spreadOf(scale));
}

function byNumber(column, colors, greys, table, spread) {
  const share = new Float32Array(colors.length);
  const size = spread.isLog ? Math.log : (value) => value;
  const start = size(spread.from);
  const width = size(spread.to) - start || 1;
  const missing = packed(greys.missing);
  for (let i = 0; i < colors.length; i++) {
    const at = (size(column.values[i]) - start) / width;
    share[i] = Number.isFinite(column.values[i]) ? (at > 0 ? Math.min(1, at) : 0) : NaN;
    colors[i] = Number.isFinite(column.values[i]) ? table[Math.round(share[i] * 255)] : missing;
  }
  return { column, colors, share, spread, table, entries: [] };
}

function byCategory(column, colors, greys, theme) {
  const names = column.categories;
  const counts = new Uint32Array(names.length + 1);
  for (const code of column.values) counts[code]++;
  const color = (place) => packed(theme === "dark" ? LIFTED[TEN[place]] || TEN[place] : TEN[place]);
  // The most frequent get colors, in the order of the categories: who comes before them decides, not who is more.
  const byCount = [...names.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
  const colored = byCount.slice(0, MOST_COLORED).sort((a, b) => a - b);
  const entries = colored.map((code, place) => ({ name: names[code], color: color(place), count: counts[code] }));
  const rest = byCount.slice(MOST_COLORED);
  if (rest.length) {
    const count = rest.reduce((sum, code) => sum + counts[code], 0);
    entries.push({ name: `other (${rest.length} more)`, color: packed(greys.other), count, own: true });
  }
  if (counts[names.length]) {
    entries.push({ name: "missing", color: packed(greys.missing), count: counts[names.length], own: true });
  }
  const entryOf = new Uint8Array(names.length + 1).fill(colored.length);
  colored.forEach((code, place) => (entryOf[code] = place));
  entryOf[names.length] = entries.length - 1;
  const entry = new Uint8Array(colors.length);
  for (let i = 0; i < colors.length; i++) {
    entry[i] = entryOf[column.values[i]];
    colors[i] = entries[entry[i]].color;
  }
  return { column, colors, entries, entry };
}
