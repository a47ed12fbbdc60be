"""Embedded pieces -> Y: side by side, none overlapping, columns orthonormal and centered.

Lengths are in cells: a piece of m samples has standard deviation m**(1/d) along each of its axes, so that its volume
is proportional to its samples, and a single sample counts as one cell. Small pieces are drawn by their principal
coordinates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, IndexArray, Pieces, fix_signs
from hne.core.samples.kinds import Distances, Samples, as_dense
from hne.exceptions import refuse

# Pieces from which the distance tells where another piece is: enough to span any plane it is drawn in.
LANDMARKS = 32
# Centers up to which a matrix of all their distances is decomposed.
MAX_CENTERS = 1000
# Features up to which their covariance costs less than the iteration, and what that takes: columns beyond those that
# are wanted, and steps, as scikit-learn's randomized PCA does.
MAX_COVARIANCE, OVERSAMPLED, POWERS = 200, 10, 7
BLOCK_BYTES = 2**25
# Share of the largest eigenvalue of landmarks below which an eigenvalue is rounding.
NO_AXIS = 1e-9


def principal_coordinates(X: Samples, rows: IndexArray, count: int) -> FloatArray:
    """The first `count` principal coordinates of some of the samples, zero behind the last there are."""
    if isinstance(X, Distances):
        squares = X.at(rows[:, None], rows[None, :]) ** 2
        # A distance that nobody knows tells nothing: such samples are points.
        squares = np.zeros_like(squares) if np.isnan(squares).any() else squares
        return _leading(_scaled(squares), count)
    return _leading(as_dense(X[rows]), count)


def leading_coordinates(X: FloatArray, count: int) -> FloatArray:
    """The first `count` principal coordinates of many dense samples, what PCA draws; in time of n, not of its square.

    Up to some hundred features from the covariance, exactly; of more, by a subspace iteration from a random start
    (Halko, Martinsson and Tropp 2011), whose coordinates lose next to nothing of the variance.
    """
    centered = X - X.mean(axis=0)
    n_features = X.shape[1]
    if n_features <= MAX_COVARIANCE:
        axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :count]
    else:
        axes = np.random.RandomState(0).standard_normal((n_features, count + OVERSAMPLED))
        for _ in range(POWERS):
            axes, _ = np.linalg.qr(centered.T @ (centered @ axes))
    return _leading(centered @ axes, count)


def scale_by_landmarks(distances: FloatArray, landmarks: IndexArray, count: int) -> FloatArray:
    """Compute coordinates (n, count) whose distances to the landmarks are nearest to the given ones (l, n).

    Landmark MDS (de Silva and Tenenbaum 2004).
    """
    between = distances[:, landmarks] ** 2
    means = between.mean(axis=0)
    centered = between - means - means[:, None] + means.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    # Landmarks on a line have no second axis but rounding.
    is_axis = values > NO_AXIS * values[0]
    axes = vectors * np.where(is_axis, 1 / np.sqrt(np.where(is_axis, values, 1.0)), 0.0)
    Y = (means[:, None] - distances**2).T @ axes / 2
    return np.pad(Y - Y.mean(axis=0), ((0, 0), (0, count - Y.shape[1])))


def piece_centers(X: Samples, pieces: Pieces, count: int) -> FloatArray:
    """Where the pieces are: principal coordinates (pieces, count) of the means of their samples.

    Where few distances are known, or pieces are very many, those of the distances to the first samples of some of the
    largest pieces.
    """
    n = X.shape[0]
    share = csr_array((1.0 / pieces.sizes[pieces.labels], (pieces.labels, np.arange(n))), shape=(pieces.count, n))
    if isinstance(X, Distances):
        if X.is_complete and pieces.count <= MAX_CENTERS:
            # |a - b|^2 = mean d_ab^2 - (mean d_aa^2 + mean d_bb^2) / 2
            between, step = np.zeros((pieces.count, pieces.count)), max(1, BLOCK_BYTES // (8 * n))
            for start in range(0, n, step):
                rows = slice(start, start + step)
                between += share[:, rows] @ (share @ (X.matrix[rows] ** 2).T).T
            within = np.diagonal(between)
            return _with_width(_scaled(between - (within[:, None] + within[None, :]) / 2), count)
        _, first = np.unique(pieces.labels, return_index=True)
        away = X.at(first[:, None], first[None, :LANDMARKS])
        return _leading(np.zeros_like(away) if np.isnan(away).any() else away, count)
    means = share @ X
    if issparse(means):
        from sklearn.utils.extmath import randomized_svd  # noqa: PLC0415, a second to load

        left, lengths, _ = randomized_svd(means, min(count + 1, *means.shape), random_state=0)
        means = left * lengths
    return _leading(means, count)


def _scaled(squares: FloatArray) -> FloatArray:
    """Principal coordinates from squared distances."""
    halfway = squares - squares.mean(axis=0)
    values, vectors = np.linalg.eigh(-(halfway - halfway.mean(axis=1, keepdims=True)) / 2)
    return vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))


def _leading(points: FloatArray, count: int) -> FloatArray:
    """The first principal coordinates, at most one less than there are points: centered, orthogonal columns."""
    centered = points - points.mean(axis=0)
    # Again, for points far from the origin: a rest of the mean would look like one dimension more.
    centered -= centered.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    return _with_width((left * lengths)[:, : len(points) - 1], count)


def _with_width(coordinates: FloatArray, count: int) -> FloatArray:
    """The first `count` columns with fixed signs, zeros behind the last there are."""
    leading = fix_signs(coordinates[:, :count]) if coordinates.size else coordinates[:, :count]
    return np.hstack([leading, np.zeros((len(leading), count - leading.shape[1]))])


# Empty space around a piece, in cells and as a share of its longest side.
MARGIN_CELLS = 2.0
MARGIN_SHARE = 0.1
# Boxes are stacked the way their centers lie unless that makes the longest side this much longer than it could be.
# Three equal cubes may stand in a row (3 to 2); more pieces are kept near a cube, for detours add up.
LONGER_FEW, LONGER_MANY = 1.6, 1.05
# Columns of a part that spread less than this share of its largest entry are rounding.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class _Box:
    """Pieces laid out together; lengths from their common center of mass."""

    members: IndexArray  # (c,), which pieces
    offsets: FloatArray  # (c, d), centers of mass of the pieces
    below: FloatArray  # (d,), how far the box reaches down along each axis
    above: FloatArray  # (d,)
    mass: int  # number of samples


def arrange_pieces(parts: Sequence[FloatArray], centers: FloatArray) -> FloatArray:
    """Arrange embedded pieces side by side: larger ones larger, near ones near, none overlapping.

    Pieces are boxes, parallel to the axes. The set of pieces is halved again and again where their centers spread the
    widest, and the boxes of two halves are stacked along one axis. On all other axes their centers of mass are
    aligned, which keeps the columns of the whole orthogonal: only scaling them is left to do.

    `parts` (m_p, d) are the coordinates of each piece, the largest first, with orthogonal columns once they are
    centered; columns may be zero, for a piece of m samples has at most m - 1 that are not. `centers` (C, q) say where
    the pieces are among each other, in any units. Rows of the result are in the order of the parts.
    """
    sizes, d = np.array([len(part) for part in parts]), parts[0].shape[1]
    pieces, variance = [], np.zeros(d)
    for size, part in zip(sizes.tolist(), parts, strict=True):
        centered = part - part.mean(axis=0)
        lengths = np.linalg.norm(centered, axis=0) / np.sqrt(size)
        used = np.flatnonzero(lengths > NEGLIGIBLE * np.abs(part).max())
        # Who lacks columns has them on the axes on which all parts before have the least variance.
        axes = used if len(used) == d else np.sort(np.argsort(variance, kind="stable")[: len(used)])
        piece = np.zeros((size, d))
        piece[:, axes] = centered[:, used] * (size ** (1 / d) / lengths[used])
        variance[axes] += size ** (1 + 2 / d)
        pieces.append(piece)
    missing = np.flatnonzero(variance == 0).tolist()
    if len(missing) >= len(parts):
        spanned = d - len(missing) + len(parts) - 1
        got = f"one that spans {spanned}" if len(parts) == 1 else f"{len(parts)} that span {spanned}"
        rule = f"needs pieces that span {d} dimensions side by side"
        refuse(f"n_components={d}", rule, got, "Lower n_components or raise n_neighbors")
    Y = _side_by_side(pieces, sizes, centers, missing)
    Y /= np.linalg.norm(Y, axis=0)
    return Y


def arrange_at_scale(parts: Sequence[FloatArray], centers: FloatArray) -> FloatArray:
    """Arrange pieces side by side as `arrange_pieces` does, each as large as it is and along its principal axes.

    Whatever the columns of a part are, those of the layout are only centered. A cell is what one sample of the
    largest piece takes up.
    """
    d = parts[0].shape[1]
    turned = [_principal(part) for part in parts]
    turned = [np.hstack([part, np.zeros((len(part), d - part.shape[1]))]) for part in turned]
    spread = float(np.sqrt((turned[0] ** 2).mean()))
    cell = spread / len(turned[0]) ** (1 / d) if spread > 0 else 1.0
    sizes = np.array([len(part) for part in parts])
    return cell * _side_by_side([part / cell for part in turned], sizes, centers, [])


def _side_by_side(pieces: list[FloatArray], sizes: IndexArray, centers: FloatArray, missing: list[int]) -> FloatArray:
    """Coordinates of all samples in the order of the pieces, centered; pieces are in cells, each around zero."""
    boxes = []
    for number, piece in enumerate(pieces):
        below, above = -piece.min(axis=0), piece.max(axis=0)
        margin = MARGIN_CELLS + MARGIN_SHARE * (below + above).max()
        offsets = np.zeros((1, piece.shape[1]))
        boxes.append(_Box(np.array([number]), offsets, below + margin, above + margin, len(piece)))
    whole = _arranged(np.arange(len(pieces)), boxes, sizes, _principal(centers), missing)
    offsets = np.empty_like(whole.offsets)
    offsets[whole.members] = whole.offsets
    Y = np.concatenate(pieces) + np.repeat(offsets, sizes, axis=0)
    Y -= Y.mean(axis=0)
    return Y


def _principal(points: FloatArray) -> FloatArray:
    """Points in their principal coordinates, so that points on a line spread along one axis only, (C, q)."""
    centered = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    return centered @ fix_signs(axes.T)


def _arranged(
    members: IndexArray, boxes: list[_Box], sizes: IndexArray, centers: FloatArray, missing: list[int]
) -> _Box:
    """The box of these pieces; takes from `missing` the axes that it is the first to cover."""
    if len(members) == 1:
        return boxes[int(members[0])]
    axis = int(np.argmax(np.ptp(centers[members], axis=0)))
    members = members[np.argsort(centers[members, axis], kind="stable")]
    # Halves are of samples, not of pieces. Where one piece outweighs the others, the cut beside it leaves it with the
    # lighter side of them: either way what is left to cut halves, and this is some log2(n) calls deep.
    until = np.cumsum(sizes[members])
    cut = 1 + int(np.argmin(np.abs(2 * until[:-1] - until[-1])))
    one, other = (_arranged(half, boxes, sizes, centers, missing) for half in (members[:cut], members[cut:]))
    below, above = np.maximum(one.below, other.below), np.maximum(one.above, other.above)
    if missing:
        axis = missing.pop(0)
    else:
        # The way their centers lie, unless another axis makes the longest side much shorter.
        along, d = one.below + one.above + other.below + other.above, len(below)
        longest = np.where(np.eye(d, dtype=bool), along, below + above).max(axis=1)
        longer = LONGER_FEW if len(members) <= 3 else LONGER_MANY
        if axis >= d or longest[axis] > longer * longest.min():
            axis = int(np.argmin(longest))
    # The two touch along the axis, and are aligned by their centers of mass on all others.
    mass = one.mass + other.mass
    apart = one.above[axis] + other.below[axis]
    down, up = apart * other.mass / mass, apart * one.mass / mass
    offsets = np.concatenate([one.offsets, other.offsets])
    offsets[: len(one.members), axis] -= down
    offsets[len(one.members) :, axis] += up
    below[axis], above[axis] = one.below[axis] + down, up + other.above[axis]
    return _Box(np.concatenate([one.members, other.members]), offsets, below, above, mass)
