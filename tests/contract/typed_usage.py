"""What a user with a type checker writes: `make lint` reads this with mypy --strict, and nobody runs it."""

import numpy as np

import hne
from hne import HNE, PUBLISHED, LinearHNE, embed, forecast
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError
from hne.tuning import tune


def fits(X: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[float]:
    """Every parameter that may be "auto", and those that are left to the samples."""
    model = HNE(n_neighbors="auto", n_components="auto", variant="auto", reg="auto").fit(X)
    named = HNE(8, n_components=3, variant="bhne", reg=1e-4, outer_reg=None, coordinates="layout", assess=False)
    left_open = HNE(n_neighbors=None, reg=None, n_jobs=None, random_state=None, checkpoint="run")
    published = HNE(**PUBLISHED)
    for variant in ("ihne", "rhne"):
        named = HNE(variant=variant)
    scores = [hne.metrics.trustworthiness(X, one.fit_transform(X)) for one in (named, left_open, published)]
    linear = LinearHNE(n_neighbors=6).fit(X)
    return [*scores, float(model.embedding_[0, 0]), float(linear.transform(X)[0, 0])]


def records() -> tuple[str, int]:
    """Records and errors with their fields."""
    roll = make_swiss_roll(300, random_state=0)
    try:
        result = embed(roll.X, n_neighbors=6)
    except InputError as error:
        return str(error.parameter), 0
    best = tune(roll.X).best
    return f"{result.trust.level} {best.parameters} {forecast(1000, 3).solver}", result.pieces.count
