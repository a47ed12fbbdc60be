"""The letters of the method and the frozen records that pass between the stages.

    X    (n, D)  samples, one a row            k  neighbors of a sample      d  output dimensions
    W, J (n, n)  inner and joint weights       A = I - W,   B = I - J
    G    (n, n)  gamma A'A + B'B               Y  (n, d)  the embedding

Records hold arrays and sparse matrices; nobody changes them after they are made.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from hne.core.eigen.certificate import EigenPairs
from hne.settings import Settings

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
# SciPy ships no type stubs; the alias says which kind of object is meant.
SparseMatrix: TypeAlias = Any
# Takes a block of right-hand sides, one a column, and returns the solutions.
Solve: TypeAlias = Callable[[FloatArray], FloatArray]

INT32_MAX = 2**31 - 1


def index_kind(largest: int) -> type[np.signedinteger[Any]]:
    """Kind of integers for indices up to the largest: int32 where it fits, which is half the memory."""
    return np.int32 if largest <= INT32_MAX else np.int64


class PicklesFields:
    """Frozen dataclass whose pickles hold its fields alone: what it has cached is made again when asked for."""

    def __getstate__(self) -> dict[str, Any]:
        record: Any = self
        return {field.name: getattr(self, field.name) for field in fields(record)}


# What `eigen_solver_` says where `n_landmarks` was given.
LANDMARKS = "landmarks"
# Landmarks that rebuild a sample: this many, or so many a dimension.
NEAREST_LANDMARKS, LANDMARKS_A_DIMENSION = 12, 4
# Entries this near to the largest are as large: of two pieces, both are as far from their mean.
NEAR_TIE = 1e-6
# How a chart was found: the surface is unfolded, shortest-path distances along the graph are kept, or the first
# eigenvectors are mapped to the distances of near pairs.
UNFOLDED, ALONG_GRAPH, FIRST_EIGENVECTORS = "unfolded", "along the graph", "first eigenvectors"
ROUTES = (UNFOLDED, ALONG_GRAPH, FIRST_EIGENVECTORS)
# Metrics that order neighbors as Euclidean distances do: of the samples, and of their directions.
EUCLIDEAN = ("euclidean", "l2", "sqeuclidean", "minkowski")
DIRECTIONAL = ("cosine", "correlation")


def nearest_landmarks(n_components: int) -> int:
    """How many landmarks rebuild a sample; there must be more of them."""
    return max(NEAREST_LANDMARKS, LANDMARKS_A_DIMENSION * n_components)


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Give each column the sign that makes its largest entry positive; near-ties go to the first of them."""
    magnitude = np.abs(vectors)
    leader = np.argmax(magnitude >= (1 - NEAR_TIE) * magnitude.max(axis=0), axis=0)
    return vectors * np.sign(vectors[leader, np.arange(vectors.shape[1])])


def is_euclidean(metric: Any, params: Any) -> bool:
    """Whether the order of neighbors under the metric is that of Euclidean distances, of samples or of directions."""
    return (metric in DIRECTIONAL or metric in EUCLIDEAN) and not params


@dataclass(frozen=True, repr=False)
class NeighborGraph:
    """Row i lists the nearest samples to sample i, nearest first and never i itself.

    Rows may be of unequal length: behind its last neighbor a row has index -1 and distance inf.
    """

    indices: IndexArray  # (n, k)
    distances: FloatArray  # (n, k), ascending along a row
    method: str  # how it was found: "tree", "brute", "approximate", "metric" or "given"
    recall: float = 1.0  # share of true neighbors, measured on a sample of rows where the search is approximate

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.indices)

    @property
    def n_neighbors(self) -> int:
        """Number of neighbors a sample, k; the largest where rows are unequal."""
        return int(self.indices.shape[1])

    @property
    def n_others(self) -> int:
        """Most neighbors of a sample beside itself, which a given graph may list."""
        others = (self.indices >= 0) & (self.indices != np.arange(self.n_samples)[:, None])
        return int(others.sum(axis=1).max(initial=0))

    def nearest(self, count: int) -> "NeighborGraph":
        """Return the graph of at most `count` nearest neighbors of each sample."""
        return replace(self, indices=self.indices[:, :count].copy(), distances=self.distances[:, :count].copy())

    def among(self, rows: IndexArray) -> "NeighborGraph":
        """The graph of some samples that have no edges to others, numbered anew."""
        numbers = np.full(self.n_samples + 1, -1)
        numbers[rows] = np.arange(len(rows))
        return NeighborGraph(numbers[self.indices[rows]], self.distances[rows], self.method, self.recall)

    def __str__(self) -> str:
        lengths = np.count_nonzero(self.indices >= 0, axis=1)
        least, most = int(lengths.min()), int(lengths.max())
        each = f"{most}" if least == most else f"{least} to {most}"
        return f"{self.n_samples} samples, {each} each, {self.method}{'' if self.method == 'given' else ' search'}"

    __repr__ = __str__


