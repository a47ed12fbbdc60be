"""X, Y -> distances and ranks of all others in both, by blocks of rows, on threads; never n x n numbers at once.

Ranks count from 1, by distance, equal distances by index; the sample itself has rank 0, before its copies. Distances
are squared and come from differences, so that copies are at exactly the same distance of everybody.

Of samples with many features, `Products` has them by matrix products, exact wherever neighbors and ranks ask for it. A
product is only nearly |a - b|^2 = |a|^2 + |b|^2 - 2 ab, but by how much it can be wrong, the slack, is known. Whoever
is within the slack of a distance that is compared is measured again from differences. So neighbors and their ranks are
the same integers, whatever the library of products and its threads make of the last digits.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from hne import _kernels
from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, map_blocks, raise_if_cancelled, thread_count
from hne.core.parameters import check_settings
from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.core.samples.canonical import InputScaling
from hne.core.samples.kinds import Samples
from hne.exceptions import refuse
from hne.metrics.errors import check_embedded, check_sampled

logger = logging.getLogger("hne")

Counts = NDArray[np.int64]
Result = TypeVar("Result")
# A task makes its result of the squared distances (b, n) of a block in X and in Y.
Task = Callable[[FloatArray, FloatArray], Result]

# Up to so many neighbors, who is nearer than each is counted rather than sorted (src/kernels/ranks.cpp).
COUNTED_NEIGHBORS = 32
# Features that are summed in single precision, which takes half the time of double: the sums of as many are added in
# double, so that the slack hardly grows with the number of features.
CHUNK = 256
SINGLE, DOUBLE = (float(np.finfo(kind).eps) / 2 for kind in (np.float32, np.float64))
# Products and sums of a chunk of whole numbers up to this one are whole numbers below 2**24: exact.
LARGEST_WHOLE = math.isqrt(2**24 // CHUNK)
# Share of a row from which measuring all of it again costs less than picking out some.
MOST_PICKED = 0.25
# Rows of which the center is taken, and by which it is seen whether products are worthwhile.
CENTER_ROWS, ROWS_TRIED = 1000, 16
# Squared lengths of whole numbers up to this one are exact sums, and so are distances of four times as much.
LARGEST_EXACT = 2.0**50
# All samples are ranked up to the first number; of more, that many rows, for which a share of 0.5 has a standard error
# of 0.01 at worst.
EXACT_MAX_SAMPLES, DEFAULT_SAMPLED = 20_000, 2_500
# Memory of all blocks that are being worked on, and arrays (b, n) of eight bytes that a kernel has at once. Four times
# as much takes longer: fresh memory costs more than what is done in it. Counting with products has fewer, and products
# of 26 rows take half as long again as those of 70.
BLOCK_BYTES, BLOCK_ARRAYS, PRODUCT_ARRAYS = 2**24, 8, 3
# Features from which products beat differences, and so many more a neighbor. Measured, n = 10 000, us a row: products
# 40 + 0.3 D, settling them 130 + 10 k; differences 1.35 D.
PRODUCT_FEATURES = (160, 10)
# Share of samples above which those that must be measured again cost more than products save: tight clusters far apart.
MOST_IN_DOUBT = 0.05
# Two others to put in an order.
MIN_SAMPLES = 3


def squared_distances(columns: FloatArray, rows: IndexArray) -> FloatArray:
    """Squared distances (b, n) of some samples to all, by columns (D, n); -1 to themselves, which puts them first."""
    distances = np.empty((len(rows), columns.shape[1]))
    _kernels.squared_distances(columns, rows, distances)
    return distances


def neighbor_sums(in_X: FloatArray, in_Y: FloatArray, k: int) -> Counts:
    """Three sums (b, 3) for each sample, of squared distances (b, n) in both spaces.

    Over its k neighbors in Y, by how much their ranks in X exceed k; the same with X and Y exchanged; and how
    many samples are neighbors in both.
    """
    sums = np.empty((len(in_X), 3), dtype=np.int64)
    _kernels.neighbor_sums(in_X, in_Y, k, sums)
    return sums


def larger_rank_counts(in_X: FloatArray, in_Y: FloatArray) -> Counts:
    """How many samples have each number from 0 to n - 1 as the larger of their ranks in X and in Y, (b, n)."""
    counts = np.empty(in_X.shape, dtype=np.int64)
    _kernels.larger_rank_counts(in_X, in_Y, counts)
    return counts


def nearest(distances: FloatArray, k: int) -> IndexArray:
    """The k nearest samples after the sample itself, by distance, then index."""
    limit = np.partition(distances, k)[k]
    return nearest_of(distances, np.flatnonzero(distances <= limit), k)


def nearest_of(distances: FloatArray, others: IndexArray, k: int) -> IndexArray:
    """The k nearest after the sample itself, all of which are among those others (ascending)."""
    return others[np.argsort(distances[others], kind="stable")[1 : k + 1]]


@dataclass(frozen=True)
class Products:
    """Samples, and the same centered and scaled to at most 1, a row a feature, for products."""

    points: Samples
    columns: Any  # of single precision, or of `points` where these are sparse
    squares: FloatArray  # squared length of each column
    unit: float  # squared length of the samples that is 1 in the columns, a power of two
    slacks: FloatArray  # (n,), of which the sum for two samples bounds the error of their squared distance

    @property
    def is_exact(self) -> bool:
        """Whether no digit is ever lost."""
        return not self.slacks.any()

    def squared_distances(self, rows: IndexArray) -> FloatArray:
        """Squared distances (b, n) of some samples to all, within their slack; -1 to themselves."""
        distances: FloatArray = np.add.outer(self.squares[rows], self.squares)
        product = np.empty(distances.shape, dtype=np.float32)
        for start in range(0, len(self.columns), CHUNK):
            chunk = self.columns[start : start + CHUNK]
            np.matmul(-2 * chunk[:, rows].T, chunk, out=product)
            distances += product
        distances *= self.unit
        distances[np.arange(len(rows)), rows] = -1.0
        return distances

    def candidates(self, sample: int, distances: FloatArray, k: int) -> IndexArray:
        """All that may be among the k nearest, given the products of a sample."""
        slacks = self.slacks[sample] + self.slacks
        # As many are surely that near, the sample itself among them.
        limit = np.partition(distances + slacks, k)[k]
        return np.flatnonzero(distances - slacks <= limit)

    def share_in_doubt(self, k: int) -> float:
        """Share of all samples that may be, but are not, among the k nearest of one: the median of a few rows."""
        n = len(self.squares)
        rows = np.linspace(0, n - 1, ROWS_TRIED).astype(np.intp)
        tried = zip(rows, self.squared_distances(rows), strict=True)
        counts = [len(self.candidates(row, distances, k)) for row, distances in tried]
        return float(np.median(counts) - k - 1) / n

    def measure(self, sample: int, distances: FloatArray, others: IndexArray) -> None:
        """Write the distances by differences of a sample to those others."""
        if len(others) > MOST_PICKED * len(distances):
            distances[:] = self._differences(sample, slice(None))
        else:
            distances[others] = self._differences(sample, others)
        distances[sample] = -1.0

    def _differences(self, sample: int, others: IndexArray | slice) -> FloatArray:
        """Squared distances of a sample to others, from differences."""
        return cdist(self.points[sample : sample + 1], self.points[others], "sqeuclidean")[0]


def products(points: FloatArray) -> Products:
    """Samples made ready for products."""
    n, n_features = points.shape
    # Whole numbers that products of single precision are exact for: counts, pixels, flags.
    chunks = (points[start : start + CHUNK] for start in range(0, n, CHUNK))
    is_whole = max(points.max(), -points.min()) <= LARGEST_WHOLE
    is_whole = is_whole and all(np.array_equal(chunk, np.rint(chunk)) for chunk in chunks)
    # Any center will do, and a median is not drawn away by a few that are far from all others.
    center = np.zeros(n_features) if is_whole else np.median(points[:: 1 + n // CENTER_ROWS], axis=0)
    reach = float(np.maximum(points.max(axis=0) - center, center - points.min(axis=0)).max())
    exponent = 0 if is_whole else math.frexp(reach)[1]
    columns, squares = np.empty((n_features, n), dtype=np.float32), np.zeros(n)
    for start in range(0, n_features, CHUNK):
        chunk = slice(start, start + CHUNK)
        columns[chunk] = np.ldexp(points[:, chunk] - center[chunk], -exponent).T
        squares += np.square(columns[chunk], dtype=np.float64).sum(axis=0)
    # With a and b rounded to single, and to first order: the product of a chunk errs by CHUNK SINGLE |a| |b|, of which
    # twice the sum is at most half of that of (|a| + |b|)^2; rounding a and b, by 2 SINGLE of it; sums of squares and
    # distances by differences, by DOUBLE for each term. The rest is for higher orders and single additions. The square
    # is at most 2 |a|^2 + 2 |b|^2. What is so small that it vanishes in squares is lost on top.
    error = (CHUNK / 2 + 4) * SINGLE + (3 * n_features + 20) * DOUBLE
    unit = math.ldexp(1.0, 2 * exponent)
    slacks = np.zeros(n) if is_whole else 2 * error * squares * unit + n_features * np.finfo(np.float64).tiny
    return Products(np.ascontiguousarray(points), columns, squares, unit, slacks)


class SparseProducts(Products):
    """Sparse samples, and their transpose for products."""

    def squared_distances(self, rows: IndexArray) -> FloatArray:
        """Squared distances (b, n) of some samples to all, within their slack; -1 to themselves."""
        distances: FloatArray = np.add.outer(self.squares[rows], self.squares)
        distances -= 2 * (self.points[rows] @ self.columns).toarray()
        # Copies of a sample are at no distance, not at a rounding of one.
        np.maximum(distances, 0.0, out=distances)
        distances[np.arange(len(rows)), rows] = -1.0
        return distances

    def _differences(self, sample: int, others: IndexArray | slice) -> FloatArray:
        near = self.points[others]
        return row_squares(near - self.points[np.full(near.shape[0], sample)])


def sparse_products(points: SparseMatrix) -> SparseProducts:
    """Sparse samples made ready for products."""
    squares = row_squares(points)
    # As many terms as a difference of two rows has at most: of products, of squares, of differences.
    n_terms = min(points.shape[1], 2 * int(np.diff(points.indptr).max()))
    is_whole = squares.max() <= LARGEST_EXACT and np.array_equal(points.data, np.rint(points.data))
    # To first order as in `products`, without what single precision loses.
    slacks = 2 * (3 * n_terms + 20) * DOUBLE * squares + n_terms * np.finfo(np.float64).tiny
    return SparseProducts(points, csr_array(points.T), squares, 1.0, np.zeros_like(squares) if is_whole else slacks)


def row_squares(X: SparseMatrix) -> FloatArray:
    """Squared length of each row, summed from left to right as products are."""
    return X.multiply(X).tocsr() @ np.ones(X.shape[1])


def settle(X: Any, Y: Any, rows: IndexArray, in_X: FloatArray, in_Y: FloatArray, k: int) -> None:
    """Measure all again on which the k nearest of some samples or their ranks in the other space depend.

    X and Y are the spaces; nothing is to be done in those that are no `Products`, or exact ones.
    """
    X, Y = (space if isinstance(space, Products) and not space.is_exact else None for space in (X, Y))
    if X is None and Y is None:
        return
    near_X, near_Y = _settle_nearest(X, rows, in_X, k), _settle_nearest(Y, rows, in_Y, k)
    for space, distances, others in ((X, in_X, near_Y), (Y, in_Y, near_X)):
        if space is None:
            continue
        for sample, of_row, compared in zip(rows, distances, others, strict=True):
            space.measure(sample, of_row, compared)
            # All that may be as far as one of them.
            slacks = space.slacks[sample] + space.slacks
            is_close = np.zeros(len(of_row), dtype=bool)
            for length in of_row[compared]:
                is_close |= np.abs(of_row - length) <= slacks
            space.measure(sample, of_row, np.flatnonzero(is_close))


def _settle_nearest(space: Products | None, rows: IndexArray, distances: FloatArray, k: int) -> IndexArray:
    """The k nearest (b, k) of some samples, after those that may be among them are measured."""
    if space is None:
        return np.array([nearest(of_row, k) for of_row in distances])
    near = np.empty((len(rows), k), dtype=np.intp)
    for row, (sample, of_row) in enumerate(zip(rows, distances, strict=True)):
        candidates = space.candidates(sample, of_row, k)
        space.measure(sample, of_row, candidates)
        near[row] = nearest_of(of_row, candidates, k)
    return near


@dataclass(frozen=True)
class Ranking:
    """What is ranked: checked samples in both spaces, and the rows whose ranks are looked at."""

    X: Samples  # dense or CSR
    Y: FloatArray
    rows: IndexArray  # ascending
    n_threads: int

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.Y)

    @property
    def is_exact(self) -> bool:
        """Whether the rows are all samples."""
        return len(self.rows) == self.n_samples

    def standard_error(self, values: FloatArray) -> float:
        """Standard error of the mean of a value a row, as an estimate of the mean over all samples."""
        if self.is_exact:
            return 0.0
        # Rows are drawn without replacement: what is not left to chance any more does not err.
        missed = 1 - len(values) / self.n_samples
        return float(np.sqrt(values.var(ddof=1) * missed / len(values)))

    @contextmanager
    def blocks(self, task: Task[Result], k: int | None = None) -> Iterator[Iterator[Result]]:
        """Context that gives the results of a task for blocks of rows, in their order.

        With `k`, only who the k nearest in either space are, and their ranks in the other, is exact.
        """
        X, Y = (_products_of(points, k) for points in (self.X, self.Y))
        kinds = ["differences" if space is None else type(space).__name__.lower() for space in (X, Y)]
        logger.info("ranks: %d of %d samples, %s in X, %s in Y", len(self.rows), self.n_samples, *kinds)
        measure_X, measure_Y = (
            partial(squared_distances, np.ascontiguousarray(points.T)) if space is None else space.squared_distances
            for points, space in ((self.X, X), (self.Y, Y))
        )
        by_products = X is not None or Y is not None
        arrays = PRODUCT_ARRAYS if by_products and k is not None and k <= COUNTED_NEIGHBORS else BLOCK_ARRAYS
        step = max(1, BLOCK_BYTES // (8 * arrays * self.n_samples * self.n_threads))
        blocks = [self.rows[start : start + step] for start in range(0, len(self.rows), step)]

        def of_block(rows: IndexArray) -> Result:
            raise_if_cancelled()
            in_X, in_Y = measure_X(rows), measure_Y(rows)
            if k is not None:
                settle(X, Y, rows, in_X, in_Y, k)
            return task(in_X, in_Y)

        # Blocks have the threads, products none of their own.
        with limit_blas_threads(1), closing(map_blocks(of_block, blocks, self.n_threads)) as results:
            yield track("ranks", results, len(blocks))


def _products_of(points: Samples, k: int | None) -> Products | None:
    """The products of the samples; None where differences take less time."""
    if issparse(points):
        return sparse_products(points)
    at_least, more = PRODUCT_FEATURES
    if k is None or points.shape[1] < at_least + more * k:
        return None
    with limit_blas_threads(1):
        space = products(points)
        return space if space.share_in_doubt(k) <= MOST_IN_DOUBT else None


def check_ranking(X: ArrayLike, Y: ArrayLike, n_sampled: int | None, random_state: Any, n_jobs: int | None) -> Ranking:
    """Return the samples of both spaces and the rows to measure."""
    samples, embedding = check_embedded(X, Y)
    settings = check_settings({"random_state": random_state, "n_jobs": n_jobs})
    n = len(embedding)
    if n < MIN_SAMPLES:
        refuse("X", f"must have at least {MIN_SAMPLES} samples to rank them", f"n_samples={n}", "Pass more samples")
    usual = n if n <= EXACT_MAX_SAMPLES else DEFAULT_SAMPLED
    rows = check_sampled(n_sampled, n, usual, f"n_samples={n}", settings.random_state)
    # Squares of what lies near the ends of float64 would overflow or vanish; ranks do not depend on units.
    in_X, in_Y = (InputScaling.fit(points).transform(points) for points in (samples, embedding))
    return Ranking(in_X, in_Y, rows, thread_count(settings.n_jobs))
