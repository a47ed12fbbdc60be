"""Sizes of a problem -> bytes and operations of every way to solve it, and which way to take.

The factor of a sparse matrix is as large as its separators make it. G joins samples up to four hops apart; rows of B
reach two. If rows of G are 2^q times as long as rows of B, the samples fill q dimensions, and a part of m samples is
cut in two by s = c m^(1 - 1/q) g^(1/q) of them, g being the entries a row of G; nested dissection adds some s^2 entries
and s^3 operations for every cut. Against the count of METIS on 19 problems (lines, rolls, cubes in 3, 5 and 8
dimensions, Gaussians, digits; n = 2 000 to 300 000) the entries come out between 0.73 and 1.40 times the truth, the
operations between 0.43 and 1.44 times.
"""

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.memory import gigabytes
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.exchange import SPARE
from hne.core.records import INT32_MAX, LANDMARKS, nearest_landmarks
from hne.exceptions import InputError, TooLargeError

# c above, and entries of the factor for each s^2, fitted to those 19 problems; operations for each s^3, to the rolls.
SEPARATOR, ENTRIES_PER_CUT, OPERATIONS_PER_CUT = 0.65, 2.0, 3.0

# Rows of G whose entries are counted to know how many there are in all.
COUNTED_ROWS = 256
# Largest n for which LAPACK is faster than a sparse factorization (20 eigenvectors: rolls 200, Gaussians 300 to 400).
DENSE_MAX_SAMPLES = 250
# Up to here the direct solver is taken without counting anything, which takes as long as a tenth of it.
UNCOUNTED = 2_000
# Up to here the dense solver takes over where another failed: 0.4 GB and seconds.
DENSE_RESCUE_SAMPLES = 4_000
# Vectors a block beyond the wanted ones. They speed a block iteration up, and give the next eigenvalue; without a
# factorization, more of them find an eigenvector soon that the start hardly contains. Ranks compute more to bring back
# digits that G has lost.
SPARE_VECTORS = {"direct": 2, "iterative": 4, "slepc": SPARE, LANDMARKS: 2}
# Largest basis in blocks; of all but the direct solver, each vector and its images under A and B.
BASIS_BLOCKS = {"direct": 12, "iterative": 10, LANDMARKS: 3}
# Blocks that a filter keeps, in double precision: five in single or double precision, and some to decompose.
FILTER_BLOCKS = 10

# With k neighbors, rows of G are 2^p times as long as rows of B, and samples fill near c (p (5 / k)^e)^2 dimensions,
# these being c and e: with k = 5 (n = 1 000 to 16 000), rolls come out as 2.0, cubes in 3 dimensions as 2.1 to 2.5, in
# 4 as 3.4 to 3.9, Gaussians in 5 as 4.5 to 5.0, in 8 as 5.8 to 7.6; with k = 10, cubes in 3, 5 and 8 as 2.6, 4.6, 6.3.
DIMENSIONS, DIMENSIONS_POWER = 0.63, 0.35
# From so many on the iterative solver filters, and goes before the direct one; below, it has multigrid.
FILTER_MIN_DIMENSIONS = 3.3
# Products with G in roots of (largest / next eigenvalue), and the largest eigenvalue, about.
PRODUCTS_PER_ROOT, HIGHEST = 8.0, 5.0
# Vectors a block: kernels take multiples of this.
BLOCK_STEP = 8
# Seconds on 2 cores of a multiplication in a filter, its place found included (Gaussians in 5 and 8 dimensions).
FILTERED_SECONDS = 5e-10

# Bytes an entry of a CSR matrix with int32 columns.
CSR = 12
# Bytes of an entry of the factor, with the fronts that have not been eliminated yet and entries that a front adds.
FACTOR_ENTRY = 12
# On landmarks, entries of both of SuperLU's factors for one of a Cholesky factor by nested dissection: it keeps L and
# U, in an order that fills more.
SUPERLU_FACTOR = 2.6
# What the hierarchy of multigrid and its making take, in copies of G.
MULTIGRID_COPIES = 6.0
# Blocks of vectors that a refinement on landmarks keeps beside its basis, and entries a row of the problem on landmarks
# for each landmark that rebuilds a sample (measured on rolls: 4 to 7).
REFINED_BLOCKS, LANDMARK_ROWS = 10, 7
# Samples from which `n_landmarks` is a remedy, and the share of them that is advised.
LANDMARKS_MIN_SAMPLES, LANDMARKS_SHARE = 20_000, 0.01
# Share of the free memory that a solver may plan to take: models err.
MEMORY_SHARE = 0.9

