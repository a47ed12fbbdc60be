"""Y and labels -> whether groups stay apart, keep their size, and their shape inside."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from hne._neighbors import nearest
from hne._types import FloatArray, IndexArray
from hne._units import units_of
from hne._validation import check_integer
from hne.exceptions import InputError
from hne.metrics._chart import centered_alike, unexplained
from hne.metrics._pairs import check_labels, check_rows, check_some

# Distances of a block of samples to all others, in memory at once.
BLOCK_BYTES = 2**25


def label_overlap(Y: ArrayLike, labels: ArrayLike, n_neighbors: int = 5) -> float:
    """Mean share of a sample's nearest labelled samples that carry another label.

    0 says that groups lie apart; groups of one size that are mixed well have 1 - 1 / groups, and so have
    groups that fell onto one point. Of samples that are equally far, each counts with the share that a random
    choice would give it, so that no order of the samples is lucky.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    labels : array-like of shape (n_samples,)
        Number of each sample's group, from 0; -1 for samples that are not counted, neither as samples nor as
        neighbors.
    n_neighbors : int, default=5
        Neighbors a sample. Larger ones look farther, and see groups that are near each other without
        touching; more than the smallest group has make some overlap unavoidable.

    Returns
    -------
    float
        The share, between 0 and 1.

    Examples
    --------
    >>> label_overlap([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, 1], n_neighbors=2)
    0.0
    >>> label_overlap([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 1, 0, 1, 0, 1], n_neighbors=1)
    1.0
    """
    embedding = check_some(Y, "Y")
    numbers, groups = check_labels(labels, embedding, "Y")
    k = check_integer("n_neighbors", n_neighbors, 1, "Try n_neighbors=5")
    if len(groups) < 2:
        msg = f"labels must name at least two groups to overlap, got {len(groups)}. Pass labels of several groups."
        raise InputError(msg)
    counted = numbers >= 0
    points, own = units_of(embedding).of(embedding[counted]), numbers[counted]
    n = len(points)
    if n <= k:
        msg = (
            f"n_neighbors={k} needs at least {k + 1} labelled samples, got {n}. "
            "Lower n_neighbors or label more samples."
        )
        raise InputError(msg)
    # One neighbor more shows which samples have a tie for the last place.
    indices, distances, _ = nearest(points, points, min(k + 1, n - 1), np.arange(n))
    shares: FloatArray = (own[indices[:, :k]] != own[:, None]).mean(axis=1)
    tied = np.flatnonzero(distances[:, -1] == distances[:, k - 1]) if n > k + 1 else np.empty(0, dtype=np.intp)
    step = max(1, BLOCK_BYTES // (8 * n))
    for start in range(0, len(tied), step):
        rows = tied[start : start + step]
        shares[rows] = _expected_shares(points, own, rows, k)
    return float(shares.mean())


def _expected_shares(points: FloatArray, own: IndexArray, rows: IndexArray, k: int) -> FloatArray:
    """Share of other labels among the k nearest, of equally far ones the mean over all ways to choose."""
    distances = cdist(points[rows], points, "sqeuclidean")
    distances[np.arange(len(rows)), rows] = np.inf
    limit = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    differs = own != own[rows, None]
    nearer, tied = distances < limit, distances == limit
    open_places = k - nearer.sum(axis=1)
    mean_differs = (differs & tied).sum(axis=1) / tied.sum(axis=1)
    shares: FloatArray = ((differs & nearer).sum(axis=1) + open_places * mean_differs) / k
    return shares


def label_spread(Y: ArrayLike, labels: ArrayLike) -> FloatArray:
    """Size of each group beside the whole: rms distance from its center, as a share of that of all labelled samples.

    Near 0 says that the group has collapsed to a point (a group of one sample always has, and all groups have
    where the whole embedding has); near 1 that it is as wide as everything together. Groups that lie apart
    are well below 1.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    labels : array-like of shape (n_samples,)
        Number of each sample's group, from 0; -1 for samples that are not counted.

    Returns
    -------
    ndarray of shape (n_groups,)
        One number a group, in ascending order of the labels.

    Examples
    --------
    >>> label_spread([[-3.0], [-3.0], [0.0], [6.0]], [0, 0, 1, 1]).round(3)
    array([0.   , 0.816])
    """
    embedding = check_some(Y, "Y")
    numbers, groups = check_labels(labels, embedding, "Y")
    points, own = centered_alike(embedding[numbers >= 0]), numbers[numbers >= 0]
    whole = _rms_distance(points)
    sizes = np.array([_rms_distance(points[own == group]) for group in groups])
    return sizes / whole if whole > 0 else sizes


def _rms_distance(points: FloatArray) -> float:
    """Root of the mean squared distance from the center; exactly 0 where all points are equal."""
    if (points == points[0]).all():
        return 0.0
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))


def group_affine_errors(Y: ArrayLike, chart: ArrayLike, labels: ArrayLike) -> FloatArray:
    """Mean of `affine_errors` within each group: whether groups keep their shape, wherever they lie.

    0 says that the group is an affine image of its true self, 1 that nothing of it is left.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    chart : array-like of shape (n_samples, n_coordinates)
        True coordinates of the samples, each group in its own system if need be.
    labels : array-like of shape (n_samples,)
        Number of each sample's group, from 0; -1 for samples that are not counted.

    Returns
    -------
    ndarray of shape (n_groups,)
        One error a group, in ascending order of the labels.

    Examples
    --------
    >>> chart = [[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]]
    >>> group_affine_errors([[5.0], [7.0], [9.0], [1.0], [2.0], [1.0]], chart, [0, 0, 0, 1, 1, 1]).round(9)
    array([0., 1.])
    """
    embedding, truth = check_rows(Y, "Y", chart, "chart")
    numbers, groups = check_labels(labels, embedding, "Y")
    errors, d = np.empty(len(groups)), embedding.shape[1]
    for position, group in enumerate(groups):
        inside, wanted = embedding[numbers == group], truth[numbers == group]
        if len(inside) <= d + 1:
            msg = (
                f"labels must give every group at least {d + 2} samples, because fewer are an affine image of anything "
                f"in {d} column(s), got {len(inside)} in group {group}. Label them -1, or join groups."
            )
            raise InputError(msg)
        constant = (wanted == wanted[0]).all(axis=0)
        if constant.any():
            column = int(np.argmax(constant))
            msg = (
                f"chart must vary in every column of every group, got a constant column {column} in group {group}. "
                "Drop it, or label that group -1."
            )
            raise InputError(msg)
        errors[position] = unexplained(inside, wanted).mean()
    return errors
