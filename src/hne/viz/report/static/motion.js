// Points on their way from one picture to the next.

// From 0 to 1, slow at both ends.
export function easeInOut(share) {
  return share < 0.5 ? 4 * share ** 3 : 1 - 4 * (1 - share) ** 3;
}

// Places so far along the way; whoever has none in one of the pictures is where the other has it, or nowhere.
export function between(from, to, share) {
  const at = easeInOut(share);
  return to.map((end, i) => (Number.isFinite(from[i]) ? from[i] + (end - from[i]) * at : end));
}
