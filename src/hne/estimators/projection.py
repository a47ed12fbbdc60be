"""Alignment, X -> Projection: the linear map of X whose image both layers of weights rebuild best.

HNE's objective with Y = Xc P for the centered samples Xc: minimize tr(P' Xc' G Xc P). With Xc = U S V', which keeps
everything within the span of the samples, Y = U R for the first constraint and Y = U S R for the second, R orthonormal:

    uncorrelated   Y'Y = I, as in neighborhood preserving embedding (NPE)           P = V S^-1 R
    orthonormal    P'P = I, as in orthogonal neighborhood preserving projections    P = V R

R are the bottom right singular vectors of [sqrt(gamma) A Y; B Y] at R = I. Neither G nor Xc' G Xc is formed: products
lose the digits in which the wanted directions differ.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from hne._runtime.memory import available_bytes, gigabytes
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen.alignment import Alignment
from hne.core.records import FloatArray, SparseMatrix, fix_signs
from hne.core.samples.canonical import InputScaling
from hne.core.samples.kinds import Samples, as_dense
from hne.exceptions import TooLargeError, refuse

CONSTRAINTS = ("uncorrelated", "orthonormal")

EPS = float(np.finfo(np.float64).eps)
# Roundings that a length |A y| gathers, in units of one rounding of the longest (as in `hne.core.eigen.solve`).
ROUNDINGS_OF_LENGTH = 10
# Components beyond 2**+-LARGEST_EXPONENT would lose digits, or be infinite.
LARGEST_EXPONENT = 1000
BLOCK_BYTES = 2**24
# Arrays (n, D) that a decomposition has at once: X, X centered, its left or right vectors, and LAPACK's copy of them.
ARRAYS = 4
# Multiplications of a decomposition, n D min(n, D), from which on BLAS may share them out. Below, some 20 s on one
# core, its threads wait for each other on a busy machine: 700 x 4096 took 2 s with one and 22 s with two of them.
SHARED_MIN_WORK = 1e11


@dataclass(frozen=True)
class Projection:
    """A linear map y = components (x - mean), and what it costs."""

    components: FloatArray  # (d, D), the rows of P'
    loadings: FloatArray  # (d, D), the way back: x - mean is nearest to y loadings, in the mean over the samples
    mean: FloatArray  # (D,)
    values: FloatArray  # (d,), gamma |A y|^2 + |B y|^2 of each column of Y, ascending
    next_value: float  # the value of one component more; inf where the samples span no more
    is_resolved: bool  # whether float64 tells the last value from the next
    rank: int  # dimensions that the samples span
    constraint: str

    def __str__(self) -> str:
        d, n_features = self.components.shape
        return f"{n_features} features to {d}, {self.constraint}, of {self.rank} spanned"


@dataclass(frozen=True)
class Span:
    """Centered samples as U S V' without the directions in which they do not vary: r of them are left."""

    mean: FloatArray  # (D,)
    left: FloatArray  # (n, r), U: orthonormal columns
    lengths: FloatArray  # (r,), S: descending
    directions: FloatArray  # (r, D), V': orthonormal rows


def projection(alignment: Alignment, X: Samples, n_components: int, constraint: str) -> Projection:
    """Find the linear map of X to that many components which the alignment's weights rebuild best."""
    if issparse(X):
        return _of_sparse(alignment, X, n_components, constraint)
    n, n_features = X.shape
    with limit_blas_threads(1) if n * n_features * min(n, n_features) < SHARED_MIN_WORK else nullcontext():
        return _best_map(alignment, X, n_components, constraint)


def _of_sparse(alignment: Alignment, X: SparseMatrix, n_components: int, constraint: str) -> Projection:
    """The map over the columns that have values, made dense, as centered samples are; others have no say."""
    (n, n_features), used = X.shape, np.unique(X.indices)
    needed, free = ARRAYS * 8 * n * len(used), available_bytes()
    if needed > free:
        msg = (
            f"LinearHNE of a sparse X needs about {gigabytes(needed)} for {n} centered samples of {len(used)} features "
            f"with values, got {gigabytes(free)} free. Reduce it first: make_pipeline(TruncatedSVD(100), LinearHNE())."
        )
        raise TooLargeError(msg)
    dense = projection(alignment, X[:, used].toarray(), n_components, constraint)

    def spread(values: FloatArray) -> FloatArray:
        over = np.zeros((*values.shape[:-1], n_features))
        over[..., used] = values
        return over

    return replace(dense, components=spread(dense.components), loadings=spread(dense.loadings), mean=spread(dense.mean))