@dataclass(frozen=True)
class ShortCircuits:
    """Edges that lead across a gap to another sheet of the surface, and the graph without them.

    Those about which somebody has decided by hand are not among the pairs.
    """

    pairs: IndexArray  # (p, 2), smaller and larger sample
    graph: NeighborGraph
    n_edges: int  # that there were
    is_cut: bool  # whether the graph is without them
    whole: NeighborGraph  # the graph with all of them
    is_searched: bool = True  # False for a layout, and for too many edges
    n_by_hand: int = 0  # edges beside them that somebody has cut

    @property
    def cut_pairs(self) -> IndexArray:
        """The pairs whose edge the graph has lost, but for those cut by hand."""
        return self.pairs if self.is_cut else self.pairs[:0]

    def __str__(self) -> str:
        by_hand = f", {self.n_by_hand} cut by hand" if self.n_by_hand else ""
        if not self.is_searched:
            return f"not searched for{by_hand}"
        fate = "cut" if self.is_cut else "suspected, and kept"
        return f"{len(self.pairs)} of {self.n_edges} edges {fate}{by_hand}"


@dataclass(frozen=True)
class Pieces:
    """The connected pieces of a neighbor graph, the largest first."""

    labels: IndexArray  # (n,), 0 for the largest piece
    sizes: IndexArray  # (count,), descending

    @property
    def count(self) -> int:
        """Number of pieces."""
        return len(self.sizes)

    def __str__(self) -> str:
        return "connected" if self.count == 1 else f"{self.count}, the largest of {self.sizes[0]} distinct samples"


@dataclass(frozen=True)
class Weights:
    """Both layers of weights as CSR matrices; every row of either sums to one, or is empty without neighbors."""

    W: SparseMatrix  # (m, n), inner: an entry a neighbor
    J: SparseMatrix  # (m, n), joint: the outer samples of a row

    def __str__(self) -> str:
        return f"{self.W.nnz} inner, {self.J.nnz} joint"


@dataclass(frozen=True)
class UniqueSamples:
    """Which samples are copies of each other: n samples at m places, the places in an order of their own.

    The order depends on what the samples are and not on where they stand, so that a pipeline over the places gives the
    same bits whatever the order of the samples. Of samples known by distances, those that only symmetry tells apart
    keep the order in which they came.
    """

    index: IndexArray  # (m,), a sample at each place: the first, or of distances one of copies that differ in rounding
    inverse: IndexArray  # (n,), the place of each sample

    @property
    def n_samples(self) -> int:
        """Number of samples, n, copies included."""
        return len(self.inverse)

    @property
    def n_places(self) -> int:
        """Number of places, m: samples that differ."""
        return len(self.index)

    @property
    def same_as(self) -> IndexArray:
        """The first sample at the place of each sample, (n,)."""
        lowest = np.full(self.n_places, self.n_samples, dtype=np.intp)
        np.minimum.at(lowest, self.inverse, np.arange(self.n_samples))
        return lowest[self.inverse]

    def pairs(self, of_places: IndexArray) -> IndexArray:
        """Pairs of places as pairs of their first samples, the smaller first, (p, 2)."""
        return np.sort(self.index[of_places], axis=1)

    def spread(self, matrix: SparseMatrix) -> SparseMatrix:
        """A CSR matrix over places as one over samples: rows of copies are equal, columns are those of the first."""
        n, rows = self.n_samples, matrix[self.inverse]
        columns = self.index[rows.indices].astype(rows.indices.dtype, copy=False)
        wide = csr_array((rows.data, columns, rows.indptr), shape=(n, n))
        wide.sort_indices()
        return wide


