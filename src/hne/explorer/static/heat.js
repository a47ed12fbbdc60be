// Trials -> a map of each variant: rows of reg, from large to small, and columns of k.

const ORDER = ["ihne", "rhne", "bhne"];
// What a cell without a score shows, as in the report of a search.
const SIGNS = { "stopped early": "–", failed: "failed", "not reached": "·" };

export function heatMaps(trials) {
  const known = (pick) => [...new Set(trials.map(pick))];
  const ks = known((trial) => trial.n_neighbors).sort((a, b) => a - b);
  const regs = known((trial) => trial.reg).sort((a, b) => b - a);
  const variants = known((trial) => trial.variant).sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const cells = new Map(trials.map((trial) => [`${trial.variant} ${trial.reg} ${trial.n_neighbors}`, trial]));
  return variants.map((variant) => ({
    variant,
    ks,
    rows: regs.map((reg) => ({ reg, cells: ks.map((k) => cells.get(`${variant} ${reg} ${k}`) || null) })),
  }));
}

export function cellText({ outcome, text }) {
  if (outcome === "measured") return text;
  return text ? `>${text}` : SIGNS[outcome] || outcome;
}

export function roleOf({ isBest, isRunnerUp }) {
  return isBest ? "chosen" : isRunnerUp ? "runner-up" : "";
}
