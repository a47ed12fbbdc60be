"""Every parameter once: its type, choices, default, range, help, and the stage that it belongs to. No NumPy.

The constructor of `hne.HNE`, the checks, the options of the command line, the keys of checkpoints and the table in
docs/guide/parameters.md all come from here. A parameter belongs to the first stage whose result it changes: that stage
and those after it are made anew with it. To add one: a field of `Parameters` and of `Settings`, and the stage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cache
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Auto = Literal["auto"]
# Pairs of samples, the smaller first, each once and in order.
SamplePairs: TypeAlias = tuple[tuple[int, int], ...]
AUTO = "auto"
PRECOMPUTED = "precomputed"
VARIANTS = ("ihne", "rhne", "bhne")
COORDINATES = ("auto", "chart", "layout", "eigenvectors")
COORDINATES_IN_WORDS = {"chart": "a chart", "layout": "a layout", "eigenvectors": "eigenvectors"}
EIGEN_SOLVERS = ("auto", "dense", "direct", "iterative", "slepc")

# The stages of a fit, in their order. RUN: how and where it is computed, on which no result depends.
NEIGHBORS, SHORT_CIRCUITS, PIECES, WEIGHTS = "neighbors", "short circuits", "pieces", "weights"
EIGENPAIRS, CHART, LAYOUT, TRUST, RUN = "eigenpairs", "chart", "layout", "trust", "run"
# A fit has either eigenpairs and a chart, or a layout.
STAGES = (NEIGHBORS, SHORT_CIRCUITS, PIECES, WEIGHTS, EIGENPAIRS, CHART, TRUST)

# Below the first a ridge drowns in the rounding of the Gram matrix it is added to, which then decides the weights;
# beyond the second, nothing but the ridge is left.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-12, 1e12
# Each round costs as much as the first; whoever asks for more than this waits for something else.
MOST_ROUNDS = 1000
# Planes in float64 do not come to rest below this.
SMALLEST_TOL = 1e-12


@dataclass(frozen=True)
class Setting:
    """What is known of a parameter beside its name, type and default."""

    stage: str
    help: str  # on the command line; "" for what is no option there
    choices: tuple[str, ...] = ()
    low: float | None = None  # bounds of a number, both allowed; a whole number where `low` is one
    high: float | None = None
    remedy: str = ""  # what to try where a value is refused
    may_be_auto: bool = False  # chosen by looking at the samples
    may_be_none: bool = False
    published: Any = None  # in the published method, where that is not the default
    stand_in: Any = None  # until what is "auto" or None is known: what fits the fewest samples
    flags: tuple[str, ...] = ()  # further names on the command line
    metavar: str | None = None


def setting(default: Any, stage: str, text: str = "", **facts: Any) -> Any:
    """A field of `Parameters` with its default and what is known of it."""
    return field(default=default, metadata={"setting": Setting(stage, text, **facts)})


# Of both lists of edges.
OF_EDGES = {"remedy": "Pass pairs such as [(12, 57), (80, 91)]", "may_be_none": True, "metavar": "A-B,..."}


@dataclass(repr=False, eq=False)
class Parameters:
    """What a user may say of an embedding: the fields are the arguments of `hne.HNE`.

    Parameters
    ----------
    n_neighbors : int, "auto" or None, default=None
        Number k of neighbors of a sample in each layer. Larger smooths over noise and gaps, until neighborhoods reach
        across folds; smaller follows finer structure, until the neighbor graph falls into pieces.

        - None: 12 for a chart, or 8 with more than 5 000 samples, and 3 of a curve; 10 for a layout; all neighbors of
          a graph given as `neighbors`.
        - "auto": fit several settings and keep the one of the best score, which needs no truth (`hne.tuning.tune`).
          `variant` and `reg` are chosen together with it where they are "auto".
    n_components : int or "auto", default=2
        Number d of coordinates, at most the number of features. 2 is for pictures; fewer than the data has
        dimensions lose structure, more repeat it. "auto" takes `hne.metrics.intrinsic_dimension`.
    variant : {"ihne", "rhne", "bhne", "auto"}, default="ihne"
        How the outer layer, the neighbors' neighbors, is weighed.

        - "ihne": each neighbor's neighborhood rebuilds the sample on its own (affine invariance first). The fastest,
          and in a chart the nearest to the truth.
        - "rhne": all of them rebuild it at once (reconstruction first).
        - "bhne": each in turn rebuilds what the others leave (balanced; the published default).
    reg : float, "auto" or None, default=None
        Ridge of the small least-squares problems, relative to the trace of their Gram matrix. Too large bends straight
        lines, until one eigenvector is a parabola of another; too small follows noise, which does less harm. None takes
        1e-4 (k/6)^3.3 for a chart and 0.1 for a layout.
    coordinates : {"auto", "chart", "layout", "eigenvectors"}, default="auto"
        What `embedding_` holds; `coordinates_` says which one was used.

        - "auto": a chart near a surface, where `n_components` directions explain 88 % of the variance of small
          neighborhoods or more, and of curves and rings, whose minimum spanning tree is a path; a layout elsewhere.
        - "chart": preserves distances. It unfolds the surface, or follows shortest paths along the neighbor graph where
          it cannot be unfolded, in the span of up to 20 eigenvectors. Choose it for surfaces that are hidden by many
          columns of noise.
        - "layout": preserves neighborhoods and groups, for tables, images, spectra, cells and texts. The weights of
          both layers are affinities, and t-SNE's loss is minimized from a PCA start. Distances between groups,
          densities and sizes of groups are not meaningful. With more than three coordinates its time grows with the
          square of the number of samples.
        - "eigenvectors": as published, columns of unit length.
    metric : str or callable, default="euclidean"
        Distance of the neighbor search: a metric of scikit-learn, or a function of two samples. Weights come from the
        coordinates whatever the metric. With "precomputed", X holds distances, and weights come from these: a full
        square matrix, or a sparse graph as of `sklearn.neighbors.KNeighborsTransformer` with some 40 times as many
        neighbors as `n_neighbors`, which knows the distances among neighbors' neighbors.
    n_jobs : int or None, default=None
        Threads of every stage. More are faster and change no bit of the result on one machine with one version of its
        libraries. -1 and None take all cores; None follows a `joblib.parallel_config` of more than one.
    verbose : int, default=0
        What `fit` and `transform` write to standard error: nothing (0), a line for each stage with its time and a
        counter while it runs (1), or a line for each task of a stage too (2).
    pieces : {"separate", "join", "largest", "raise"}, default="separate"
        What to do with a neighbor graph in several pieces (connected components), whose relative places are unknown.

        - "separate": embed each on its own and place them side by side, larger ones larger, near ones near. A piece
          of a handful of samples is drawn by its principal components. A layout places all of them together.
        - "join": add the shortest edges between pieces.
        - "largest": embed the largest alone; other samples get NaN.
        - "raise": raise `hne.exceptions.DisconnectedGraphError`.
    short_circuits : {"cut", "keep"}, default="cut"
        What to do with edges of the neighbor graph that jump across a gap to another sheet: those that leave the
        tangent planes at both ends and have a long way round. "cut" removes them before weights are made, in a given
        graph too. "keep", as published, leaves them in and counts them against the embedding. They are not searched
        for among more than 60 million neighbors, nor for a layout, which uses the graph as it was found apart from
        `cut_edges`. See `short_circuits_`.
    cut_edges : array-like of shape (n_edges, 2) or None, default=None
        Pairs of samples, counted from 0, whose edge to cut by hand: for wrong edges that were not found. A pair without
        an edge changes nothing, nor do these change what else is found. A chart puts none of them back;
        `pieces="join"` may, where they parted a piece.
    keep_edges : array-like of shape (n_edges, 2) or None, default=None
        Pairs of samples whose edge to keep, whatever speaks against it: for single edges that are right, where
        `short_circuits="keep"` would keep wrong ones too. Far edges of isolated samples are cut nonetheless, except
        for a layout.
    neighbors : str, sparse matrix or pair of arrays, default="auto"
        How neighbors are searched, or the neighbors themselves: a sparse graph of distances, or (indices, distances)
        with short rows filled up with -1. `n_neighbors` takes the nearest of them. Samples that only far edges connect
        to others are cut off, except for a layout.

        - "exact": by a tree up to 12 features, and beyond in time of n^2 D.
        - "approximate": aims to miss one neighbor in a hundred (`neighbor_recall_`); needs the extra `approx`. Exact
          where that is faster, below 5 000 samples or with k beyond n / 32.
        - "auto": exact up to n^2 D = 1.5e12, which is 120 000 samples of 100 features; beyond, approximate where the
          extra is installed.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as p of "minkowski".
    n_landmarks : int or None, default=None
        For millions of samples: solve on so many of them, evenly spread, and refine on all. None solves for all. More
        are nearer to the eigenvectors and take longer: take 1 % of the samples or more, nearer to each other than the
        folds of the data. Needs `eigen_solver="auto"` and a dense X; an embedding that still moves when refinement
        ends raises `hne.exceptions.LandmarkWarning`. Has no effect on a layout, which has no eigenvectors and is always
        computed for all samples.
    assess : bool, default=True
        Whether to end by measuring how far the embedding can be trusted (`trust_`), which may warn. False saves that
        time; `trust_` is then measured when you read it.
    executor : DaskExecutor or None, default=None
        Who runs the blocks of a fit: a `hne.scale.DaskExecutor`; None for this process, or for a Dask array the active
        client. Neighbors and weights are the same to the bit, approximate search apart. See the guide on large data.
    checkpoint : path or None, default=None
        Folder that keeps each finished stage and block. The same fit, killed at any moment and called again, goes on
        from there to the same bits; a fit with another `reg` finds the neighbors there. None keeps nothing.
    outer_reg : float or None, default=None
        Ridge of the outer problems, with the effect of `reg`, which None takes.
    gamma : float, default=1.0
        Weight of the inner layer in the objective. Larger is nearer to plain LLE; between 0.5 and 10 it hardly matters.
    n_rounds : int, default=1
        Rounds of "bhne" after its first; other variants do not use it. 0 is worse, more than 1 costs time and changes
        little.
    include_self : bool, default=True
        Whether a sample takes part in rebuilding itself, as a neighbor of its neighbors. True as in the paper, whose
        reconstruction errors are small in part because of it.
    eigen_solver : {"auto", "dense", "direct", "iterative", "slepc"}, default="auto"
        How eigenvectors are found: a matter of time and memory. Eigenvectors and charts of surfaces are the same to
        rounding; charts of tables differ by up to a hundredth of their range.

        - "auto": "dense" up to 250 samples, beyond what is fastest by predicted size and fits into free memory; if
          that fails, the next.
        - "dense": LAPACK on the full matrix.
        - "direct": a sparse factorization, for curves and surfaces.
        - "iterative": no factorization, for data that fills so many dimensions that factors get too large; far slower
          on surfaces.
        - "slepc": a factorization spread over processes or machines by MPI. "auto" takes over below 2 000 samples, and
          with a `hne.exceptions.FallbackWarning` where slepc4py is missing. See the guide on large data.
    tol : float, default=1e-7
        Angle in radians by which the embedding may still move when an iteration stops. Larger stops earlier.
    random_state : int, RandomState or None, default=None
        Seed of start vectors and of the index of approximate neighbors. None uses the same seed every time, so all
        runs give the same bits. Another seed moves eigenvectors and charts of surfaces by rounding, and charts of
        tables by up to a hundredth of their range.
    """

    n_neighbors: int | Auto | None = setting(
        None,
        NEIGHBORS,
        "neighbors of a sample, or auto [12 for a chart, 8 of many samples, 10 for a layout]",
        low=1,
        remedy="Try n_neighbors=6",
        may_be_auto=True,
        may_be_none=True,
        published=6,
        stand_in=4,
        flags=("-k",),
        metavar="K",
    )
    _: KW_ONLY
    n_components: int | Auto = setting(
        2,
        SHORT_CIRCUITS,
        "coordinates to find, or auto [2]",
        low=1,
        remedy="Try n_components=2",
        may_be_auto=True,
        stand_in=1,
        flags=("-d",),
        metavar="D",
    )
    variant: str = setting(
        "ihne",
        WEIGHTS,
        "how the outer layer is weighed [ihne]",
        choices=VARIANTS,
        may_be_auto=True,
        published="bhne",
        stand_in="bhne",
    )
    reg: float | Auto | None = setting(
        None,
        WEIGHTS,
        "ridge of the small problems, or auto [by K for a chart, 0.1 for a layout]",
        low=SMALLEST_WEIGHT,
        high=LARGEST_WEIGHT,
        remedy="Try reg=1e-4",
        may_be_auto=True,
        may_be_none=True,
        published=1e-4,
        stand_in=1e-4,
    )
    outer_reg: float | None = setting(
        None,
        WEIGHTS,
        "ridge of the outer ones [that of --reg]",
        low=SMALLEST_WEIGHT,
        high=LARGEST_WEIGHT,
        remedy="Try outer_reg=1e-4",
        may_be_none=True,
        metavar="REG",
    )
    gamma: float = setting(
        1.0,
        EIGENPAIRS,
        "weight of the inner layer [1]",
        low=SMALLEST_WEIGHT,
        high=LARGEST_WEIGHT,
        remedy="The paper uses gamma=1.0",
    )
    n_rounds: int = setting(
        1,
        WEIGHTS,
        "rounds of bhne after its first [1]",
        low=0,
        high=MOST_ROUNDS,
        remedy="The paper uses n_rounds=1",
        metavar="N",
    )
    include_self: bool = setting(
        True, WEIGHTS, "samples stay in their own outer layer, as in the paper [yes]", remedy="The paper uses True"
    )
    metric: Any = setting(
        "euclidean", NEIGHBORS, "of the neighbor search; precomputed: INPUT holds distances [euclidean]"
    )
    metric_params: dict[str, Any] | None = setting(
        None, NEIGHBORS, "further arguments of the metric", may_be_none=True, metavar="JSON"
    )
    neighbors: Any = setting(
        "auto", NEIGHBORS, "how they are searched [auto]", choices=("auto", "exact", "approximate")
    )
    short_circuits: str = setting(
        "cut",
        SHORT_CIRCUITS,
        "edges across a gap to another sheet; keep, as published [cut]",
        choices=("cut", "keep"),
        published="keep",
    )
    cut_edges: Any = setting(
        None, SHORT_CIRCUITS, "edges to cut by hand, pairs of rows such as 13-58,81-92 [none]", **OF_EDGES
    )
    keep_edges: Any = setting(
        None, SHORT_CIRCUITS, "edges that are no short circuits, pairs of rows such as 13-58,81-92 [none]", **OF_EDGES
    )
    pieces: str = setting(
        "separate", PIECES, "a graph that falls apart [separate]", choices=("separate", "join", "largest", "raise")
    )
    coordinates: str = setting(
        "auto",
        SHORT_CIRCUITS,
        "chart (keeps distances), layout (keeps neighborhoods), eigenvectors as published [auto]",
        choices=COORDINATES,
        published="eigenvectors",
    )
    eigen_solver: str = setting("auto", EIGENPAIRS, "how eigenvectors are found [auto]", choices=EIGEN_SOLVERS)
    n_landmarks: int | None = setting(
        None,
        EIGENPAIRS,
        "embed millions by so many evenly spread samples, then refine [none: all are solved for]",
        low=1,
        remedy="Try a hundredth of the samples, or leave n_landmarks out",
        may_be_none=True,
        flags=("--landmarks",),
        metavar="M",
    )
    tol: float = setting(
        1e-7, EIGENPAIRS, "angle at which an iteration stops [1e-7]", low=SMALLEST_TOL, high=1.0, remedy="Try tol=1e-7"
    )
    assess: bool = setting(True, TRUST, "measure how far the embedding can be believed [yes]", remedy="Try assess=True")
    n_jobs: int | None = setting(
        None, RUN, "threads, -1 for all cores [all]", may_be_none=True, remedy="Try n_jobs=-1", metavar="N"
    )
    random_state: Any = setting(
        None, NEIGHBORS, "seed of what is drawn [always the same]", may_be_none=True, metavar="SEED"
    )
    verbose: int = setting(0, RUN, low=0, remedy="Try verbose=1")
    executor: Any = setting(None, RUN, may_be_none=True)
    checkpoint: Any = setting(None, RUN, may_be_none=True)


@cache
def known_settings() -> Mapping[str, Setting]:
    """What is known of each parameter, by name, in the order of the constructor."""
    return MappingProxyType({one.name: one.metadata["setting"] for one in fields(Parameters)})


DEFAULTS: Mapping[str, Any] = MappingProxyType({one.name: one.default for one in fields(Parameters)})
#: The settings of the published method: `HNE(**PUBLISHED)`, or `HNE(**PUBLISHED | {"n_neighbors": 8})`.
PUBLISHED: Mapping[str, Any] = MappingProxyType(
    {name: one.published for name, one in known_settings().items() if one.published is not None}
)
# Parameters that are searched for together where they are "auto".
SEARCHED = ("n_neighbors", "variant", "reg")
EDGES = ("cut_edges", "keep_edges")  # pairs of samples, decided by hand
# Parameters that say where a fit is computed and kept, not what it is: no part of a model.
PLACES = ("executor", "checkpoint")


def parameters_of(stage: str) -> tuple[str, ...]:
    """Names of the parameters that belong to a stage."""
    return tuple(name for name, one in known_settings().items() if one.stage == stage)


def parameters_section() -> str:
    """The section "Parameters" of a docstring."""
    return cleandoc((Parameters.__doc__ or "").partition("\n\n")[2])


def _published(name: str) -> Any:
    return PUBLISHED.get(name, DEFAULTS[name])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The parameters of one embedding, checked, none "auto" or left open; `Parameters` explains each.

    What is not said here is as in the published method.
    """

    n_neighbors: int = _published("n_neighbors")
    n_components: int = _published("n_components")
    variant: str = _published("variant")
    reg: float = _published("reg")
    outer_reg: float | None = _published("outer_reg")
    gamma: float = _published("gamma")
    n_rounds: int = _published("n_rounds")
    include_self: bool = _published("include_self")
    metric: Any = _published("metric")
    metric_params: Any = _published("metric_params")
    neighbors: Any = _published("neighbors")
    short_circuits: str = _published("short_circuits")
    cut_edges: SamplePairs | None = _published("cut_edges")
    keep_edges: SamplePairs | None = _published("keep_edges")
    pieces: str = _published("pieces")
    coordinates: str = _published("coordinates")
    eigen_solver: str = _published("eigen_solver")
    n_landmarks: int | None = _published("n_landmarks")
    tol: float = _published("tol")
    assess: bool = _published("assess")
    n_jobs: int | None = _published("n_jobs")
    random_state: Any = _published("random_state")
    verbose: int = _published("verbose")

    @property
    def effective_outer_reg(self) -> float:
        """`outer_reg`, or `reg` where none is given."""
        return self.reg if self.outer_reg is None else self.outer_reg

    @property
    def effective_tol(self) -> float:
        """`tol`, or what is enough for a chart, in which the last eigenvectors are some of many."""
        return max(self.tol, CHART_TOL) if self.coordinates == "chart" else self.tol

    @property
    def in_lengths(self) -> bool:
        """Whether the coordinates have the scale of X."""
        return self.coordinates != "eigenvectors"

    def n_eigenvectors(self, n_samples: int) -> int:
        """Number of eigenvectors from which coordinates are computed: d, or more for a chart."""
        if self.coordinates != "chart":
            return self.n_components
        most = CHART_EIGENVECTORS if n_samples <= MANY_FOR_A_CHART else CHART_EIGENVECTORS_OF_MANY
        return max(self.n_components, min(most, n_samples // SAMPLES_AN_EIGENVECTOR))


# Eigenvectors that a chart is made of, and with so many samples each at least; of more samples, fewer, for each costs
# as much as a sixth of the first two (a roll of 100 000: 3.4 s for 2, 4.7 s for 10, 8.3 s for 20).
CHART_EIGENVECTORS, SAMPLES_AN_EIGENVECTOR = 20, 6
MANY_FOR_A_CHART, CHART_EIGENVECTORS_OF_MANY = 10_000, 12
CHART_TOL = 1e-4

# Neighbors of a chart, and of a chart of many samples: of 40 random rolls of 300 samples 39 come out right with 12, 36
# with 8; from some thousand samples on 8 do as well, at half the cost.
CHART_NEIGHBORS, MANY_SAMPLES, CHART_NEIGHBORS_OF_MANY = 12, 5_000, 8
# Neighbors of a layout: with 10 to 15 the kNN accuracy of 73 real data sets hardly changes.
LAYOUT_NEIGHBORS = 10
# Neighbors of a chart of a curve or ring: more reach across narrow rings. Of 9 objects of COIL-20 whose views form a
# ring, all are recovered with 3 (kNN R2 0.97 to 1), 8 with 4, 6 with 5.
CURVE_NEIGHBORS = 3
# The reg of a chart is 1e-4 (k / 6)^3.3; that of a layout is flat from 0.01 to 0.1.
CHART_REG, CHART_REG_NEIGHBORS, CHART_REG_POWER, LAYOUT_REG = 1e-4, 6, 3.3, 0.1
# Tangent variance ratio from which on samples are near a surface: rolls and S-curves of 100 to 3 000 samples, with
# noise up to 0.6, have 0.93 to 1; a roll with 47 columns of noise beside it 0.92; of 17 tables, spectra and image sets,
# 0.84 at most.
NEAR_SURFACE = 0.88
# Distances that must be known of a sample for each of its neighbors.
KNOWN_A_NEIGHBOR = 40
# Fewest neighbors that are taken however few distances are known.
FEWEST_NEIGHBORS = 5


def chart_neighbors(n_samples: int) -> int:
    """Default number of neighbors of a chart."""
    return min(CHART_NEIGHBORS if n_samples <= MANY_SAMPLES else CHART_NEIGHBORS_OF_MANY, n_samples - 1)


def chart_reg(n_neighbors: int) -> float:
    """Default reg of a chart."""
    return CHART_REG * (n_neighbors / CHART_REG_NEIGHBORS) ** CHART_REG_POWER


def fill_defaults(
    settings: Settings, unset: Collection[str], flat_share: float, n_samples: int, n_known: int | None = None
) -> Settings:
    """Choose coordinates "auto", and n_neighbors and reg where they are `unset`.

    `flat_share` is the tangent variance ratio of the samples, NaN where it is unknown. `n_known` is the number of known
    distances per sample, where not all are: more neighbors need more of them.
    """
    is_near = not flat_share < NEAR_SURFACE
    if settings.coordinates == AUTO:
        settings = replace(settings, coordinates="chart" if is_near else "layout")
    is_chart = settings.coordinates == "chart" or (settings.coordinates == "eigenvectors" and is_near)
    if "n_neighbors" in unset:
        k = chart_neighbors(n_samples) if is_chart else min(LAYOUT_NEIGHBORS, n_samples - 1)
        if n_known is not None:
            k = min(k, max(FEWEST_NEIGHBORS, n_known // KNOWN_A_NEIGHBOR))
        if not isinstance(settings.neighbors, str):
            # A user-supplied graph is used in full unless `n_neighbors` is given.
            k = min(settings.neighbors.n_others, n_samples - 1)
        settings = replace(settings, n_neighbors=max(1, k))
    if "reg" in unset:
        settings = replace(settings, reg=chart_reg(settings.n_neighbors) if is_chart else LAYOUT_REG)
    return settings


def fill_curve_defaults(settings: Settings, unset: Collection[str]) -> Settings:
    """Choose a chart for samples that form a curve, with few neighbors where their number is `unset`."""
    settings = replace(settings, coordinates="chart")
    if "n_neighbors" in unset and isinstance(settings.neighbors, str):
        settings = replace(settings, n_neighbors=min(CURVE_NEIGHBORS, settings.n_neighbors))
    return fill_defaults(settings, set(unset) & {"reg"}, 1.0, 0)
