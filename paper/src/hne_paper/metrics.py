"""Y and labels or angles -> whether groups stay apart and keep size and shape, whether a ring keeps its order."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from hne.core.neighbors.exact import nearest
from hne.core.parameters import check_integer, check_positive
from hne.core.records import BoolArray, FloatArray, IndexArray
from hne.core.samples.canonical import InputScaling
from hne.exceptions import InputError, InputTypeError
from hne.metrics.errors import centered_alike, check_length, check_rows, check_some, unexplained

__all__ = ["group_affine_errors", "label_overlap", "label_spread", "ring_order_error"]

# Distances of a block of samples to all others, in memory at once.
BLOCK_BYTES = 2**25
# Radians within which angles are equal: rounding, and far below the distance of a million samples on a ring.
SAME_ANGLE = 1e-9
# Singular values, and distances from the middle, below this share of the largest are rounding.
FLAT = 1e-10


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
    numbers, groups = _check_labels(labels, embedding, "Y")
    k = check_integer("n_neighbors", n_neighbors, 1, "Try n_neighbors=5")
    if len(groups) < 2:
        msg = f"labels must name at least two groups to overlap, got {len(groups)}. Pass labels of several groups."
        raise InputError(msg)
    counted = numbers >= 0
    points, own = InputScaling.fit(embedding).transform(embedding[counted]), numbers[counted]
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
    numbers, groups = _check_labels(labels, embedding, "Y")
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
    numbers, groups = _check_labels(labels, embedding, "Y")
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


def ring_order_error(Y: ArrayLike, angles: ArrayLike, *, period: float = 2 * np.pi) -> float:
    """Share of true neighbors along a closed ring that are no neighbors along the embedded ring.

    Samples are ordered by their angle around the middle of the first two columns of Y, once these have equal
    variance and no correlation. 0 says that the circular order is right, up to rotation and reflection; a
    random order has 1 - 2 / (n_samples - 1). A small error can be a few samples out of place or one large fault: a
    ring twisted into an eight breaks two pairs. How evenly the samples lie, and whether the ring closes, does not
    matter; a ring that does not wind around its own middle is not seen as one.

    Samples whose angle in the embedding is not theirs alone, because they fell onto one point, ray or middle,
    have no place in the order: their pairs are counted as lost, and an embedding on a line has 1.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding, of two columns at least.
    angles : array-like of shape (n_samples,) or (n_samples, 1)
        True angles, all different and within one turn.
    period : float, default=2 pi
        A full turn: 2 pi of radians, 360 of degrees, or the length of a closed curve whose arc length is given.

    Returns
    -------
    float
        The share, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> angles = np.array([0.0, 0.5, 1.0, 1.5]) * np.pi
    >>> ring_order_error(square, angles), ring_order_error(square[[0, 2, 1, 3]], angles)
    (0.0, 0.5)
    """
    embedding = check_some(Y, "Y")
    truth = _check_angles(angles, embedding, check_positive("period", period, "Pass 360 for degrees"))
    if embedding.shape[1] < 2:
        msg = f"Y must have at least two columns to hold a ring, got {embedding.shape[1]}. Embed in two dimensions."
        raise InputError(msg)
    n = len(embedding)
    if n < 4:
        msg = f"Y must have at least 4 samples, because fewer are in order always, got {n}. Pass more samples."
        raise InputError(msg)
    around, is_own = _places(embedding[:, :2])
    position = np.empty(n, dtype=np.intp)
    position[around] = np.arange(n)
    true_order = np.argsort(truth, kind="stable")
    one, other = true_order, np.roll(true_order, -1)
    steps = (position[other] - position[one]) % n
    kept = ((steps == 1) | (steps == n - 1)) & is_own[one] & is_own[other]
    return float(1 - kept.mean())


def _places(points: FloatArray) -> tuple[IndexArray, BoolArray]:
    """Samples in the order of their angles, and of each sample whether it has an angle of its own."""
    left, widths, _ = np.linalg.svd(centered_alike(points), full_matrices=False)
    if widths[1] <= FLAT * widths[0]:
        return np.arange(len(points)), np.zeros(len(points), dtype=bool)
    # Columns of equal length, as the left singular vectors have them, turn an ellipse into a circle.
    found = np.arctan2(left[:, 1], left[:, 0])
    order = np.argsort(found, kind="stable")
    gaps = np.diff(found[order], append=found[order[0]] + 2 * np.pi)
    is_own = np.empty(len(points), dtype=bool)
    is_own[order] = (gaps > SAME_ANGLE) & (np.roll(gaps, 1) > SAME_ANGLE)
    radii: FloatArray = np.hypot(left[:, 0], left[:, 1])
    return order, is_own & (radii > FLAT * radii.max())


def _check_labels(labels: ArrayLike, samples: FloatArray, samples_name: str) -> tuple[IndexArray, IndexArray]:
    """Return the labels, one a sample, and those of the groups in ascending order; -1 belongs to none."""
    try:
        given: Any = np.asarray(labels)
    except ValueError:
        given = np.empty((0, 0))
    if given.ndim != 1:
        msg = f"labels must be one number for each sample, got shape {given.shape}. Pass labels.ravel()."
        raise InputError(msg)
    check_length(len(given), "labels", samples, samples_name)
    if given.dtype.kind not in "iu":
        msg = (
            f"labels must be integers, got values of {given.dtype}. Pass np.unique(labels, return_inverse=True)[1], "
            "with -1 for samples that belong to no group."
        )
        raise InputTypeError(msg)
    if given.min() < -1:
        msg = f"labels must be 0 and more, or -1 for samples of no group, got {given.min()}. Number the groups from 0."
        raise InputError(msg)
    groups = np.unique(given[given >= 0])
    if not len(groups):
        msg = "labels must name a group, got -1 for every sample. Number the groups from 0."
        raise InputError(msg)
    return given, groups


def _check_angles(angles: ArrayLike, samples: FloatArray, period: float) -> FloatArray:
    """Return the angles in radians, finite, within one turn and all different."""
    try:
        given: NDArray[np.float64] = np.asarray(angles, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"angles must be one number for each sample, got {type(angles).__name__} of something else. Pass numbers."
        raise InputError(msg) from error
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        msg = f"angles must be one number for each sample, got shape {given.shape}. Pass one column."
        raise InputError(msg)
    check_length(len(given), "angles", samples, "Y")
    if not np.isfinite(given).all():
        row = int(np.argmin(np.isfinite(given)))
        msg = f"angles must be finite, got {given[row]} in row {row}. Drop such samples."
        raise InputError(msg)
    if len(given) and np.ptp(given) > period * (1 + 1e-9):
        msg = f"angles must lie within one turn of period={period:.4g}, got a range of {np.ptp(given):.4g}. "
        raise InputError(msg + "Pass period=360 for degrees, or angles modulo the period.")
    turned = (given / period * 2 * np.pi) % (2 * np.pi)
    order = np.argsort(turned, kind="stable")
    gaps = np.diff(turned[order], append=turned[order[0]] + 2 * np.pi)
    if len(given) > 1 and gaps.min() <= SAME_ANGLE:
        at = int(np.argmin(gaps))
        one, other = sorted((int(order[at]), int(order[(at + 1) % len(order)])))
        msg = f"angles must differ modulo the period, got the same for samples {one} and {other}. "
        raise InputError(msg + "Pass one sample an angle.")
    return turned
