"""Bottom eigenvectors of G where samples fill many dimensions: subspace iteration with Chebyshev polynomials of G.

There the wanted eigenvalues are 1e-2 to 1e-5 of the largest, and many others are near: a factor of G is nearly full,
while G itself, through A and B, costs 50 multiplications a sample. A block of vectors is multiplied by the polynomial
that is small from the last of its own Ritz values to the largest eigenvalue, and grows fast below (Zhou, Saad, Tiago
and Chelikowsky 2006); then the best eigenpairs in its span are taken, and so on. For a chart, which only needs a smooth
space, products are of single precision, in which a row of the block is a line of the cache; certificates are not.

Measured and put aside, on 5-D Gaussians of 20 000 samples where this takes 250 products with 16 vectors: Lanczos with
blocks of 1, 4 and 8 has not separated the crowd of eigenvalues after 768 vectors; keeping the blocks before (a Krylov
space of the polynomial) saves a tenth of the products, and costs that in orthogonalization.
"""

import logging
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hne import _kernels
from hne._runtime.progress import step
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.certificate import LARGEST_ANGLE, PICTURE_RESIDUAL
from hne.core.eigen.costs import Sizes, block_width, filter_products
from hne.core.eigen.iterative import sine_between
from hne.core.records import FloatArray, SparseMatrix
from hne.settings import Settings

logger = logging.getLogger("hne")

Kind = type[np.float32] | type[np.float64]
Block = NDArray[Any]  # of such a kind, a vector a column, in C order

# Steps of a polynomial, in roots of (largest eigenvalue / last Ritz value): twice this is the exponent by which the
# bottom grows. With 2, 20 % more products and twice as many decompositions (5-D Gaussians); with 6, rounding.
GROWTH = 4.0
# Where the first polynomial begins to grow, as a share of the largest eigenvalue, and its least degree.
FIRST_CUT, LEAST_DEGREE = 0.05, 4
# Lanczos steps to the largest eigenvalue; with the length of the last residual added, the bound was 1.2 to 1.3 times
# the truth on Gaussians and groups (Zhou and Li 2011).
BOUND_STEPS = 10
# What a bound that turned out too low is multiplied by.
RESERVE = 1.2
# Residuals that products of single precision leave, as a share of the largest eigenvalue (measured: 1e-7), with
# something to spare.
SINGLE_RESIDUAL = 3e-7
# How many times the products that are expected are tried.
PATIENCE = 6
# Blocks of rows for each thread, so that none waits long for the last, and the smallest that is worth a call.
SHARES, SMALLEST_SHARE = 4, 512


