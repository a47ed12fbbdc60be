"""Tuning -> one HTML file: the choice, the best embeddings side by side, and the scores of all settings."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from hne.core.records import FloatArray, IndexArray
from hne.exceptions import refuse
from hne.settings import VARIANTS
from hne.tuning import Trial, Tuning
from hne.tuning.trials import MEASURED
from hne.viz.report.details import draw_rows, encode_column, shorten
from hne.viz.report.page import parameters, render_page, versions, write_page
from hne.viz.report.pictures import RAMP, Coloring, Picture, color_by, draw_dots, ramp_steps
from hne.viz.report.scripts import STATIC

MOST_PICTURES, MOST_POINTS = 12, 2_000
WIDTH, HEIGHT, MARGIN = 400, 300, 14
# Steps of color from the best score to the worst, which are at least this factor apart.
LEVELS, LEAST_SPAN = 9, 8.0
# Smaller scores are told apart no more.
SMALLEST = 1e-5
MAX_NAME = 60


def write_tuning_report(
    tuning: Tuning,
    path: str | os.PathLike[str],
    *,
    title: str = "Settings chosen by hne",
    color: Any = None,
    color_name: str = "",
    source: str = "",
    command: str = "",
    data_notes: Sequence[str] = (),
) -> None:
    """Write a page about a search for settings: the choice, the best embeddings, and all scores.

    A file at `path` is replaced, by the whole page or not at all.

    Parameters
    ----------
    tuning : Tuning
        What `hne.tuning.tune` found.
    path : str or path-like
        The HTML file; ``~`` is the home folder.
    title : str, default="Settings chosen by hne"
        The headline.
    color : array-like of shape (n_samples,) or None, default=None
        What to color samples by: numbers or names. None takes the first coordinate of the choice.
    color_name : str, default=""
        What the color is called.
    source : str, default=""
        What was read, in a line.
    command : str, default=""
        The command that embeds it with the choice; empty leaves it out.
    data_notes : sequence of str, default=()
        What is worth knowing about the data.

    See Also
    --------
    hne.tuning.tune : Makes the search.
    hne.viz.write_report : A page about one embedding.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.tuning import tune
    >>> from hne.viz import write_tuning_report
    >>> found = tune(make_swiss_roll(100).X, grid={"n_neighbors": [5, 6]}, reg=1e-3)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "settings.html"
    >>> write_tuning_report(found, page)
    >>> page.exists()
    True
    """
    if color is not None and np.shape(color) != (tuning.n_samples,):
        rule = f"must have one value for each of {tuning.n_samples} samples"
        refuse("color", rule, str(np.shape(color)), "Pass as many")
    # The choice, the runner-up, and the next best as far as their coordinates are kept; by score after the choice.
    kept = [trial for trial in tuning.trials if trial.Y is not None and trial is not tuning.best]
    others = sorted(kept, key=lambda trial: trial is not tuning.runner_up)[: MOST_PICTURES - 1]
    trials = [tuning.best, *(trial for trial in kept if any(trial is one for one in others))]
    places = align_embeddings([np.asarray(trial.Y, dtype=np.float64) for trial in trials])
    rows = draw_rows(len(places[0]), MOST_POINTS)
    if color is None:
        coloring: Coloring | None = Coloring(ramp_steps(places[0][:, 0])[0])
    else:
        values = np.asarray(color)
        column = encode_column("color", values if tuning.rows is None else values[tuning.rows])
        coloring = None if column is None else color_by(column)  # too many different texts
    codes = np.zeros(len(rows), dtype=np.intp) if coloring is None else coloring.codes[rows]
    low, high = score_range(tuning)
    code = ", ".join(f"{name}={value!r}" for name, value in tuning.parameters.items())
    page = render_page(
        "tuning.html",
        f"{STATIC}/tuning.js",
        [f"{STATIC}/tuning.css"],
        tuning=tuning,
        title=title,
        source=source,
        commands=[*([("In a shell", command)] if command else []), ("In Python", f"HNE({code})")],
        data_notes=data_notes,
        outcomes=Counter(trial.outcome for trial in tuning.trials),
        shots=[(trial, _picture(Y[rows], codes)) for trial, Y in zip(trials, places, strict=True)],
        n_drawn=len(rows),
        coloring=coloring,
        color_name=None if color is None else shorten(color_name, MAX_NAME) or "color",
        ramp=range(RAMP),
        levels=range(LEVELS),
        low=score_text(low),
        high=score_text(high),
        n_neighbors=sorted({trial.n_neighbors for trial in tuning.trials}),
        maps=_heat_maps(tuning),
        level=partial(level, low=low, high=high),
        parameters=parameters(tuning.settings, tuning.n_samples),
        versions=versions(),
        score_text=score_text,
    )
    write_page(path, page)


def align_embeddings(embeddings: Sequence[FloatArray]) -> list[FloatArray]:
    """The first one on its principal axes, the others turned to it; centered, no lengths changed."""
    first = embeddings[0] - embeddings[0].mean(axis=0)
    _, _, axes = np.linalg.svd(first, full_matrices=False)
    aligned = first @ axes.T
    return [aligned, *(turned_to(Y, aligned) for Y in embeddings[1:])]


def turned_to(Y: FloatArray, other: FloatArray) -> FloatArray:
    """The embedding, turned, mirrored and moved so that samples are least far from where another has them.

    Lengths are not changed. Samples without a place in either have no say.
    """
    is_in_both = np.isfinite(Y).all(axis=1) & np.isfinite(other).all(axis=1)
    if not is_in_both.any():
        return Y
    here, there = Y[is_in_both].mean(axis=0), other[is_in_both].mean(axis=0)
    left, _, right = np.linalg.svd((Y[is_in_both] - here).T @ (other[is_in_both] - there))
    return (Y - here) @ (left @ right) + there


def score_range(tuning: Tuning) -> tuple[float, float]:
    """Scores at which the colors of a map begin and end."""
    scores = [trial.score for trial in tuning.trials if trial.outcome == MEASURED]
    low = max(min(scores), SMALLEST)
    return low, max(*scores, LEAST_SPAN * low)


def _picture(Y: FloatArray, codes: IndexArray) -> Picture:
    if Y.shape[1] == 1:
        # Spread over the height to be seen: multiples of the golden ratio fill an interval evenly, as many as they are.
        Y = np.column_stack([Y, (np.arange(len(Y)) * 0.618034 % 1 - 0.5) * 0.3 * np.ptp(Y)])
    return draw_dots(Y[:, :2], codes, WIDTH, (HEIGHT, HEIGHT), MARGIN, float(np.clip(130 / np.sqrt(len(Y)), 3, 9)))


def score_text(score: float) -> str:
    """A score with two digits; empty where there is none.

    >>> score_text(0.00214), score_text(0.1), score_text(3e-9)
    ('0.0021', '0.10', '3.0e-09')
    """
    if not math.isfinite(score):
        return ""
    if 0 < score < SMALLEST:
        return f"{score:.1e}"
    return f"{score:.{max(2, 1 - math.floor(math.log10(score)))}f}" if score > 0 else "0"


def _heat_maps(tuning: Tuning) -> list[tuple[str, list[tuple[float, list[Trial | None]]]]]:
    """Of each variant the rows of a table: reg, and a trial for each k, None where that was not tried."""
    ks = sorted({trial.n_neighbors for trial in tuning.trials})
    regs = sorted({trial.reg for trial in tuning.trials}, reverse=True)
    trials = {(trial.variant, trial.reg, trial.n_neighbors): trial for trial in tuning.trials}
    tried = {trial.variant for trial in tuning.trials}
    return [
        (variant, [(reg, [trials.get((variant, reg, k)) for k in ks]) for reg in regs])
        for variant in VARIANTS
        if variant in tried
    ]


def level(score: float, low: float, high: float) -> int:
    """The step of a score on a logarithmic scale, 0 the best.

    >>> level(0.001, 0.001, 0.1), level(0.01, 0.001, 0.1), level(0.5, 0.001, 0.1)
    (0, 4, 8)
    """
    share = math.log(max(score, low) / low) / math.log(high / low)
    return min(LEVELS - 1, int(share * (LEVELS - 1) + 0.5))
