"""X, Y -> what a kernel makes of the ranks of each sample: blocks of rows, on threads, never n x n numbers at once."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, load_unbroken, map_blocks, raise_if_cancelled, thread_count
from hne.core.parameters import check_settings
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.canonical import InputScaling
from hne.core.samples.kinds import Samples
from hne.exceptions import refuse
from hne.metrics.errors import check_embedded, check_sampled
from hne.metrics.rows import COUNTED_NEIGHBORS, Products, products, settle, sparse_products

logger = logging.getLogger("hne")

Result = TypeVar("Result")
# A task makes its result of a kernel's module and the squared distances (b, n) of a block in X and in Y.
Task = Callable[[Any, FloatArray, FloatArray], Result]

KERNELS = {"numpy": "hne.metrics.rows", "numba": "hne.metrics.numba_ranks"}
# All samples are ranked up to the first number; of more, that many rows, for which a share of 0.5 has a standard error
# of 0.01 at worst.
EXACT_MAX_SAMPLES, DEFAULT_SAMPLED = 20_000, 2_500
# Memory of all blocks that are being worked on, and arrays (b, n) of eight bytes that a kernel has at once. Four times
# as much takes longer: fresh memory costs more than what is done in it. Counting with products has fewer, and products
# of 26 rows take half as long again as those of 70.
BLOCK_BYTES, BLOCK_ARRAYS, PRODUCT_ARRAYS = 2**24, 8, 3
# Seconds of NumPy for a feature of a pair of samples, and seconds of NumPy in all from which numba is done first even
# if it has to be compiled.
PAIR_FEATURE, NUMBA_MIN_SECONDS = 0.5e-9, 5.0
# Features from which products beat differences, and so many more a neighbor. Measured, n = 10 000, us a row: products
# 40 + 0.3 D, settling them 130 + 10 k; differences 4 D in NumPy and 1.35 D in numba.
PRODUCT_FEATURES = {"numpy": (50, 3), "numba": (160, 10)}
# Share of samples above which those that must be measured again cost more than products save: tight clusters far apart.
MOST_IN_DOUBT = 0.05
# Two others to put in an order.
MIN_SAMPLES = 3


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

    def choose_kernel(self, pair_seconds: float, n_features: int) -> str:
        """Name the kernel that finishes first, given NumPy's seconds for the ranks of a pair, and features to subtract.

        What is done by products takes as long with either.
        """
        seconds = len(self.rows) * self.n_samples * (pair_seconds + PAIR_FEATURE * n_features)
        return "numba" if seconds >= NUMBA_MIN_SECONDS else "numpy"

    @contextmanager
    def blocks(self, task: Task[Result], pair_seconds: float, k: int | None = None) -> Iterator[Iterator[Result]]:
        """Context that gives the results of a task for blocks of rows, in their order; see `choose_kernel`.

        With `k`, the task looks only at who the k nearest in either space are, and at their ranks in the other: all
        else need not be exact.
        """
        module, (X, Y) = _spaces(self, pair_seconds, k)
        by_products = isinstance(X, Products) or isinstance(Y, Products)
        arrays = PRODUCT_ARRAYS if by_products and k is not None and k <= COUNTED_NEIGHBORS else BLOCK_ARRAYS
        step = max(1, BLOCK_BYTES // (8 * arrays * self.n_samples * self.n_threads))
        blocks = [self.rows[start : start + step] for start in range(0, len(self.rows), step)]

        def of_block(rows: IndexArray) -> Result:
            raise_if_cancelled()
            in_X, in_Y = X.squared_distances(rows), Y.squared_distances(rows)
            if k is not None:
                settle(X, Y, rows, in_X, in_Y, k)
            return task(module, in_X, in_Y)

        # Blocks have the threads, products none of their own.
        with limit_blas_threads(1), closing(map_blocks(of_block, blocks, self.n_threads)) as results:
            yield track("ranks", results, len(blocks))


def pay_products(n_features: int, kernel: str, k: int | None) -> bool:
    """Whether distances by products, and some of them again by differences, take less time than all by differences."""
    if k is None:
        return False
    at_least, more = PRODUCT_FEATURES[kernel]
    return n_features >= at_least + more * k


@dataclass(frozen=True)
class Differences:
    """Samples whose distances come from differences: the other kind of space is `Products`."""

    kernel: Any
    points: FloatArray  # as the kernel wants them

    def squared_distances(self, rows: IndexArray) -> FloatArray:
        """Squared distances (b, n) of some samples to all; -1 to themselves."""
        distances: FloatArray = self.kernel.squared_distances(self.points, rows)
        return distances


def _spaces(ranking: Ranking, pair_seconds: float, k: int | None) -> tuple[Any, list[Products | Differences]]:
    """The kernel's module and the spaces of X and Y, each in the way that takes less time."""
    pairs = [(points, _products_that_pay(points, k)) for points in (ranking.X, ranking.Y)]
    kernel = ranking.choose_kernel(pair_seconds, sum(points.shape[1] for points, space in pairs if space is None))
    module: Any = load_unbroken(KERNELS[kernel])
    spaces: list[Products | Differences] = []
    for points, space in pairs:
        is_paid = issparse(points) or pay_products(points.shape[1], kernel, k)
        spaces.append(space if space and is_paid else Differences(module, module.arranged(points)))
    kinds = [type(space).__name__.lower() for space in spaces]
    logger.info(
        "ranks: %s kernel, %d of %d samples, %s in X, %s in Y", kernel, len(ranking.rows), ranking.n_samples, *kinds
    )
    return module, spaces


def _products_that_pay(points: Samples, k: int | None) -> Products | None:
    if issparse(points):
        return sparse_products(points)
    if k is None or not pay_products(points.shape[1], "numpy", k):
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
