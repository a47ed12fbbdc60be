// A text -> samples that have it in their name or columns; samples -> a table of all that is known of them.

import { exactText, isMissing, textOf, timeText } from "./data.js";

export const FOUND = 20;

// Samples by name, then by what columns of texts say of them: {i, column}, without a column where the name has it.
export function findSamples(data, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = findIds(data, wanted).map((i) => ({ i }));
  const seen = new Set(found.map(({ i }) => i));
  for (const column of data.columns.filter(({ categories, time }) => categories || time)) {
    const has = (name) => name.toLowerCase().includes(wanted);
    const codes = column.categories && column.categories.map(has);
    if (codes && !codes.includes(true)) continue;
    for (let i = 0; i < data.n && found.length < FOUND; i++) {
      if (isMissing(column, i) || !(codes ? codes[column.values[i]] : has(textOf(column, i))) || seen.has(i)) continue;
      found.push({ i, column });
      seen.add(i);
    }
  }
  return found;
}

// Ids that start with the text come before those that contain it.
function findIds(data, wanted) {
  const [starting, containing] = [[], []];
  for (let i = 0; i < data.n && starting.length < FOUND; i++) {
    const at = data.idOf(i).toLowerCase().indexOf(wanted);
    if (at === 0) starting.push(i);
    else if (at > 0 && containing.length < FOUND) containing.push(i);
  }
  const exact = (i) => (data.idOf(i).toLowerCase() === wanted ? 0 : 1);
  return [...starting.sort((a, b) => exact(a) - exact(b) || a - b), ...containing].slice(0, FOUND);
}

export function csvOf(data, columns, samples) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (column, i) => {
    if (isMissing(column, i)) return "";
    if (column.categories) return column.categories[column.values[i]];
    if (column.time) return timeText(column.values[i]);
    return exactText(column.values[i], column.values instanceof Float32Array);
  };
  const lines = [[data.idName, ...columns.map((column) => column.name)]];
  for (const i of samples) lines.push([data.idOf(i), ...columns.map((column) => cell(column, i))]);
  return `${lines.map((line) => line.map(quoted).join(",")).join("\r\n")}\r\n`;
}
