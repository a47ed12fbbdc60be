"""What choosing settings costs beside one fit, each in a fresh process; and how true the lengths of the choice are."""

import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from scipy.spatial.distance import pdist

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.tuning import tune
from tables import table

TITLE = "Cost of choosing, and lengths"
REPEATS, N_SAMPLES, ROLLS = 5, 2_000, 10
RUN = """
import time
start = time.perf_counter()
from hne import HNE
from hne.datasets import make_swiss_roll
from hne.tuning import tune
X = make_swiss_roll({n}, random_state=0).X
begun = time.perf_counter()
{call}
end = time.perf_counter()
print(end - start, end - begun)
"""
CALLS = {"one fit with the defaults": "HNE().fit(X)", "`tune`, 24 settings": "tune(X)"}


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = []
    for cache, is_empty in (("filled", False), ("empty", True)):
        (fit, fit_alone), (all_of_it, tune_alone) = (_median_seconds(call, is_empty) for call in CALLS.values())
        lines.append(
            [cache, f"{fit:.2f}", f"{all_of_it:.1f}", f"{all_of_it / fit:.1f}", f"{fit_alone:.2f}", f"{tune_alone:.1f}"]
        )
    apart, aspects, settings = zip(*(_lengths(100 + seed) for seed in range(ROLLS)), strict=True)
    off = [abs(aspect - 1) for aspect in aspects]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"Swiss roll, n = {N_SAMPLES}; medians of {REPEATS} fresh processes each, imports included, in seconds,",
            "with the cache of compiled code filled or empty. The last two columns leave imports out.",
            "",
            table(["cache", "one fit", "`tune`, 24 settings", "ratio", "fit alone", "`tune` alone"], lines),
            "",
            f"Rescaled coordinates of the choice on {ROLLS} other rolls of {N_SAMPLES} samples: distances are off by",
            f"{statistics.median(apart):.1%} (median of all pairs and over rolls, {max(apart):.1%} for the worst), the",
            f"ratio of the sides by {statistics.median(off):.1%} ({max(off):.1%}). Chosen:",
            f"{'; '.join(dict.fromkeys(settings))}.",
        ]
    )


def _median_seconds(call: str, is_empty: bool) -> tuple[float, float]:
    runs = [_seconds(RUN.format(n=N_SAMPLES, call=call), is_empty) for _ in range(REPEATS)]
    return statistics.median(one[0] for one in runs), statistics.median(one[1] for one in runs)


def _seconds(script: str, is_empty: bool) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, **({"NUMBA_CACHE_DIR": empty} if is_empty else {})}
        command = [sys.executable, "-c", script]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    whole, alone = map(float, run.stdout.split())
    return whole, alone


def _lengths(seed: int) -> tuple[float, float, str]:
    """How far distances are off in the median, the ratio of both aspect ratios, and the setting that was chosen."""
    roll = make_swiss_roll(N_SAMPLES, random_state=seed)
    found = tune(roll.X)
    Y = HNE(coordinates="rescaled", **found.parameters).fit_transform(roll.X)
    sides = [np.linalg.svd(one - one.mean(axis=0), compute_uv=False) for one in (Y, roll.chart)]
    aspect = (sides[0][0] / sides[0][1]) / (sides[1][0] / sides[1][1])
    return float(np.median(np.abs(pdist(Y) / pdist(roll.chart) - 1))), float(aspect), found.best.label
