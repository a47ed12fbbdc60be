// Sliders <-> numbers: steps of a logarithmic slider, and numbers as people write them.

export const SLIDER_STEPS = 400;

// The place of a value on a logarithmic slider, at its ends where it lies beyond them.
export function stepOf(value, [low, high]) {
  const share = Math.log(value / low) / Math.log(high / low);
  return Math.round(Math.min(1, Math.max(0, share)) * SLIDER_STEPS);
}

// The value of a place, rounded to two digits; the ends are exact.
export function valueAt(step, [low, high]) {
  if (step <= 0) return low;
  if (step >= SLIDER_STEPS) return high;
  return Number((low * (high / low) ** (step / SLIDER_STEPS)).toPrecision(2));
}

// Where a slider ends: a field takes more than the slider beside it, which then follows.
export function sliderEnd(high, value) {
  return Math.max(high, value || 0);
}

// A ridge with at most so many digits, as short as can be: 0.001, 2.5e-5.
export function ridgeText(value, digits = 3) {
  const rounded = Number(value.toPrecision(digits));
  if (rounded >= 1e-3 && rounded < 1e4) return String(rounded);
  return rounded.toExponential().replace("e+", "e");
}

// The number that a field holds, or null where it is none within the bounds, or not whole where it should be.
export function numberIn(text, [low, high], isWhole = false) {
  const value = text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(value) || value < low || value > high) return null;
  return isWhole && !Number.isInteger(value) ? null : value;
}

// What is wrong with a text that is no such number.
export function numberRule(name, isWhole, text) {
  const rule = isWhole ? "a whole number, 1 or more" : "a number above 0";
  return `${name} must be ${rule}, got ${text.trim() ? `"${text.trim()}"` : "nothing"}.`;
}
