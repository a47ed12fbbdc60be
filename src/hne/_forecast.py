"""Numbers of samples, features and neighbors -> memory that an embedding will take, before anything is computed."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.spatial import cKDTree

from hne._costs import CSR, PARDISO_MIN_ENTRIES, Sizes, choose_solver, remedies, solver_bytes
from hne._memory import available_bytes, gigabytes
from hne._types import EIGEN_SOLVERS, Settings
from hne._validation import check_choice, check_integer
from hne.exceptions import InputError, TooLargeError

# What Python and the libraries take, and what compiled kernels and MKL add where triangles of G are large enough for
# them: with these, forecasts of six problems are within 0.7 to 1.2 of the measured peak (benchmarks/forecasts.py).
LIBRARIES, COMPILED = 180e6, 180e6
# Size of the cloud on which neighbors' neighbors are counted.
CLOUD = 4_000
# k-d tree, candidates and their distances, a sample.
TREE_BYTES = 160
# Share of reserve in the array that joint weights grow in.
RESERVE = 1.2


@dataclass(frozen=True, repr=False)
class Forecast:
    """Memory that an embedding will take.

    Attributes
    ----------
    stages : dict of str to float
        Bytes of the whole process at the peak of each stage, the samples and the libraries included.
    solver : str
        Eigensolver that "auto" would take, or the one asked for.
    available_bytes : int
        Memory that is free now.
    intrinsic_dimension : int
        Dimension that the samples were taken to fill.
    """

    n_samples: int
    n_features: int
    n_neighbors: int
    intrinsic_dimension: int
    stages: dict[str, float]
    solver: str
    available_bytes: int

    @property
    def peak_bytes(self) -> float:
        """Largest of all stages."""
        return max(self.stages.values())

    @property
    def fits(self) -> bool:
        """Whether the peak, less what the libraries have taken by now, is free."""
        return self.peak_bytes - LIBRARIES <= self.available_bytes

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {gigabytes(count)}" for name, count in self.stages.items())
        return (
            f"{self.n_samples} x {self.n_features} with {self.n_neighbors} neighbors, filling "
            f"{self.intrinsic_dimension} dimensions: peak {gigabytes(self.peak_bytes)} ({stages}; {self.solver} "
            f"solver), {gigabytes(self.available_bytes)} free: {'fits' if self.fits else 'does not fit'}"
        )

    __repr__ = __str__


def forecast(
    n_samples: int,
    n_features: int,
    n_neighbors: int = 6,
    *,
    n_components: int = 2,
    intrinsic_dimension: int | None = None,
    eigen_solver: str = "auto",
) -> Forecast:
    """Predict the memory of an embedding without its data.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    n_neighbors, n_components, eigen_solver
        As in :class:`hne.HierarchicNeighborsEmbedding`.
    intrinsic_dimension : int or None, default=None
        Number of dimensions that the samples fill. More make longer rows and far larger factors: images and noise
        fill ten and more. None takes `n_components`.

    Returns
    -------
    Forecast
        `peak_bytes`, `fits`, and the bytes of each stage in `stages`; printed, it says all of it in a line.

    Examples
    --------
    >>> from hne import forecast
    >>> small, large = forecast(10_000, 3), forecast(1_000_000, 3)
    >>> small.solver, 10 < large.peak_bytes / small.peak_bytes < 100
    ('direct', True)
    """
    n = check_integer("n_samples", n_samples, 2, "Try n_samples=1000")
    D = check_integer("n_features", n_features, 1, "Try n_features=3")
    k = check_integer("n_neighbors", n_neighbors, 1, "Try n_neighbors=6")
    d = check_integer("n_components", n_components, 1, "Try n_components=2")
    solver = check_choice("eigen_solver", eigen_solver, EIGEN_SOLVERS)
    filled = d if intrinsic_dimension is None else intrinsic_dimension
    filled = min(check_integer("intrinsic_dimension", filled, 1, "Try intrinsic_dimension=2"), D)
    if n <= k:
        msg = f"n_neighbors={k} needs at least {k + 1} samples, got n_samples={n}. Lower n_neighbors."
        raise InputError(msg)
    joint_row, row_entries = row_sizes(min(n, CLOUD), k, filled)
    sizes = Sizes(n, d, k + 1, joint_row, row_entries)
    free = available_bytes()
    libraries = LIBRARIES + (COMPILED if sizes.triangle_entries >= PARDISO_MIN_ENTRIES else 0)
    held = libraries + 8.0 * n * D
    graph, weights = 16.0 * n * k, CSR * n * (k + RESERVE * joint_row)
    alignment = CSR * n * (k + 1 + joint_row)
    stages = {
        "neighbors": held + graph + TREE_BYTES * n,
        "weights": held + graph + weights,
    }
    held += graph + weights + alignment
    try:
        solver = choose_solver(sizes, solver, free - (held - LIBRARIES)).solvers[0]
    except TooLargeError:
        solver = solver if solver != "auto" else min(("direct", "iterative"), key=lambda one: solver_bytes(sizes, one))
    stages["eigenpairs"] = held + solver_bytes(sizes, solver)
    return Forecast(n, D, k, filled, stages, solver, free)


def check_fits(n_samples: int, n_features: int, settings: Settings) -> None:
    """Raise TooLargeError for what will not fit even if the samples fill no more than `n_components` dimensions."""
    k, d = settings.n_neighbors, settings.n_components
    expected = forecast(n_samples, n_features, k, n_components=d, eigen_solver=settings.eigen_solver)
    if not expected.fits:
        msg = (
            f"an embedding of {n_samples} samples with n_neighbors={k} needs about "
            f"{gigabytes(expected.peak_bytes)}, got {gigabytes(expected.available_bytes)} of free memory. "
            f"{remedies((expected.solver,))}"
        )
        raise TooLargeError(msg)


@lru_cache(maxsize=32)
def row_sizes(n_samples: int, n_neighbors: int, dimension: int) -> tuple[float, float]:
    """Entries a row of B and of G, counted on a cloud that fills a cube of that dimension."""
    cloud = np.random.default_rng(0).random((n_samples, dimension))
    k = min(n_neighbors, n_samples - 1)
    _, neighbors = cKDTree(cloud).query(cloud, k + 1)
    indptr = np.arange(0, n_samples * k + 1, k)
    links = csr_array((np.ones(n_samples * k), neighbors[:, 1:].ravel(), indptr), shape=(n_samples, n_samples))
    B = eye_array(n_samples, format="csr") + links @ links
    return B.nnz / n_samples, (B.T @ B).nnz / n_samples
