"""Numbers of samples, features and neighbors -> memory and time of an embedding, before anything is computed.

Both depend most on how many dimensions the samples fill: `measured_dimension` looks at a few hundred of them.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.spatial import cKDTree

from hne._runtime.memory import available_bytes, gigabytes
from hne._runtime.progress import mute_progress
from hne.core.eigen.costs import (
    CSR,
    MEMORY_SHARE,
    Sizes,
    candidates,
    choose_solver,
    remedies,
    solver_bytes,
    solver_seconds,
)
from hne.core.layout.repulsion import MAX_EXACT_SAMPLES
from hne.core.parameters import check_integer, check_settings, is_auto
from hne.core.samples.kinds import Samples
from hne.core.tangent.frames import MOST_NEIGHBORS, dimension_of, drawn_rows, nearest_of_rows
from hne.exceptions import InputError, InputTypeError, TooLargeError
from hne.settings import AUTO, LAYOUT_NEIGHBORS, Settings, chart_neighbors

# What Python and the libraries take.
LIBRARIES = 220e6
# What a forecast adds to what is counted: it comes out 0.8 to 1.5 times the measured peak of ten problems
# (benchmarks/forecasts.py). What is refused is refused without it.
MARGIN = 1.35
# Size of the cloud on which neighbors' neighbors are counted, and the most neighbors there: rows grow with k. Many
# dimensions take more samples to fill, and are more like a normal cloud than like a cube.
CLOUD, LARGE_CLOUD, CLOUD_NEIGHBORS = 4_000, 8_000, 30
CUBE_MAX_DIMENSION = 3
# Rows grow little with more dimensions than these, which take long to search.
CLOUD_MAX_DIMENSION = 12
# Samples whose neighbors tell how many dimensions are filled: 500 rows against a million samples take a second.
MEASURED_ROWS = 500
# How far off a time may be, either way.
TIME_FACTOR = 2.0
# k-d tree, candidates and their distances, a sample.
TREE_BYTES = 160
# Beyond as many features as a tree takes (as in `hne.core.neighbors.exact`), search works on
# a copy in double and one in single precision.
TREE_MAX_FEATURES, SEARCHED_COPIES = 12, 1.5
# Seconds on 2 cores of a sample in a tree, and how much longer for each dimension beyond three; of a feature of a pair,
# and of a pair, by products. All of these are fitted to the problems of benchmarks/forecasts.py and to rolls of 5 000
# to a million samples.
TREE_SECONDS, TREE_GROWTH, PAIR_SECONDS, SCAN_SECONDS = 1.5e-6, 1.8, 1.6e-11, 1e-10
# Of a sample's weights, times k^2.2, and so many features that take as long again.
WEIGHT_SECONDS, WEIGHT_POWER, WEIGHT_FEATURES = 1.5e-8, 2.2, 20
# Of a sample among short circuits and in its chart: of a surface, and where samples fill more; of a sample, and of a
# feature of it, in checks and trust.
CIRCUIT_SECONDS, CHART_SECONDS = (2e-6, 1.5e-5), (1.5e-6, 3e-5)
TRUST_SECONDS, TRUST_FEATURE_SECONDS = 1e-6, 2.5e-7
# Of a sample in 200 steps of a layout, and of an entry of its weights; and how many times the bytes of the weights the
# affinities take while they are built.
LAYOUT_SECONDS, AFFINITY_SECONDS, AFFINITY_COPIES = 2e-5, 4e-7, 4
# Of a pair of samples and a coordinate in these steps, where all pairs are summed, and of the grid in three dimensions.
LAYOUT_PAIR_SECONDS, LAYOUT_GRID_SECONDS = 6e-8, 13.0
# Samples and features of which all distances are held at once (as in `hne.core.tangent.score`), and how often.
FEW_SAMPLES, MANY_FEATURES, DISTANCES_HELD = 3_000, 100, 8
# Share of reserve in the array that joint weights grow in.
RESERVE = 1.2


@dataclass(frozen=True, repr=False)
class Forecast:
    """Memory and time that an embedding will take; print it to read all of it in one line.

    Attributes
    ----------
    n_samples, n_features, n_neighbors : int
        What it was made for.
    intrinsic_dimension : int
        Dimension that the samples were taken to fill.
    stages : dict of str to float
        Bytes of the whole process that should be enough at the peak of each stage, the samples and the libraries
        included: 0.8 to 1.5 times what was measured.
    seconds : dict of str to float
        Rough time of each stage on 2 cores: far too short where the samples fill more dimensions than was said.
    solver : str
        Eigensolver that "auto" would take, or the one asked for; "none" for a layout.
    available_bytes : int
        Memory that is free now.
    fits : bool
        Whether what is not there yet is free, with a reserve of a tenth.
    advice : str
        What to do where it does not fit, else empty.

    See Also
    --------
    hne.forecast : Makes it.
    """

    n_samples: int
    n_features: int
    n_neighbors: int
    intrinsic_dimension: int
    stages: dict[str, float]
    seconds: dict[str, float]
    solver: str
    available_bytes: int
    fits: bool
    advice: str

    @property
    def peak_bytes(self) -> float:
        """Memory of the largest stage."""
        return max(self.stages.values())

    @property
    def seconds_range(self) -> tuple[float, float]:
        """Least and most seconds that all stages together should take."""
        total = sum(self.seconds.values())
        return total / TIME_FACTOR, total * TIME_FACTOR

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {gigabytes(count)}" for name, count in self.stages.items())
        return (
            f"{self.n_samples} x {self.n_features} with {self.n_neighbors} neighbors, filling "
            f"{self.intrinsic_dimension} dimensions: peak {gigabytes(self.peak_bytes)} ({stages}; {self.solver} "
            f"solver), {gigabytes(self.available_bytes)} free: "
            + ("it fits." if self.fits else f"it does not fit. {self.advice}")
        )

    __repr__ = __str__


def forecast(
    n_samples: int,
    n_features: int,
    n_neighbors: int | None = None,
    *,
    n_components: int = 2,
    intrinsic_dimension: int | None = None,
    coordinates: str = "auto",
    eigen_solver: str = "auto",
    n_landmarks: int | None = None,
) -> Forecast:
    """Predict memory, time and solver of an embedding from the shape of its data.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X. Memory grows about in proportion to the samples.
    n_neighbors : int or None, default=None
        Neighbors of a sample: more take more of both. None is the default of `hne.HierarchicNeighborsEmbedding` for
        these coordinates.
    n_components : int, default=2
        Number of coordinates.
    intrinsic_dimension : int or None, default=None
        Number of dimensions that the samples fill. More make longer rows and far larger factors: images and noise
        fill ten and more. None takes `n_components`, the least it can be; more than `n_features` means all of them.
        `hne.metrics.intrinsic_dimension` measures it on samples you have.
    coordinates, eigen_solver : str, default="auto"
        As in `hne.HierarchicNeighborsEmbedding`. Coordinates "auto" are a layout where the samples fill more dimensions
        than there are coordinates, and a chart elsewhere.
    n_landmarks : int or None, default=None
        As there: fewer take less memory.

    Returns
    -------
    Forecast
        Printed, it says in a line whether it fits, and what to do if not.

    See Also
    --------
    hne.core.forecast.Forecast : Its fields.
    hne.exceptions.TooLargeError : Raised by a fit for which there is too little memory.

    Examples
    --------
    >>> from hne import forecast
    >>> small, large = forecast(10_000, 3), forecast(1_000_000, 3)
    >>> small.solver, 10 < large.peak_bytes / small.peak_bytes < 100
    ('direct', True)
    """
    n = check_integer("n_samples", n_samples, 2, "Try n_samples=1000")
    D = check_integer("n_features", n_features, 1, "Try n_features=3")
    solving = {"coordinates": coordinates, "eigen_solver": eigen_solver, "n_landmarks": n_landmarks}
    for name, number in (("n_neighbors", n_neighbors), ("n_components", n_components)):
        if is_auto(number):
            remedy = "A forecast chooses nothing: pass a number"
            raise InputTypeError(parameter=name, rule="must be an integer", value=number, remedy=remedy)
    if intrinsic_dimension is not None:
        check_integer("intrinsic_dimension", intrinsic_dimension, 1, "Try intrinsic_dimension=2")
    d = check_settings({"n_components": n_components}).n_components
    if coordinates == AUTO:
        solving["coordinates"] = "layout" if (intrinsic_dimension or 0) > d else "chart"
    default = min(LAYOUT_NEIGHBORS, n - 1) if solving["coordinates"] == "layout" else chart_neighbors(n)
    k = default if n_neighbors is None else n_neighbors
    settings = check_settings({"n_neighbors": k, "n_components": n_components, **solving})
    filled = min(d if intrinsic_dimension is None else intrinsic_dimension, D)
    if d > D:
        msg = f"n_components={d} needs at least {d} features, got n_features={D}. Lower n_components."
        raise InputError(msg, parameter="n_components", value=d)
    if n <= k:
        msg = f"n_neighbors={k} needs at least {k + 1} samples, got n_samples={n}. Lower n_neighbors."
        raise InputError(msg, parameter="n_neighbors", value=k)
    return _foresee(n, D, settings, filled, LIBRARIES, MARGIN)


def measured_dimension(X: Samples, metric: Any = "euclidean", params: Any = None, n_threads: int = 1) -> int | None:
    """How many dimensions samples fill, told by a few hundred of them; None where too few are known."""
    n = X.shape[0]
    with mute_progress():
        rows, k = drawn_rows(n, MEASURED_ROWS), min(MOST_NEIGHBORS, n - 1)
        _, distances = nearest_of_rows(X, rows, k, metric, params, n_threads)
    found = dimension_of(X, distances, metric)
    return None if found is None else found.dimension


def check_fits(n_samples: int, n_features: int, settings: Settings) -> None:
    """Raise TooLargeError for what will not fit even if the samples fill no more than `n_components` dimensions."""
    # The samples are there already.
    present = LIBRARIES + 8.0 * n_samples * n_features
    expected = _foresee(n_samples, n_features, settings, min(settings.n_components, n_features), present)
    if not expected.fits:
        msg = (
            f"an embedding of {n_samples} samples with n_neighbors={settings.n_neighbors} needs about "
            f"{gigabytes(expected.peak_bytes)}, got {gigabytes(expected.available_bytes)} of free memory. "
            f"{expected.advice}"
        )
        raise TooLargeError(msg)


def _foresee(
    n: int, n_features: int, settings: Settings, dimension: int, present: float, margin: float = 1.0
) -> Forecast:
    k, rows, free = settings.n_neighbors, row_sizes(n, settings.n_neighbors, dimension), available_bytes()
    sizes = Sizes(n, settings.n_eigenvectors(n), k + 1, *rows, settings.n_landmarks, settings.n_components)
    is_tree, samples = n_features <= TREE_MAX_FEATURES, 8.0 * n * n_features
    # The samples as they came, and once more in canonical order.
    held = LIBRARIES + 2 * samples
    graph, weights = 16.0 * n * k, CSR * n * (k + RESERVE * sizes.joint_row)
    search = TREE_BYTES * n if is_tree else SEARCHED_COPIES * samples
    if n <= FEW_SAMPLES and n_features >= MANY_FEATURES:
        search += DISTANCES_HELD * 8.0 * n * n
    stages = {"neighbors": held + graph + search, "weights": held + graph + weights}
    if settings.coordinates == "layout":
        # Affinities are sums of the weights and their transpose, built in double and kept in single precision.
        stages["layout"] = held + graph + weights + AFFINITY_COPIES * CSR * n * (k + sizes.joint_row)
        solver = "none"
        return _complete(n, n_features, settings, dimension, sizes, stages, solver, free, present, margin)
    held += graph + weights + CSR * n * (sizes.inner_row + sizes.joint_row)
    try:
        solver = choose_solver(sizes, settings.eigen_solver, free - (held - present))[0][0]
    except TooLargeError:
        considered = candidates(sizes) if settings.eigen_solver == "auto" else (settings.eigen_solver,)
        solver = min(considered, key=lambda one: solver_bytes(sizes, one))
    stages["eigenpairs"] = held + solver_bytes(sizes, solver)
    return _complete(n, n_features, settings, dimension, sizes, stages, solver, free, present, margin)


def _complete(
    n: int,
    n_features: int,
    settings: Settings,
    dimension: int,
    sizes: Sizes,
    stages: dict[str, float],
    solver: str,
    free: int,
    present: float,
    margin: float,
) -> Forecast:
    """Add times, and advice where memory does not suffice."""
    k, is_tree, is_layout = settings.n_neighbors, n_features <= TREE_MAX_FEATURES, solver == "none"
    stages = {name: LIBRARIES + margin * (count - LIBRARIES) for name, count in stages.items()}
    fits, advice = max(stages.values()) - present <= MEMORY_SHARE * free, ""
    if not fits and stages["neighbors"] - present <= MEMORY_SHARE * free:
        advice = "Lower n_neighbors, or embed a part of the samples and transform the rest."
        advice = advice if is_layout else remedies(sizes, (solver,))
    elif not fits and is_tree:
        advice = "Embed a part of the samples and transform the rest, or spread them over Dask workers (see the guide "
        advice += "on large data)."
    elif not fits:
        advice = "Reduce the features (PCA), or embed a part of the samples and transform the rest."
    tree = TREE_SECONDS * n * TREE_GROWTH ** max(0, dimension - 3) if is_tree else math.inf
    is_bent = dimension > settings.n_components
    seconds = {
        "neighbors": min(tree, (PAIR_SECONDS * n_features + SCAN_SECONDS) * n * n),
        "short circuits": 0.0 if is_layout else CIRCUIT_SECONDS[is_bent] * n,
        "weights": WEIGHT_SECONDS * n * k**WEIGHT_POWER * (1 + n_features / WEIGHT_FEATURES),
    }
    if is_layout:
        d, pairs = settings.n_components, LAYOUT_PAIR_SECONDS * settings.n_components * n**2
        repulsion = pairs if d > len(MAX_EXACT_SAMPLES) else min(pairs, LAYOUT_GRID_SECONDS) if d > 2 else 0.0
        seconds["layout"] = (LAYOUT_SECONDS + AFFINITY_SECONDS * (k + sizes.joint_row)) * n + repulsion
    else:
        seconds["eigenpairs"] = solver_seconds(sizes, solver)
        seconds["chart"] = CHART_SECONDS[is_bent] * n if settings.coordinates == "chart" else 0.0
    seconds["trust"] = (TRUST_SECONDS + TRUST_FEATURE_SECONDS * n_features) * n
    return Forecast(n, n_features, k, dimension, stages, seconds, solver, free, fits, advice)


def row_sizes(n_samples: int, n_neighbors: int, dimension: int) -> tuple[float, float]:
    """Entries a row of B and of G, for samples that fill that many dimensions."""
    k, dimension = min(n_neighbors, CLOUD_NEIGHBORS), min(dimension, CLOUD_MAX_DIMENSION)
    size = CLOUD if dimension <= CUBE_MAX_DIMENSION else LARGE_CLOUD
    joint_row, row_entries = _counted_rows(min(n_samples, size), k, dimension)
    return min(n_samples, joint_row * n_neighbors / k), min(n_samples, row_entries * n_neighbors / k)


@lru_cache(maxsize=32)
def _counted_rows(n_samples: int, n_neighbors: int, dimension: int) -> tuple[float, float]:
    rng, shape = np.random.default_rng(0), (n_samples, dimension)
    cloud = rng.random(shape) if dimension <= CUBE_MAX_DIMENSION else rng.normal(size=shape)
    _, neighbors = cKDTree(cloud).query(cloud, n_neighbors + 1)
    indptr = np.arange(0, n_samples * n_neighbors + 1, n_neighbors)
    columns = neighbors[:, 1:].ravel()
    links = csr_array((np.ones(len(columns)), columns, indptr), shape=(n_samples, n_samples))
    B = eye_array(n_samples, format="csr") + links @ links
    return B.nnz / n_samples, (B.T @ B).nnz / n_samples
