"""Samples X, a picture Y of them in two dimensions and the truth -> numbers that say how good the picture is."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors

from hne.core.records import FloatArray
from hne.metrics import procrustes_error, trustworthiness

# "quantity": columns of numbers; "classes": one label a sample.
KINDS = ("quantity", "classes")
N_VOTERS = 5  # neighbors in Y that guess a sample's truth
N_RANKED = 10  # neighbors of trustworthiness
# A picture is cut into 20 x 20 cells, of which the 4 fullest are 1 %.
CELLS_PER_SIDE, N_FULLEST = 20, 4
# Share of the samples that are left out when stability is measured; share and number of draws of the new samples.
LEFT_OUT = 0.03
NEW, NEW_DRAWS = 0.1, 5

Truth = NDArray[np.generic]


def scores(X: FloatArray, Y: FloatArray, truth: Truth, kind: str) -> dict[str, float]:
    """All scores of a picture by name, as plain numbers."""
    if not np.isfinite(Y).all():
        message = f"Y must be finite, got {np.count_nonzero(~np.isfinite(Y).all(axis=1))} rows that are not."
        raise ValueError(message)
    return {
        "truth": truth_recovered(Y, truth, kind),
        "densest_share": densest_share(Y),
        "trustworthiness": float(trustworthiness(X, Y, N_RANKED)),
        "distance_correlation": distance_correlation(X, Y),
        "rms_size": rms_radius(Y) / rms_radius(X),
        "largest_size": largest_radius(Y) / largest_radius(X),
    }


def truth_recovered(Y: FloatArray, truth: Truth, kind: str) -> float:
    """What the nearest samples in Y tell of a sample's truth: R^2, mean over columns, or the share of right classes.

    A sample is never its own neighbor. Quantities are guessed as the mean of the neighbors', classes as the most
    frequent one, of equally frequent ones the first in order.
    """
    voters = NearestNeighbors(n_neighbors=N_VOTERS).fit(Y).kneighbors(return_distance=False)
    return _recovered(voters, truth, truth, kind)


def truth_of_new_samples(model: Any, X: FloatArray, truth: Truth, kind: str) -> dict[str, float]:
    """Compute how much truth of new samples the nearest fitted ones in Y recover, means over `NEW_DRAWS` draws.

    "placed": a tenth of the samples is left out of the fit and placed by `transform`. "fitted": the same samples in an
    embedding of all, from the same voters.
    """
    Y, found = np.asarray(model.fit_transform(X), dtype=float), []
    for seed in range(NEW_DRAWS):
        drawn = np.random.default_rng(seed).permutation(len(X))
        new, old = np.sort(drawn[: max(1, round(NEW * len(X)))]), np.sort(drawn[max(1, round(NEW * len(X))) :])
        fitted = np.asarray(model.fit_transform(X[old]), dtype=float)
        found.append(
            [
                _recovered(
                    NearestNeighbors(n_neighbors=N_VOTERS).fit(voting).kneighbors(points, return_distance=False),
                    truth[old],
                    truth[new],
                    kind,
                )
                for voting, points in ((fitted, model.transform(X[new])), (Y[old], Y[new]))
            ]
        )
    return dict(zip(("placed", "fitted"), np.mean(found, axis=0).tolist(), strict=True))


def _recovered(voters: NDArray[np.intp], known: Truth, truth: Truth, kind: str) -> float:
    """Compute the accuracy or R^2 of guesses of `truth` from that of the voters."""
    if kind == "classes":
        names, labels = np.unique(known, return_inverse=True)
        votes = np.eye(len(names))[labels][voters].sum(axis=1)
        return float(np.mean(names[votes.argmax(axis=1)] == truth))
    columns, guesses = (np.asarray(one, dtype=float).reshape(len(one), -1) for one in (truth, known))
    unexplained = ((columns - guesses[voters].mean(axis=1)) ** 2).sum(axis=0)
    return float(np.mean(1 - unexplained / ((columns - columns.mean(axis=0)) ** 2).sum(axis=0)))


def densest_share(Y: FloatArray) -> float:
    """Share of the samples that are in the fullest hundredth of the picture; above .5 it is mostly empty."""
    counts, _, _ = np.histogram2d(Y[:, 0], Y[:, 1], bins=CELLS_PER_SIDE)
    return float(np.sort(counts, axis=None)[-N_FULLEST:].sum() / len(Y))


def rms_radius(points: FloatArray) -> float:
    """Root of the mean squared distance from the center."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))


def largest_radius(points: FloatArray) -> float:
    """Distance of the farthest point from the center."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).max()))


def distance_correlation(X: FloatArray, Y: FloatArray) -> float:
    """Compute the rank correlation between all pairwise distances in X and in Y."""
    return float(spearmanr(pdist(X), pdist(Y)).statistic)


def movements(embed: Callable[[FloatArray], Any], X: FloatArray, Y: FloatArray, n_draws: int) -> Iterator[float]:
    """Yield the Procrustes error between Y and an embedding of the samples without a random 3 % of them, per draw."""
    for seed in range(n_draws):
        draw = np.random.default_rng(seed)
        kept = np.sort(draw.choice(len(X), len(X) - max(1, round(LEFT_OUT * len(X))), replace=False))
        yield float(procrustes_error(Y[kept], np.asarray(embed(X[kept]), dtype=float)))
