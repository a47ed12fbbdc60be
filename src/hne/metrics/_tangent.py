"""X, Y -> TangentScore: how far an embedding can be believed, without knowing the truth."""

from dataclasses import replace

from numpy.typing import ArrayLike

from hne._distinct import distinct_samples
from hne._threads import thread_count
from hne._units import units_of
from hne._validation import check_settings
from hne._yardstick import TangentScore, frame_neighbors, is_measurable, yardstick
from hne.exceptions import InputError
from hne.metrics._pairs import check_embedded


def tangent_score(X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> TangentScore:
    """Score an embedding by the tangent planes and the ranks that it keeps: 0 loses nothing, lower is better.

    Of each small neighborhood (a sample and its 8 nearest, 12 in three dimensions) the tangent plane is found, and the
    share of it that no affine map of the embedding gives back: collapse, folds and repeated coordinates lose much,
    stretching nothing. Y is then corrected to the lengths of X by one matrix, `correction`. Of the corrected Y comes
    0.3 times what trustworthiness and continuity lack at 10 neighbors, and 0.2 times its `unevenness`: by how much
    it stretches some places more than others, 0 to 1. Any affine map of Y scores the same.

    `hne.tuning.tune` chooses settings by it. Of embeddings of 77 low-dimensional data sets, 95 in 100 with a score
    below 0.02 were right (an affine error below 0.05), 89 from there to 0.05, 48 from 0.075 to 0.1 and 3 above 0.15.
    On images even right ones score 0.04 to 0.1, and lengths do not count: only differences tell. Copies of a sample
    count once; of more than 2 000 samples, the neighborhoods of 2 000 are looked at.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is one, -1 all cores. Results are the same.

    Returns
    -------
    TangentScore
        `score`, its parts `tangent_loss`, `trustworthiness`, `continuity` and `unevenness`, and the `correction` A:
        Y @ A has the lengths of X.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.metrics import tangent_score
    >>> roll = make_swiss_roll(1000)
    >>> unrolled, from_the_end = tangent_score(roll.X, roll.chart), tangent_score(roll.X, roll.X[:, [0, 2]])
    >>> print(f"{unrolled.score:.3f} {from_the_end.score:.3f}")
    0.000 0.672
    """
    samples, embedding = check_embedded(X, Y)
    n_threads = thread_count(check_settings({"n_jobs": n_jobs}).n_jobs)
    units, own = units_of(samples), units_of(embedding)
    first = distinct_samples(samples).first
    d = embedding.shape[1]
    if not is_measurable(len(first), d):
        needed = 2 * (frame_neighbors(d) + 1)
        msg = f"X must have at least {needed} different samples for {d} coordinates, got {len(first)}. Pass more."
        raise InputError(msg)
    rule = yardstick(units.of(samples)[first], d, "euclidean", None, n_threads)
    measured = rule.measure(own.of(embedding)[first])
    return replace(measured, correction=units.undo_length(measured.correction * own.scale))