@dataclass(frozen=True, eq=False)
class Chart:
    """How the chart of a piece was found in the span of its eigenvectors, and how well it keeps lengths.

    Attributes
    ----------
    route : str
        "unfolded"; or where a surface cannot be unfolded, the one of "along the graph" (shortest-path distances) and
        "first eigenvectors" that preserves most neighborhoods.
    B : ndarray of shape (n_eigenvectors, n_components)
        Map of the unit eigenvectors to the chart; along the graph, the nearest such map.
    stress : float
        Mean of :math:`(|y_i - y_j| / |x_i - x_j| - 1)^2` over pairs within two steps of the neighbor graph: 0 keeps
        all near lengths.
    spectrum : ndarray of shape (n_eigenvectors,)
        Eigenvalues of the unfolding, descending. Where they fall off tells the dimension.
    way_stress : float
        Share of the lengths of paths that is not kept; NaN where none were measured.
    n_put_back : int
        Number of edges that were cut and put back, because the chart closes them.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Has the chart of the largest piece as `chart_`.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> chart = HNE().fit(make_swiss_roll(300, random_state=0).X).chart_
    >>> chart.route, chart.B.shape, chart.stress < 0.001
    ('unfolded', (20, 2), True)
    """

    route: str  # one of ROUTES
    B: FloatArray
    stress: float
    spectrum: FloatArray  # eigenvalues of P
    way_stress: float = nan
    n_put_back: int = 0

    def __str__(self) -> str:
        return f"{self.route} from {len(self.B)} eigenvectors, stress {self.stress:.2g}"


@dataclass(frozen=True)
class Charts:
    """Charts of all connected components, side by side, in the scale of the pipeline."""

    Y: FloatArray  # (m, d)
    charts: tuple[Chart | None, ...]  # None for a component that is drawn by its principal components

    def __str__(self) -> str:
        more = f", and {len(self.charts) - 1} more component(s)" if len(self.charts) > 1 else ""
        return f"{self.charts[0] or 'principal components'}{more}"


@dataclass(frozen=True)
class Layout:
    """Neighbor-preserving layout, in the scale of the pipeline."""

    Y: FloatArray  # (m, d), NaN for samples that are not embedded
    kl_divergence: float  # of the affinities from the similarities of the layout
    unit: float  # distance in Y at which the Student-t similarity is one half

    def __str__(self) -> str:
        return f"KL divergence {self.kl_divergence:.3f}"


@dataclass(frozen=True)
class Core:
    """What the stages made over places: all arrays have a row for each place, in the order of `UniqueSamples`."""

    X: Any  # the samples in the scale of the pipeline: dense, CSR, or Distances
    graph: NeighborGraph
    pieces: Pieces  # as found, before any were joined
    weights: Weights
    reconstruction_errors: FloatArray  # (m,), NaN for a sample without neighbors
    short_circuits: IndexArray  # (p, 2), pairs of places whose edge was cut, or is suspected where it was kept
    Y: FloatArray  # (m, d), coordinates: in the scale of X, or unit eigenvectors
    # Of each embedded connected component, the largest first; None where it is too small. A layout has neither.
    eigenpairs: "tuple[EigenPairs | None, ...]" = ()
    charts: tuple[Chart | None, ...] = ()  # empty for eigenvectors too
    kl_divergence: float = nan  # of a layout, as in `Layout`
    layout_unit: float = nan


