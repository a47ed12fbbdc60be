"""Y and true angles -> whether a closed ring has kept its circular order."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne._types import BoolArray, FloatArray, IndexArray
from hne._validation import check_positive
from hne.exceptions import InputError
from hne.metrics._chart import centered_alike
from hne.metrics._pairs import check_length, check_some

# Radians within which angles are equal: rounding, and far below the distance of a million samples on a ring.
SAME_ANGLE = 1e-9
# Singular values, and distances from the middle, below this share of the largest are rounding.
FLAT = 1e-10


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
