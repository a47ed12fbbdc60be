"""Verdicts: whether bad embeddings are told from good ones, on samples that no limit was calibrated on."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hne import embed
from hne._types import FloatArray
from hne.datasets import make_cube, make_s_curve, make_severed_sphere, make_swiss_hole, make_swiss_roll, make_twin_peaks
from hne.exceptions import HNEWarning
from hne.metrics import affine_errors
from tables import table

TITLE = "Verdicts"
# Seeds of the calibration are below 100.
FIRST_SEED = 1700
SEEDS = range(FIRST_SEED, FIRST_SEED + 6)
GOOD, BAD = 0.05, 0.15
FLAGGED = ("bad", "doubtful")


@dataclass(frozen=True)
class Case:
    """Samples to embed with settings; `truth` is "good" or "bad" where that is known without the chart."""

    kind: str
    X: FloatArray
    chart: FloatArray
    parameters: dict[str, Any] = field(default_factory=dict)
    truth: str = ""


def cases() -> Iterator[Case]:
    """Embeddings of all kinds."""
    for seed in SEEDS:
        yield from _of_settings(seed)
        yield from _across_gaps(seed)
        yield from _of_other_dimensions(seed)
        yield from _in_pieces(seed)


def _of_settings(seed: int) -> Iterator[Case]:
    surfaces = [
        make_swiss_roll(600, random_state=seed),
        make_swiss_roll(1000, random_state=seed),
        make_swiss_roll(500, even=True, random_state=seed),
        make_swiss_roll(700, noise=0.2, random_state=seed),
        make_swiss_hole(700, random_state=seed),
        make_s_curve(500, random_state=seed),
        make_twin_peaks(700, random_state=seed),
        make_severed_sphere(600, random_state=seed),
        make_cube(600, random_state=seed),
    ]
    for data in surfaces:
        d = data.chart.shape[1]
        for kind, settings in (
            ("reg 1e-5 or 1e-4, k = 6", {"reg": 1e-5}),
            ("reg 1e-5 or 1e-4, k = 6", {"reg": 1e-4}),
            ("reg 1e-4 or 1e-3, k = 8", {"n_neighbors": 8, "reg": 1e-4, "variant": "ihne"}),
            ("reg 1e-4 or 1e-3, k = 8", {"n_neighbors": 8, "reg": 1e-3}),
            ("reg too large, 1e-2", {"reg": 1e-2}),
            ("reg too small, 1e-7", {"reg": 1e-7, "variant": "rhne"}),
        ):
            yield Case(kind, data.X, data.chart, {"n_components": d, **settings})


def _across_gaps(seed: int) -> Iterator[Case]:
    for n, noise, k in ((300, 0.0, 12), (400, 0.6, 10), (500, 0.8, 12), (800, 1.0, 10)):
        data = make_swiss_roll(n, noise=noise, random_state=seed)
        yield Case("links across gaps", data.X, data.chart, {"n_neighbors": k, "reg": 1e-3})


def _of_other_dimensions(seed: int) -> Iterator[Case]:
    roll, cube = make_swiss_roll(700, random_state=seed), make_cube(600, random_state=seed)
    t = np.sort(np.random.default_rng(seed).random(300)) * 12
    helix = np.column_stack([np.cos(t), np.sin(t), t / 4])
    kind = "wrong n_components"
    yield Case(kind, roll.X, roll.chart, {"n_components": 1}, "bad")
    yield Case(kind, roll.X, roll.chart, {"n_components": 3}, "bad")
    yield Case(kind, cube.X, cube.chart, {"n_components": 2}, "bad")
    yield Case(kind, helix, t[:, None], {"n_components": 2}, "bad")


def _in_pieces(seed: int) -> Iterator[Case]:
    one, other = (make_swiss_roll(n, even=True, random_state=seed + n) for n in (500, 300))
    X = np.vstack([one.X, other.X + np.array([60.0, 0.0, 0.0])])
    chart = np.vstack([one.chart, other.chart])
    yield Case("in pieces", X, chart, {}, "bad")
    yield Case("in pieces", X, chart, {"pieces": "join"}, "bad")
    blobs = np.random.default_rng(seed).normal(size=(300, 2)) + 40 * np.repeat(np.arange(3), 100)[:, None]
    yield Case("in pieces", blobs, blobs, {}, "bad")


def judged(case: Case) -> tuple[str, str]:
    """What is true of an embedding, "good", "bad" or "between", and the level of its verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HNEWarning)
        result = embed(case.X, **case.parameters)
    if case.truth:
        return case.truth, result.trust.level
    error = float(affine_errors(result.Y, case.chart).mean())
    return "good" if error < GOOD else "bad" if error > BAD else "between", result.trust.level


def measure() -> str:
    """The section as Markdown."""
    found = [(case.kind, *judged(case)) for case in cases()]
    rows = []
    for kind in (*dict.fromkeys(kind for kind, _, _ in found), "all"):
        own = [(truth, level) for name, truth, level in found if kind in (name, "all")]
        rows.append([kind, *(cell for truth in ("good", "bad") for cell in _counted(own, truth))])
    header = ["embeddings", "good ones", "flagged", "bad ones", "flagged", "told bad"]
    return f"## {TITLE}\n\n{_preface(len(found))}\n\n{table(header, [[*row[:3], *row[4:]] for row in rows])}"


def _counted(own: list[tuple[str, str]], truth: str) -> list[str]:
    """How many are so in truth, and the shares of those that are flagged, and that are told to be bad."""
    levels = [level for true, level in own if true == truth]
    if not levels:
        return ["0", "", ""]
    shares = [np.mean([level in wanted for level in levels]) for wanted in (FLAGGED, ("bad",))]
    return [str(len(levels)), *(f"{share:.0%}" for share in shares)]


def _preface(count: int) -> str:
    return (
        f"{count} embeddings of rolls, S-curves, peaks, spheres, cubes, helices and blobs, 300 to 1000 samples, on "
        f"seeds that no limit was calibrated on. Good: affine error under {GOOD}; bad: over {BAD}, or wrong by "
        'construction. Flagged: `trust_.level` is "bad" or "doubtful".'
    )