def _best_map(alignment: Alignment, X: FloatArray, n_components: int, constraint: str) -> Projection:
    span = span_of(X)
    rank = len(span.lengths)
    if n_components > rank:
        rule = f"needs samples that span at least {n_components} dimensions"
        refuse(f"n_components={n_components}", rule, f"{rank}", "Lower n_components")
    # Y = U stretch R and P = V (stretch / S) R.
    stretch = np.ones(rank) if constraint == "uncorrelated" else span.lengths
    basis = span.left * stretch
    # The triangle has the singular values and right vectors of the tall matrix; its left ones nobody needs.
    _, lengths, rows = np.linalg.svd(np.linalg.qr(alignment.stacked(basis), mode="r"))
    values, rotation = np.append(lengths[::-1], math.inf) ** 2, rows[::-1].T[:, :n_components]
    Y = basis @ rotation
    signs = np.sign((fix_signs(Y) * Y).sum(axis=0))
    P = span.directions.T @ (rotation * (stretch / span.lengths)[:, None]) * signs
    # Least squares of Xc on Y: (Y'Y)^-1 Y'Xc. P of it is the identity, as of a pseudo-inverse, which only looks for the
    # shortest x: of images, 700 of 4096 pixels in 3 components, that leaves all but 0.1 % of their spread, this 81 %.
    # By orthogonal columns: squares of lengths 1e8 apart would make the matrix singular.
    columns, triangle = np.linalg.qr(rotation * stretch[:, None] * signs)
    loadings = np.linalg.solve(triangle, (columns * span.lengths[:, None]).T @ span.directions)
    # Values are squares of lengths, and a length is right to a few roundings of what G may make of the longest y.
    blur = ROUNDINGS_OF_LENGTH * EPS * math.sqrt(alignment.diagonal().max()) * stretch.max()
    last, following = values[n_components - 1 : n_components + 1]
    return Projection(
        components=np.ascontiguousarray(P.T),
        loadings=loadings,
        mean=span.mean,
        values=values[:n_components],
        next_value=float(following),
        is_resolved=math.isinf(following) or bool(following - last > 2 * blur * math.sqrt(following) + blur**2),
        rank=rank,
        constraint=constraint,
    )


def span_of(X: FloatArray) -> Span:
    """Directions in which the samples differ by more than rounding, the longest first."""
    mean = X.mean(axis=0)
    centered = X - mean
    # Again, for data far from the origin: a rest of the mean would look like a direction that G does not see.
    rest = centered.mean(axis=0)
    centered -= rest
    n, n_features = X.shape
    # LAPACK takes half the time for a tall matrix that it takes for a wide one.
    if n < n_features:
        transposed, lengths, left_rows = np.linalg.svd(centered.T, full_matrices=False)
        left, directions = left_rows.T, transposed.T
    else:
        left, lengths, directions = np.linalg.svd(centered, full_matrices=False)
    # What rounding leaves of a direction that is not there: the decomposition's, by the usual bound, and that of the
    # numbers in X, a random matrix whose norm grows with sqrt(n) + sqrt(D).
    of_svd = EPS * max(n, n_features) * lengths[0]
    of_X = EPS * (math.sqrt(n) + math.sqrt(n_features)) * np.linalg.norm(directions * np.abs(X).max(axis=0), axis=1)
    real = lengths > np.maximum(of_svd, of_X)
    real[0] = True  # samples that are not all equal span a line, even if they differ in their last digits
    return Span(mean=mean + rest, left=left[:, real], lengths=lengths[real], directions=directions[real])


def in_units_of_data(scaled: Projection, units: InputScaling) -> Projection:
    """Turn a map of samples in these units into one of the samples as they were given, its constraint kept."""
    if units.origin is None and units.scale == 1.0:
        return scaled
    mean = units.inverse_transform(scaled.mean)
    if scaled.constraint == "orthonormal":
        # Coordinates are lengths in units of X, values their squares, which may be 0 or inf where float64 ends.
        with np.errstate(over="ignore", under="ignore"):
            values, following = (
                np.array(one) / units.scale / units.scale for one in (scaled.values, scaled.next_value)
            )
        return replace(scaled, mean=mean, values=values, next_value=float(following))
    largest = math.log2(np.abs(scaled.components).max()) + math.log2(units.scale)
    if abs(largest) > LARGEST_EXPONENT:
        got, remedy = f"components of 2**{largest:.0f}", "Rescale X, or pass constraint='orthonormal'"
        refuse("X", "must have a spread whose inverse float64 can hold", got, remedy)
    components, loadings = scaled.components * units.scale, scaled.loadings / units.scale
    return replace(scaled, mean=mean, components=components, loadings=loadings)


def project(X: Samples, mean: FloatArray, components: FloatArray) -> FloatArray:
    """Coordinates (n, d) of samples, components (x - mean); the bits of a row do not depend on the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        Y = _times_rows(X, mean, components)
    finite = np.isfinite(Y).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        got = f"values up to {np.abs(X[row]).max():.1e} in row {row}"
        refuse("X", "must have coordinates that float64 can hold", got, "Check the units of X")
    return Y


def preimage(Y: FloatArray, mean: FloatArray, loadings: FloatArray) -> FloatArray:
    """Samples (n, D) that have the coordinates Y: of all that have them, those likeliest among the fitted ones.

    Values are infinite where float64 ends.
    """
    with np.errstate(over="ignore"):
        return _times_rows(Y, np.zeros(1), np.ascontiguousarray(loadings.T)) + mean


def _times_rows(X: Samples, origin: FloatArray, matrix: FloatArray) -> FloatArray:
    """(X - origin) @ matrix.T, each entry a dot product of its own: a product of matrices rounds by their shapes."""
    product = np.empty((X.shape[0], len(matrix)))
    block = max(1, BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(product), block):
        rows = slice(start, start + block)
        product[rows] = np.vecdot(np.ascontiguousarray(as_dense(X[rows]) - origin)[:, None, :], matrix)
    return product