# Seconds on 2 cores: of an entry of the factor and of an operation, ordering and block solves included (rolls of 5 000
# to 1 000 000 samples with k from 8 to 20 come out between 0.8 and 1.2 times the truth); of an entry of G under the
# iterative solver with multigrid; of n^3 under LAPACK; of a sample under refinement on landmarks.
ENTRY_SECONDS, OPERATION_SECONDS, ITERATED_SECONDS, DENSE_SECONDS = 1e-8, 1.2e-10, 2e-6, 1e-9
REFINED_SECONDS = 4e-5


@dataclass(frozen=True)
class Sizes:
    """What the costs of the eigenproblem depend on."""

    n_samples: int
    count: int  # eigenpairs wanted
    inner_row: float  # entries a row of A
    joint_row: float  # entries a row of B
    row_entries: float  # entries a row of G
    n_landmarks: int | None = None
    n_components: int | None = None  # where more eigenpairs are wanted than dimensions

    @classmethod
    def of(cls, alignment: Alignment, count: int) -> "Sizes":
        """Count entries a row of G on a few rows, evenly spread."""
        A, B, n = alignment.A, alignment.B, alignment.n_samples
        rows = np.unique(np.linspace(0, n - 1, min(n, COUNTED_ROWS)).astype(np.intp))
        number = np.full(n, -1, dtype=np.intp)
        number[rows] = np.arange(len(rows))
        # Row j of B'B has the columns of every row of B that has an entry in column j.
        hits = np.flatnonzero(number[B.indices] >= 0)
        sources = np.searchsorted(B.indptr, hits, side="right") - 1
        meets = csr_array((np.ones(len(hits)), (number[B.indices[hits]], sources)), shape=(len(rows), n))
        pattern = csr_array((np.ones(B.nnz, dtype=np.float32), B.indices, B.indptr), shape=B.shape)
        return cls(n, count, A.nnz / n, B.nnz / n, max((meets @ pattern).nnz / len(rows), B.nnz / n))

    @property
    def triangle_entries(self) -> float:
        """Entries of one triangle of G, diagonal included."""
        return self.n_samples * (self.row_entries + 1) / 2

    @property
    def landmarks_a_sample(self) -> int:
        """Landmarks that rebuild a sample."""
        return nearest_landmarks(self.n_components or self.count)

    @property
    def on_landmarks(self) -> "Sizes":
        """Those of the problem on landmarks, which fill as many dimensions as the samples."""
        m = self.n_landmarks or 0
        row = float(min(m, LANDMARK_ROWS * self.landmarks_a_sample))
        joint_row = row * self.joint_row / self.row_entries
        return replace(self, n_samples=m, joint_row=joint_row, row_entries=row, n_landmarks=None)


def dissection(sizes: Sizes) -> tuple[float, float]:
    """Entries of the Cholesky factor of G, and operations to make it, as nested dissection would have them."""
    n, row = sizes.n_samples, sizes.row_entries
    dimensions = max(1.0, math.log2(row / sizes.joint_row))
    entries, operations, part, parts = n * row / 2, n * row * row / 4, float(n), 1
    while part > row:
        cut = min(SEPARATOR * part ** (1 - 1 / dimensions) * row ** (1 / dimensions), part / 3)
        entries += parts * ENTRIES_PER_CUT * cut**2
        operations += parts * OPERATIONS_PER_CUT * cut**3
        part, parts = (part - cut) / 2, 2 * parts
    return min(entries, n * n / 2), min(operations, n**3 / 3)


def filled_dimensions(sizes: Sizes) -> float:
    """About how many dimensions the samples fill."""
    longer = math.log2(max(2.0, sizes.row_entries / sizes.joint_row))
    return DIMENSIONS * (longer * (5 / max(1.0, sizes.inner_row - 1)) ** DIMENSIONS_POWER) ** 2


