// Answers of Python -> samples for the desk, and entries of the trail.

import { createData } from "../../viz/report/static/data.js";
import { arrayIn, columnsIn } from "./calls.js";

const NO_VERDICT = { level: "unknown", word: "Not known.", text: "Nobody has measured how far it can be believed.", findings: [] };

// What "open" tells, and the samples it is about.
export function openedBy({ message, buffers }) {
  const { n, idName, ids, rows, columns, sheet } = message;
  const data = createData({
    ...{ n, idName, ids },
    rows: arrayIn(rows && { ...rows }, buffers),
    columns: columnsIn(columns, buffers),
    sheet: sheet && { ...sheet, bitmap: createImageBitmap(new Blob([buffers[sheet.buffer]], { type: sheet.type })) },
  });
  return { opening: message, data };
}

// What "embed" tells, of what was asked for.
export function entryOf({ message, buffers }, request, gesture) {
  const { columns, neighbors, shorts, isCut, coordinates, ...rest } = message;
  const picture = {
    columns: columnsIn(columns, buffers),
    neighbors: arrayIn(neighbors, buffers),
    k: neighbors?.k || 0,
    ...{ shorts, cut: isCut, coordinates },
  };
  const bytes = buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  const result = { ...rest, isCut, verdict: message.verdict || NO_VERDICT };
  return { id: message.id, request, settings: message.settings, result, picture, bytes, gesture };
}
