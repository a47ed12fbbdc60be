"""Verdicts: whether bad embeddings are told from good ones, on samples that no limit was calibrated on."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hne import PUBLISHED, embed
from hne.core.records import FloatArray
from hne.datasets import make_cube, make_s_curve, make_severed_sphere, make_swiss_hole, make_swiss_roll, make_twin_peaks
from hne.exceptions import HNEWarning
from hne.metrics import affine_errors
from surfaces import band, noisy_roll
from tables import table

TITLE = "Verdicts"
# Seeds of the calibration are below 1000.
FIRST_SEED = 96_000
SEEDS = range(FIRST_SEED, FIRST_SEED + 10)
GOOD, BAD, VERY_BAD = 0.05, 0.15, 0.3
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
        yield from _by_default(seed)
        yield from _of_settings(seed)
        yield from _as_published(seed)
        yield from _wrong_anyhow(seed)


def _by_default(seed: int) -> Iterator[Case]:
    """`HNE()` on what is easy, hard, and impossible."""
    rolls = [(150, 0.0), (200, 0.0), (300, 0.0), (600, 0.0), (300, 0.6), (600, 0.3), (600, 0.6), (500, 0.8), (800, 1.0)]
    made = [make_swiss_roll(n, noise=noise, random_state=seed) for n, noise in rolls]
    made += [make_swiss_roll(200, even=True, random_state=seed), make_swiss_hole(300, random_state=seed)]
    made += [make_s_curve(60, random_state=seed), make_s_curve(100, random_state=seed)]
    made += [make_twin_peaks(600, random_state=seed), make_severed_sphere(600, random_state=seed)]
    made += [make_severed_sphere(1500, random_state=seed), make_cube(600, random_state=seed)]
    for data in made:
        yield Case("`HNE()`", data.X, data.chart, {"n_components": data.chart.shape[1]})
    for n in (300, 900):
        X, chart = band(n, seed)
        yield Case("`HNE()`", X, chart)
    for n, noise, columns in ((1000, 0.2, 0), (2000, 0.4, 0), (2000, 0.6, 0), (1000, 0.0, 47)):
        X, chart = noisy_roll(n, noise, columns, seed)
        yield Case("`HNE()`", X, chart)


def _of_settings(seed: int) -> Iterator[Case]:
    """Charts with other settings."""
    surfaces = [
        make_swiss_roll(400, random_state=seed),
        make_swiss_roll(700, noise=0.4, random_state=seed),
        make_swiss_hole(400, random_state=seed),
        make_s_curve(200, random_state=seed),
        make_twin_peaks(700, random_state=seed),
    ]
    for data in surfaces:
        for settings in (
            {"n_neighbors": 6, "variant": "bhne"},
            {"n_neighbors": 8, "reg": 1e-2},
            {"short_circuits": "keep"},
        ):
            yield Case("charts with other settings", data.X, data.chart, settings)


def _as_published(seed: int) -> Iterator[Case]:
    """The published method, noise that makes bananas of rolls included."""
    surfaces = [
        make_swiss_roll(600, random_state=seed),
        make_swiss_roll(1000, random_state=seed),
        make_swiss_hole(700, random_state=seed),
        make_s_curve(500, random_state=seed),
        make_twin_peaks(700, random_state=seed),
    ]
    for data in surfaces:
        yield Case("published", data.X, data.chart, dict(PUBLISHED))
        yield Case("published, k = 8", data.X, data.chart, {**PUBLISHED, "n_neighbors": 8})
    for n, noise, columns in ((1000, 0.1, 0), (2000, 0.3, 0), (3000, 0.6, 0), (1000, 0.0, 47)):
        X, chart = noisy_roll(n, noise, columns, seed)
        yield Case("published", X, chart, dict(PUBLISHED))


def _wrong_anyhow(seed: int) -> Iterator[Case]:
    """Dimensions that samples do not have, and pieces, of which nobody knows how they lie."""
    roll = make_swiss_roll(700, random_state=seed)
    yield Case("wrong n_components", roll.X, roll.chart, {"n_components": 1, "coordinates": "chart"}, "bad")
    yield Case("wrong n_components", roll.X, roll.chart, {"n_components": 3}, "bad")
    one, other = (make_swiss_roll(n, even=True, random_state=seed + n) for n in (500, 300))
    X = np.vstack([one.X, other.X + np.array([60.0, 0.0, 0.0])])
    yield Case("in pieces", X, np.vstack([one.chart, other.chart]), {}, "bad")


def judged(case: Case) -> tuple[str, float, str]:
    """Kind, error (infinite where it is wrong by construction) and the level of the verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HNEWarning)
        result = embed(case.X, **case.parameters)
    error = np.inf if case.truth else float(affine_errors(result.Y, case.chart).mean())
    return case.kind, error, result.trust.level


def measure() -> str:
    """The section as Markdown."""
    found = [judged(case) for case in cases()]
    rows = []
    for kind in (*dict.fromkeys(kind for kind, _, _ in found), "all"):
        own = [(error, level) for name, error, level in found if kind in (name, "all")]
        rows.append([kind, *_counted(own)])
    header = ["embeddings", "right", "flagged", "wrong", "flagged", "very wrong", "called good"]
    return f"## {TITLE}\n\n{_preface(len(found))}\n\n{table(header, rows)}"


def _counted(own: list[tuple[float, str]]) -> list[str]:
    """How many are right, wrong and very wrong, and how they are judged."""
    right = [level for error, level in own if error < GOOD]
    wrong = [level for error, level in own if error > BAD]
    very = [level for error, level in own if error > VERY_BAD]
    flagged = [_share(levels, FLAGGED) for levels in (right, wrong)]
    return [f"{len(right)}", flagged[0], f"{len(wrong)}", flagged[1], f"{len(very)}", f"{very.count('good')}"]


def _share(levels: list[str], wanted: tuple[str, ...]) -> str:
    return f"{np.mean([level in wanted for level in levels]):.0%}" if levels else ""


def _preface(count: int) -> str:
    return (
        f"{count} embeddings of surfaces, 60 to 3000 samples, on seeds that no limit was calibrated on. Right: mean "
        f"affine error under {GOOD}; wrong: over {BAD}, or by construction; very wrong: over {VERY_BAD}. Flagged: "
        '`trust_.level` is "bad" or "doubtful".'
    )