class Products:
    """G = S'S on blocks of vectors, S the rows of sqrt(gamma) A and B in turn; float32 or float64, several threads."""

    def __init__(self, alignment: Alignment, kind: Kind, pool: ThreadPoolExecutor, n_threads: int) -> None:
        stacked = csr_array(vstack([np.sqrt(alignment.gamma) * alignment.A, alignment.B], format="csr"), dtype=kind)
        # Rows of A and B in turn: those of a sample are then near each other, too.
        stacked = stacked[np.arange(2 * alignment.n_samples).reshape(2, -1).T.ravel()]
        self.kind, self._n = kind, alignment.n_samples
        self._rows, self._columns = _parts(stacked), _parts(csr_array(stacked.T.tocsr()))
        self._pool, self._n_threads = pool, n_threads
        self._image: Block = np.empty((0, 0), dtype=kind)

    def stacked(self, block: Block) -> Block:
        """S @ block, in an array that the next product writes over."""
        if self._image.shape[1] != block.shape[1]:
            self._image = np.empty((2 * self._n, block.shape[1]), dtype=self.kind)
        self._spread(lambda a, b: _kernels.multiply_block(a, b, *self._rows, block, self._image), 2 * self._n)
        return self._image

    def combine(self, block: Block, out: Block, scale: float = 1.0, shift: float = 0.0, past: float = 0.0) -> Block:
        """Write scale * G @ block + shift * block + past * out to `out`, which must hold numbers."""
        image = self.stacked(block)
        self._spread(
            lambda a, b: _kernels.combine_block(a, b, *self._columns, image, scale, shift, past, block, out), self._n
        )
        return out

    def _spread(self, task: Any, n_rows: int) -> None:
        share = max(SMALLEST_SHARE, -(-n_rows // (SHARES * self._n_threads)))
        starts = range(0, n_rows, share)
        run = map if self._n_threads == 1 else self._pool.map
        for _ in run(lambda start: task(start, min(start + share, n_rows)), starts):
            pass


def filtered_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int = 1) -> FloatArray:
    """Orthonormal basis (n, count + some) of the bottom eigenvectors of G, ascending, the constant one left out.

    The wanted ones have converged to `tol`, for a chart as far as it needs; the others are on their way.
    """
    # Neighbors are near each other in memory: a third of the time at n = 100 000 in 5 dimensions.
    order = reverse_cuthill_mckee(csr_array(alignment.B))
    A, B = (csr_array(part[order][:, order]) for part in (alignment.A, alignment.B))
    with ThreadPoolExecutor(n_threads) as pool:
        found = _filter(Alignment(A, B, alignment.gamma), settings, pool, n_threads)
    basis = np.empty_like(found)
    basis[order] = found
    return basis


def _filter(alignment: Alignment, settings: Settings, pool: ThreadPoolExecutor, n_threads: int) -> FloatArray:
    """Filter a random block and take the best eigenpairs in its span, until they are at rest."""
    n, is_for_chart = alignment.n_samples, settings.coordinates == "chart"
    count = settings.n_eigenvectors(n)
    width, highest = block_width(count), largest_eigenvalue(alignment)
    expected = filter_products(Sizes.of(alignment, count))
    pace = Pace(expected)
    block = random_generator(settings.random_state).uniform(-1.0, 1.0, (n, width))
    cut, before = FIRST_CUT * highest, np.empty((n, 0))
    products = Products(alignment, np.float32 if is_for_chart else np.float64, pool, n_threads)
    while pace.done <= PATIENCE * expected:
        degree = max(LEAST_DEGREE, math.ceil(GROWTH * math.sqrt(highest / cut)))
        filtered = chebyshev_filter(products, block.astype(products.kind), (cut, highest), degree, pace)
        values, block = ritz_pairs(products, filtered)
        del filtered
        image = products.combine(block.astype(products.kind), np.zeros((n, width), dtype=products.kind))
        longest = float(np.linalg.norm(image[:, :count] - block[:, :count] * values[:count], axis=0).max())
        if is_for_chart:
            left = longest / (PICTURE_RESIDUAL * values[count])
        else:
            angle = longest / max(values[count] - values[count - 1], np.finfo(float).eps * highest)
            left = max(sine_between(before, block[:, :count]) / settings.tol, angle / LARGEST_ANGLE)
            before = block[:, :count]
        logger.debug("%d products, next eigenvalue %.2e, residuals %.1e", pace.done, values[count], longest)
        if left <= 1 or longest <= np.finfo(float).eps * highest:
            logger.info("eigenpairs: %d products with blocks of %d, %s", pace.done, width, products.kind.__name__)
            return block
        pace.reached(left)
        if products.kind is np.float32 and PICTURE_RESIDUAL * values[count] < SINGLE_RESIDUAL * highest:
            products = Products(alignment, np.float64, pool, n_threads)
        # A bound that was none shows as a Ritz value beyond it.
        highest = RESERVE * float(values[-1]) if values[-1] > highest else highest
        cut = min(float(values[-1]), highest / 2)
    msg = f"residuals of {longest / values[count]:.1e} of the next eigenvalue after {pace.done} products with G"
    raise RuntimeError(msg)


def largest_eigenvalue(alignment: Alignment) -> float:
    """A bound of the eigenvalues of G: that of some Lanczos steps, and the length of what they leave."""
    vector = np.random.default_rng(0).standard_normal((alignment.n_samples, 1))
    vector, before, length = vector / np.linalg.norm(vector), np.zeros_like(vector), 0.0
    diagonal, beside = [], []
    for _ in range(min(BOUND_STEPS, alignment.n_samples)):
        image = alignment.apply(vector) - length * before
        diagonal.append(float((image * vector).sum()))
        image -= diagonal[-1] * vector
        length = float(np.linalg.norm(image))
        beside.append(length)
        if not length:
            break
        vector, before = image / length, vector
    return float(eigvalsh_tridiagonal(diagonal, beside[:-1])[-1] + length)


def chebyshev_filter(products: Products, block: Block, damped: tuple[float, float], degree: int, pace: "Pace") -> Block:
    """The polynomial of G that is at most one in size on the damped interval, times the block, which is lost.

    It is scaled to one at zero, where it is largest.
    """
    middle, half = (damped[1] + damped[0]) / 2, (damped[1] - damped[0]) / 2
    rate = first_rate = -half / middle
    now = products.combine(block, np.zeros_like(block), rate / half, -middle * rate / half)
    pace.count()
    for _ in range(degree - 1):
        next_rate = 1 / (2 / first_rate - rate)
        products.combine(now, block, 2 * next_rate / half, -2 * middle * next_rate / half, -rate * next_rate)
        now, block, rate = block, now, next_rate
        pace.count()
    return now


def ritz_pairs(products: Products, block: Block) -> tuple[FloatArray, FloatArray]:
    """Ritz values of the span of a block without the constant, ascending, and their vectors, in double precision."""
    basis = block.astype(np.float64)
    # Orthonormal by Cholesky of the products of columns; twice is enough.
    for _ in range(2):
        basis -= basis.mean(axis=0)
        lower = np.linalg.cholesky(basis.T @ basis)
        basis = basis @ np.linalg.inv(lower).T
    image = products.stacked(basis.astype(products.kind)).astype(np.float64)
    values, rotation = np.linalg.eigh(image.T @ image)
    return values, basis @ rotation


class Pace:
    """Counts products, and tells which share of them is done at the pace at which residuals fall, in hundredths."""

    def __init__(self, expected: float) -> None:
        self.done, self._expected, self._told, self._last = 0, expected, 0, (0, math.inf)
        step("filter", 0, 100)

    def count(self) -> None:
        """One more."""
        self.done += 1
        share = min(99, int(100 * self.done / self._expected))
        if share > self._told:
            self._told = share
            step("filter", share, 100)

    def reached(self, left: float) -> None:
        """Residuals are so many times too large."""
        (done, before), self._last = self._last, (self.done, left)
        if 1 < left < before < math.inf:
            self._expected = self.done + (self.done - done) * math.log(left) / math.log(before / left)


def _parts(matrix: SparseMatrix) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return matrix.indptr, matrix.indices, matrix.data