@dataclass(frozen=True, repr=False)
class Embedding(PicklesFields):
    """What every stage from X to Y made: arrays have a row for each sample, copies included.

    Attributes
    ----------
    settings : Settings
        The parameters, none of them open.
    distinct : UniqueSamples
        Which samples are copies of each other.
    units : InputScaling
        Shift and scale between X and the pipeline.
    core : Core
        The stages themselves, with a row for each distinct sample, in an order of their own.
    dtype : type
        Kind of the coordinates; all is computed in float64.
    trust : Assessment or None
        How far to trust it; None where that has not been measured, as in a loaded model.
    tuning : Tuning or None
        How settings were chosen; None where nothing was "auto", and in a loaded model.

    See Also
    --------
    hne.embed : Makes it.
    hne.HierarchicNeighborsEmbedding.from_embedding : Makes an estimator of it.

    Examples
    --------
    >>> from hne import embed
    >>> from hne.datasets import make_swiss_roll
    >>> result = embed(make_swiss_roll(300, random_state=0).X)
    >>> result.Y.shape, result.weights.W.shape, result.pieces.count
    ((300, 2), (300, 300), 1)
    """

    settings: Settings
    distinct: UniqueSamples
    units: Any
    core: Core
    dtype: Any
    trust: Any = None
    tuning: Any = None

    @cached_property
    def Y(self) -> NDArray[Any]:
        """The coordinates, (n, d)."""
        return self.core_Y[self.distinct.inverse].astype(self.dtype, copy=False)

    @property
    def axis(self) -> str:
        """Name of a coordinate: "chart coordinate", "layout coordinate" or "eigenvector"."""
        return f"{self.settings.coordinates} coordinate" if self.settings.in_lengths else "eigenvector"

    @property
    def is_cut(self) -> bool:
        """Whether short circuits were cut; else they are only suspected."""
        return self.settings.short_circuits == "cut"

    @property
    def chart(self) -> Chart | None:
        """How the coordinates of the largest piece were found, in the units of X; None where they are no chart."""
        charts = self.core.charts
        if not charts or charts[0] is None:
            return None
        lengths = {"B": self.units.restore_lengths(charts[0].B)}
        with np.errstate(over="ignore", under="ignore"):
            lengths["spectrum"] = self.units.restore_lengths(np.sqrt(charts[0].spectrum)) ** 2
        return replace(charts[0], **lengths)

    @cached_property
    def short_circuits(self) -> IndexArray:
        """Pairs of samples whose edge was cut, or is suspected where it was kept, (p, 2), the worst first."""
        return self.distinct.pairs(self.core.short_circuits)

    @property
    def cut_pairs(self) -> IndexArray:
        """Pairs of samples whose edge was cut, (p, 2); of `cut_edges` all, whether there was an edge or not."""
        by_hand = np.array(self.settings.cut_edges or (), dtype=np.intp).reshape(-1, 2)
        return np.concatenate([self.short_circuits[: len(self.short_circuits) * self.is_cut], by_hand])

    @property
    def core_Y(self) -> FloatArray:
        """The coordinates that are handed out, a row for each distinct sample, in float64."""
        return self.units.restore_lengths(self.core.Y) if self.settings.in_lengths else self.core.Y

    @property
    def eigenpairs(self) -> "EigenPairs | None":
        """Eigenpairs of the largest component, a row for each of its samples; None if there are none."""
        return self.core.eigenpairs[0] if self.core.eigenpairs else None

    @cached_property
    def graph(self) -> NeighborGraph:
        """The neighbors of every sample: of copies, the first stands for all."""
        graph, first, place = self.core.graph, self.distinct.index, self.distinct.inverse
        indices = np.where(graph.indices >= 0, first[graph.indices], -1)
        return NeighborGraph(indices[place], graph.distances[place], graph.method, graph.recall)

    @cached_property
    def pieces(self) -> Pieces:
        """The connected pieces of the graph, sizes with all copies; the largest is that of most distinct samples."""
        labels = self.core.pieces.labels[self.distinct.inverse]
        return Pieces(labels, np.bincount(labels, minlength=self.core.pieces.count))

    @cached_property
    def weights(self) -> Weights:
        """Both layers of weights, (n, n): of copies, the first stands for all."""
        core = self.core.weights
        return Weights(self.distinct.spread(core.W), self.distinct.spread(core.J))

    @cached_property
    def reconstruction_errors(self) -> FloatArray:
        """Lengths of x - rebuilt x through the joint weights, (n,); NaN for samples without neighbors."""
        return self.core.reconstruction_errors[self.distinct.inverse]

    @property
    def reconstruction_error(self) -> float:
        """Mean of `reconstruction_errors`, NaN left out; inf where float64 ends."""
        errors = self.reconstruction_errors[~np.isnan(self.reconstruction_errors)]
        with np.errstate(over="ignore"):
            return float(errors.mean()) if errors.size else float("nan")

    def __repr__(self) -> str:
        n, d = self.Y.shape
        itself = "in" if self.settings.include_self else "left out of"
        return (
            f"Embedding of {n} samples in {d} dimensions, {self.pieces.count} piece(s), mean reconstruction error "
            f"{self.reconstruction_error:.3g} (samples {itself} their own outer layer) ({self.settings})"
        )
