// Samples: their names, rows and columns of numbers and categories, and how values are written.

// What is known of samples whatever their picture. `order` is all of them in a random order, the same each time: what
// comes last in the data does not cover the rest.
export function createData({ n, idName = "sample", ids = null, rows = null, columns = [], sheet = null }) {
  // The number of a sample's row in what was read, from 1.
  const rowOf = (i) => (rows ? rows[i] : i + 1);
  const values = Float64Array.from({ length: n }, (_, i) => rowOf(i));
  return {
    ...{ n, idName, columns, sheet, rowOf },
    idOf: (i) => (ids ? ids[i] : String(rowOf(i))),
    row: { key: "row", name: "row", group: "embedding", values, categories: null, time: false },
    order: shuffled(n),
  };
}

function shuffled(n) {
  const found = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
}

export function isMissing(column, i) {
  return column.categories ? column.values[i] === column.categories.length : !Number.isFinite(column.values[i]);
}

export function textOf(column, i) {
  if (isMissing(column, i)) return "missing";
  return column.categories ? column.categories[column.values[i]] : valueText(column, column.values[i]);
}

export function valueText(column, value) {
  return column.time ? timeText(value) : numberText(value);
}

// Days since 1970 as a date, with the time of day where it is not midnight.
export function timeText(days) {
  const moment = new Date(Math.round(days * 86400000));
  if (Number.isNaN(moment.getTime())) return "";
  const [date, time] = moment.toISOString().split("T");
  return time === "00:00:00.000Z" ? date : `${date} ${time.replace(/(:00)?\.000Z$|Z$/, "")}`;
}

// Five digits are what a reader can use; whole numbers are written whole.
export function numberText(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return String(value);
  return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(5))) : value.toExponential(2);
}

// All digits that were in the data: of single precision, those beyond the seventh are of its own making.
export function exactText(value, isSingle) {
  return String(isSingle && !Number.isInteger(value) ? Number(value.toPrecision(7)) : value);
}

export function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, "\u00a0");
}

// Low, middle and high of a column of numbers, and the range that colors span: outliers may not squeeze the rest.
export function spreadOf(column, wanted = null) {
  if (!wanted && column.spread) return column.spread;
  const source = wanted ? wanted.map((i) => column.values[i]) : column.values;
  const sorted = Float64Array.from(source).filter(Number.isFinite).sort();
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const count = sorted.length;
  if (!count) return { count, low: 0, high: 0, from: 0, to: 0, clipped: false, isLog: false };
  let sum = 0;
  for (const value of sorted) sum += value / count;
  const [low, high, p1, p99] = [sorted[0], sorted[count - 1], at(0.01), at(0.99)];
  // Positive numbers over more than two and a half powers of ten are told apart by their logarithms.
  const isLog = !column.time && low > 0 && p99 / p1 > 300;
  const size = isLog ? Math.log : (value) => value;
  const clipped = p99 > p1 && size(high) - size(low) > 1.5 * (size(p99) - size(p1));
  const [from, to] = clipped ? [p1, p99] : [low, high];
  const spread = { count, low, high, from, to, clipped, isLog, mean: sum, median: at(0.5) };
  if (!wanted) column.spread = spread;
  return spread;
}

// The few whole numbers of a column as categories, by size; null where they are many or not whole.
export function categoriesOf(column) {
  if (column.categories) return column;
  if (column.asCategories !== undefined) return column.asCategories;
  const found = new Set();
  for (const value of column.values) {
    if (!Number.isFinite(value)) continue;
    if (!Number.isInteger(value) || (found.size >= 20 && !found.has(value))) return (column.asCategories = null);
    found.add(value);
  }
  const names = [...found].sort((a, b) => a - b);
  const codes = new Map(names.map((value, code) => [value, code]));
  const values = Uint8Array.from(column.values, (value) => codes.get(value) ?? names.length);
  const categories = names.map((value) => valueText(column, value));
  return (column.asCategories = { ...column, values, categories, asCategories: undefined });
}