def is_for_filter(sizes: Sizes) -> bool:
    """Whether samples fill so many dimensions that a filter gets there soon."""
    return filled_dimensions(sizes) >= FILTER_MIN_DIMENSIONS


def iteration_kind(sizes: Sizes) -> str:
    """How the iterative solver goes about it: "filter", or "multigrid" near surfaces and solids where it can."""
    is_countable = sizes.n_samples * sizes.row_entries <= INT32_MAX  # pyamg counts no further
    can_coarsen = is_countable and find_spec("pyamg") is not None
    return "multigrid" if can_coarsen and not is_for_filter(sizes) else "filter"


def block_width(count: int) -> int:
    """Vectors in the blocks of a filter, the wanted ones and some to spare."""
    return -(-(count + SPARE_VECTORS["iterative"]) // BLOCK_STEP) * BLOCK_STEP


def filter_products(sizes: Sizes) -> float:
    """About how many products with G a filter takes.

    Eigenvalue m of n samples that fill q dimensions is near (n / m)^(-4 / q), as that of a squared Laplacian.
    """
    per_vector = sizes.n_samples / sizes.count
    return PRODUCTS_PER_ROOT * math.sqrt(HIGHEST) * per_vector ** (2 / max(1.0, filled_dimensions(sizes)))


def candidates(sizes: Sizes) -> tuple[str, ...]:
    """Solvers that "auto" considers for a sparse matrix, the fastest first."""
    if sizes.n_landmarks is not None:
        return (LANDMARKS,)
    if is_for_filter(sizes):
        return ("iterative", "direct")
    # Near surfaces, a filter never gets there.
    return ("direct", "iterative") if iteration_kind(sizes) == "multigrid" else ("direct",)


def solver_bytes(sizes: Sizes, solver: str) -> float:
    """Peak of what a solver takes beside A and B themselves."""
    n = sizes.n_samples
    if solver == "dense":
        return 3 * 8.0 * n * n
    if solver == LANDMARKS:
        block = 8.0 * n * (sizes.count + SPARE_VECTORS[LANDMARKS])
        weights = CSR * n * sizes.landmarks_a_sample
        return (
            weights
            + (3 * BASIS_BLOCKS[LANDMARKS] + REFINED_BLOCKS) * block
            + _landmark_factor_bytes(sizes.on_landmarks)
        )
    factors_of_G = CSR * n * (sizes.inner_row + sizes.joint_row)
    if solver == "slepc":
        # Of this process: A and B in another order until they are written, or what came back. Ranks may be elsewhere.
        return max(2 * factors_of_G, 3 * 8.0 * n * (sizes.count + SPARE))
    if solver == "iterative" and iteration_kind(sizes) == "filter":
        # A and B by rows and by columns, and while they are made.
        return 4 * factors_of_G + 8.0 * n * FILTER_BLOCKS * block_width(sizes.count)
    basis = 8.0 * n * BASIS_BLOCKS[solver] * (sizes.count + SPARE_VECTORS[solver])
    if solver == "iterative":
        return 3 * basis + MULTIGRID_COPIES * CSR * n * sizes.row_entries
    entries, _ = dissection(sizes)
    return 2 * factors_of_G + FACTOR_ENTRY * entries + basis


def _landmark_factor_bytes(sizes: Sizes) -> float:
    """Peak of a factorization by SuperLU."""
    entries, _ = dissection(sizes)
    return 3 * CSR * sizes.triangle_entries + CSR * SUPERLU_FACTOR * entries


def solver_seconds(sizes: Sizes, solver: str) -> float:
    """Roughly how long a solver takes on 2 cores."""
    if solver == "dense":
        return DENSE_SECONDS * float(sizes.n_samples) ** 3
    if solver == "iterative" and iteration_kind(sizes) == "filter":
        entries = sizes.n_samples * (sizes.inner_row + sizes.joint_row)
        return FILTERED_SECONDS * filter_products(sizes) * 2 * entries * block_width(sizes.count)
    if solver == "iterative":
        return ITERATED_SECONDS * sizes.n_samples * sizes.row_entries
    if solver == LANDMARKS:
        return REFINED_SECONDS * sizes.n_samples + solver_seconds(sizes.on_landmarks, "direct")
    entries, operations = dissection(sizes)
    return ENTRY_SECONDS * entries + OPERATION_SECONDS * operations


def has_room(n_samples: int, count: int, solver: str) -> bool:
    """Whether a block of the solver fits beside the constant vector."""
    width = block_width(count) if solver == "iterative" else count + SPARE_VECTORS.get(solver, 0)
    return solver == "dense" or width < n_samples - 1


def choose_solver(sizes: Sizes, solver: str, available: float) -> tuple[tuple[str, ...], str]:
    """Solvers to try in turn, and why these; "auto" goes by predicted fill, operations and free memory.

    Raises TooLargeError where none of them fits.
    """
    order: tuple[str, ...] = (solver,)
    n, reason, is_rescued = sizes.n_samples, "asked for", False
    if solver != "auto":
        if not has_room(n, sizes.count, solver):
            msg = (
                f"eigen_solver='{solver}' needs n_components < n_samples - {SPARE_VECTORS[solver] + 1}, "
                f"got n_components={sizes.count} and n_samples={n}. Use eigen_solver='dense'."
            )
            raise InputError(msg)
    elif sizes.n_landmarks is not None:
        order, reason = (LANDMARKS,), f"n_landmarks = {sizes.n_landmarks}"
    elif n <= DENSE_MAX_SAMPLES or not has_room(n, sizes.count, "iterative"):
        order, reason = ("dense",), f"n = {n}"
    elif n <= UNCOUNTED:
        order, reason, is_rescued = ("direct",), f"n = {n}", True
    else:
        order, is_rescued = candidates(sizes), n <= DENSE_RESCUE_SAMPLES
        entries, operations = dissection(sizes)
        needed = ", ".join(f"{each} {gigabytes(solver_bytes(sizes, each))}" for each in order)
        reason = f"factor of {entries:.1e} entries and {operations:.1e} operations predicted; needed: {needed}"
        reason = f"{reason}; free: {gigabytes(available)}"
    needed_bytes = {each: solver_bytes(sizes, each) for each in (*order, "dense")}
    fitting = tuple(each for each in order if needed_bytes[each] <= MEMORY_SHARE * available)
    if not fitting:
        ways = {LANDMARKS: f"n_landmarks={sizes.n_landmarks}"}
        needed = " or ".join(
            f"{gigabytes(needed_bytes[each])} with {ways.get(each, f'eigen_solver={each!r}')}" for each in order
        )
        msg = (
            f"the eigenproblem of {n} samples, {sizes.row_entries:.0f} entries a row, needs about {needed}, "
            f"got {gigabytes(available)} of free memory. {remedies(sizes, order)}"
        )
        raise TooLargeError(msg)
    is_rescued &= needed_bytes["dense"] <= MEMORY_SHARE * available
    return ((fitting[0], "dense") if is_rescued else fitting), reason


def remedies(sizes: Sizes, solvers: tuple[str, ...]) -> str:
    """What to do about a problem that is too large."""
    hints = ["lower n_neighbors", "embed a part of the samples and transform the rest"]
    if solvers == ("dense",):
        return f"Use eigen_solver='auto', {hints[0]}, or {hints[1]}."
    if sizes.n_landmarks is not None:
        return f"Lower n_landmarks, {hints[0]}, or {hints[1]}."
    if sizes.n_samples >= LANDMARKS_MIN_SAMPLES:
        hints.insert(1, f"pass n_landmarks={int(LANDMARKS_SHARE * sizes.n_samples)}")
    # What ranks elsewhere have no memory for here, nobody has.
    if not {"iterative", "slepc"} & set(solvers) and "iterative" in candidates(sizes):
        hints.insert(0, "use eigen_solver='iterative'")
    if find_spec("pyamg") is None:
        hints.insert(0, "install the extra 'fast'")
    return f"{', '.join(hints[:-1]).capitalize()}, or {hints[-1]}."
