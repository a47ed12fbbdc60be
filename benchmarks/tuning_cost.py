"""Cost of choosing settings in fits, each in a fresh process, and errors of distances in the chart of the choice."""

import statistics
import subprocess
import sys

import numpy as np
from scipy.spatial.distance import pdist

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.tuning import tune
from tables import table

TITLE = "Cost of choosing, and lengths"
REPEATS, N_SAMPLES, ROLLS = 5, 2_000, 10
RUN = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np
from hne import HNE
from hne.datasets import make_swiss_roll, make_twin_peaks
from hne.tuning import tune
AUTO = {{"n_neighbors": "auto", "reg": "auto", "variant": "auto"}}
X = {data}
begun = time.perf_counter()
result = {call}
seconds = time.perf_counter() - begun
search = getattr(result, "tuning_", result)
print(seconds, search.n_measured if search is not None and hasattr(search, "n_measured") else 0)
"""
# Where one of the first settings is good enough, where none is, and far from any surface.
DATA = {
    "Swiss roll": "make_swiss_roll({n}, random_state=0).X",
    "twin peaks": "make_twin_peaks({n}, random_state=0).X",
    "5-D Gaussian": "np.random.default_rng(0).normal(size=({n}, 5))",
}
CALLS = ("HNE().fit(X)", "HNE(**AUTO).fit(X)", 'HNE(**AUTO, n_components="auto").fit(X)', "tune(X)")


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = []
    for name, data in DATA.items():
        (fit, _), *others = (_median_seconds(data.format(n=N_SAMPLES), call) for call in CALLS)
        cells = [f"{seconds:.2f} ({seconds / fit:.1f})" for seconds, _ in others]
        lines.append([name, f"{fit:.2f}", *cells, str(others[0][1])])
    apart, aspects, settings = zip(*(_lengths(100 + seed) for seed in range(ROLLS)), strict=True)
    off = [abs(aspect - 1) for aspect in aspects]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"n = {N_SAMPLES}; medians of {REPEATS} fresh processes each, imports left out, in seconds, and in",
            'brackets how many fits with the defaults that is. The last column says how many settings "auto" tried.',
            "",
            table(["data", "one fit", '"auto"', '"auto", n_components too', "`tune`", "settings"], lines),
            "",
            f"Charts with the chosen settings on {ROLLS} other rolls of {N_SAMPLES} samples: distances are off by",
            f"{statistics.median(apart):.1%} (median of all pairs and over rolls, {max(apart):.1%} for the worst), the",
            f"ratio of the sides by {statistics.median(off):.1%} ({max(off):.1%}). Chosen:",
            f"{'; '.join(dict.fromkeys(settings))}.",
        ]
    )


def _median_seconds(data: str, call: str) -> tuple[float, int]:
    """Seconds of a call, and how many settings it tried."""
    command = [sys.executable, "-c", RUN.format(data=data, call=call)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(REPEATS)]  # noqa: S603
    return statistics.median(float(run[0]) for run in runs), int(runs[0][1])


def _lengths(seed: int) -> tuple[float, float, str]:
    """How far distances are off in the median, the ratio of both aspect ratios, and the setting that was chosen."""
    roll = make_swiss_roll(N_SAMPLES, random_state=seed)
    found = tune(roll.X)
    Y = HNE(**found.parameters).fit_transform(roll.X)
    sides = [np.linalg.svd(one - one.mean(axis=0), compute_uv=False) for one in (Y, roll.chart)]
    aspect = (sides[0][0] / sides[0][1]) / (sides[1][0] / sides[1][1])
    return float(np.median(np.abs(pdist(Y) / pdist(roll.chart) - 1))), float(aspect), found.best.label
