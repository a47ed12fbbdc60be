"""Tuning -> its best embeddings as pictures side by side, in lengths of the samples and turned alike."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import FloatArray, IndexArray
from hne.tuning import Trial, Tuning
from hne.viz.report.columns import thinned
from hne.viz.report.encoded import Column, encoded, most_frequent, shortened
from hne.viz.report.facts import spaced
from hne.viz.report.tuning_scores import score_text

MOST_PICTURES, MOST_POINTS = 12, 2_000
WIDTH, HEIGHT, MARGIN = 400, 300, 14
# Colors of numbers and of categories, which tuning.css has by their number.
RAMP, TEN = 17, 10
# Positive numbers over more than this factor are told apart by their logarithms, as reports do.
LOG_FACTOR = 300
MAX_NAME = 60


def pictures(tuning: Tuning, color: Any, color_name: str) -> str:
    """A figure for each of the best trials, the choice first, all turned to it."""
    trials = _shown(tuning)
    places = turned([np.asarray(trial.Y, dtype=np.float64) for trial in trials])
    rows = thinned(len(places[0]), MOST_POINTS, ())
    classes, legend = _by_coordinate(places[0][:, 0]) if color is None else _by_values(color, color_name)
    figures = "".join(_figure(tuning, trial, Y[rows], classes[rows]) for trial, Y in zip(trials, places, strict=True))
    told = [
        "In lengths of the samples, both axes alike, turned and mirrored to match the choice; each fills its frame.",
        *([f"Of {spaced(len(classes))} samples, {spaced(len(rows))} are drawn."] if len(rows) < len(classes) else []),
        *(["The first two of the choice's principal axes are drawn."] if trials[0].Y.shape[1] > 2 else []),  # type: ignore[union-attr]
        *(["There is one coordinate: height means nothing."] if trials[0].Y.shape[1] == 1 else []),  # type: ignore[union-attr]
    ]
    return f'<p>{" ".join(told)}</p>{legend}<div class="shots">{figures}</div>'


def _shown(tuning: Tuning) -> list[Trial]:
    """The choice, the runner-up, and the next best as far as their coordinates are kept; by score after the choice."""
    kept = [trial for trial in tuning.trials if trial.Y is not None and trial is not tuning.best]
    others = sorted(kept, key=lambda trial: trial is not tuning.runner_up)[: MOST_PICTURES - 1]
    return [tuning.best, *(trial for trial in kept if any(trial is one for one in others))]


def turned(embeddings: Sequence[FloatArray]) -> list[FloatArray]:
    """The first one on its principal axes, the others turned to it; centered, no lengths changed."""
    centered = [Y - Y.mean(axis=0) for Y in embeddings]
    _, _, axes = np.linalg.svd(centered[0], full_matrices=False)
    first = centered[0] @ axes.T
    found = [first]
    for Y in centered[1:]:
        left, _, right = np.linalg.svd(Y.T @ first)
        found.append(Y @ (left @ right))
    return found


def _by_coordinate(values: FloatArray) -> tuple[IndexArray, str]:
    name = "Colored by the first coordinate of the choice, from its low to its high end."
    return _steps(values)[0], f'<p class="key-line">{escape(name)} {_bar()}</p>'


def _by_values(values: NDArray[Any], name: str) -> tuple[IndexArray, str]:
    """Number of the color of each sample, and a legend."""
    column = encoded(name, values)
    if column is None:
        return np.zeros(len(values), dtype=np.intp), '<p class="key-line">Too many different texts to color by.</p>'
    label = f'<span>Colored by <bdi class="data">{escape(shortened(column.name, MAX_NAME) or "color")}</bdi>:</span>'
    if column.categories is not None:
        classes, entries = _by_category(column)
        return classes, f'<p class="key-line">{label} {entries}</p>'
    classes, low, high = _steps(column.values.astype(np.float64))
    ends = [_day(end) if column.is_time else f"{end:.4g}" for end in (low, high)]
    return classes, f'<p class="key-line">{label} <span>{ends[0]}</span> {_bar()} <span>{ends[1]}</span></p>'


def _day(days: float) -> str:
    return str(np.datetime64("1970-01-01") + np.timedelta64(round(days), "D"))


def _steps(values: FloatArray) -> tuple[IndexArray, float, float]:
    """Steps of the ramp, the one after the last for what is missing, and the values of its ends."""
    known = values[np.isfinite(values)]
    if not known.size:
        return np.full(len(values), RAMP, dtype=np.intp), 0.0, 0.0
    low, high = (float(end) for end in np.quantile(known, [0.01, 0.99]))
    if low == high or known.max() - known.min() <= 1.5 * (high - low):
        low, high = float(known.min()), float(known.max())
    is_log = low > 0 and high / low > LOG_FACTOR
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.log(np.maximum(values, low)) if is_log else values
    start, end = (np.log(low), np.log(high)) if is_log else (low, high)
    share = np.clip((size - start) / ((end - start) or 1.0), 0, 1)
    steps = np.where(np.isfinite(values), np.rint((RAMP - 1) * np.nan_to_num(share)), RAMP)
    return steps.astype(np.intp), low, high


def _by_category(column: Column) -> tuple[IndexArray, str]:
    """The most frequent categories have colors, the others share one."""
    names = column.categories or ()
    colored = most_frequent(column, TEN)
    numbers = np.full(len(names) + 1, RAMP + 1 + TEN, dtype=np.intp)
    numbers[-1] = RAMP
    numbers[colored] = RAMP + 1 + np.arange(len(colored))
    entries = [(names[code], number) for number, code in enumerate(colored, start=RAMP + 1)]
    entries += [(f"other ({len(names) - len(colored)} more)", RAMP + 1 + TEN)] if len(names) > len(colored) else []
    classes = numbers[column.values.astype(np.intp)]
    entries += [("missing", RAMP)] if (classes == RAMP).any() else []
    return classes, " ".join(
        f'<span class="entry-key"><i class="c{number}"></i><bdi class="data">{escape(shortened(name, MAX_NAME))}</bdi>'
        "</span>"
        for name, number in entries
    )


def _bar() -> str:
    steps = "".join(f'<i class="c{step}"></i>' for step in range(RAMP))
    return f'<span class="ramp" aria-hidden="true">{steps}</span>'


def _figure(tuning: Tuning, trial: Trial, Y: FloatArray, classes: IndexArray) -> str:
    role = "chosen" if trial is tuning.best else "runner-up" if trial is tuning.runner_up else ""
    name = f' <span class="role">{role}</span>' if role else ""
    label = escape(f"Embedding by {trial.label}, score {trial.score:.2g}")
    return (
        f'<figure class="shot {role}"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        f'stroke-width="{_dot(len(Y)):.1f}">{_dots(Y, classes)}</svg>'
        f"<figcaption>{escape(trial.label)}{name}<br><span>score {score_text(trial.score)}</span></figcaption></figure>"
    )


def _dot(n: int) -> float:
    """Diameter of a dot."""
    return float(np.clip(130 / np.sqrt(n), 3, 9))


def _dots(Y: FloatArray, classes: IndexArray) -> str:
    """A path for each color: lines of no length, whose round caps are the dots. Far smaller than circles."""
    x, y = _in_frame(Y)
    paths = []
    for number in np.unique(classes):
        own = np.flatnonzero(classes == number)
        d = "".join(f"M{a} {b}h0" for a, b in zip(x[own].tolist(), y[own].tolist(), strict=True))
        paths.append(f'<path class="c{number}" d="{d}"/>')
    return "".join(paths)


def _in_frame(Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pixels, the same scale on both axes; one coordinate is spread over the height to be seen."""
    across = Y[:, 0]
    # Multiples of the golden ratio fill an interval evenly, whatever their number.
    up = Y[:, 1] if Y.shape[1] > 1 else (np.arange(len(Y)) * 0.618034 % 1 - 0.5) * 0.3 * max(np.ptp(across), 1e-300)
    spans = max(np.ptp(across), 1e-300), max(np.ptp(up), 1e-300)
    scale = min((WIDTH - 2 * MARGIN) / spans[0], (HEIGHT - 2 * MARGIN) / spans[1])
    x = WIDTH / 2 + (across - (across.max() + across.min()) / 2) * scale
    y = HEIGHT / 2 - (up - (up.max() + up.min()) / 2) * scale
    return np.round(x, 1), np.round(y, 1)
