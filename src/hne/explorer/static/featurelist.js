// Which columns take part, of up to thousands: found by a text, and chosen all, none or the others.

export const MOST_LISTED = 200;

// The first columns whose name has the text, and how many there are.
export function matchingFeatures(names, text, most = MOST_LISTED) {
  const wanted = text.trim().toLowerCase();
  const found = wanted ? names.filter((name) => name.toLowerCase().includes(wanted)) : names;
  return { shown: found.slice(0, most), found };
}

// Names of a request -> those that take part; null is all.
export function chosenFeatures(names, columns) {
  return new Set(columns || names);
}

// The chosen ones after a button, which is about what the text has found.
export function chosenAfter(action, chosen, found) {
  const next = new Set(chosen);
  for (const name of found) {
    const wanted = action === "all" || (action === "invert" && !chosen.has(name));
    if (wanted) next.add(name);
    else next.delete(name);
  }
  return next;
}

// Those that take part -> columns of a request, in the order of the data.
export function columnsOfRequest(names, chosen) {
  return chosen.size === names.length ? null : names.filter((name) => chosen.has(name));
}
