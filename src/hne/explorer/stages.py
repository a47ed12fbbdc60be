"""The pipeline for one set of samples and many settings: each stage keeps what it made, and makes only what is new.

A result depends on the samples and on the parameters of its stage and of those before it (`hne.settings` knows which):
these are its key. Another `reg` finds neighbors, short circuits, pieces and tangent frames; another number of neighbors
takes its part of a search for more.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, TypeVar

from hne._runtime.progress import Listener
from hne.core.eigenpairs import PieceEmbeddings
from hne.core.pieces.split import SplitGraph
from hne.core.pipeline import Backend
from hne.core.records import Layout, NeighborGraph, Pieces, ShortCircuits, UniqueSamples, Weights
from hne.core.samples.canonical import InputScaling
from hne.core.samples.kinds import Samples
from hne.core.tangent.score import EXACT, LocalGeometry
from hne.settings import EIGENPAIRS, LAYOUT, NEIGHBORS, PIECES, SHORT_CIRCUITS, STAGES, WEIGHTS, Settings, parameters_of

Made = TypeVar("Made")

# Results of a stage that are kept: a slider goes back and forth. Of more samples than this, one.
KEPT, MANY = 6, 50_000
# Neighbors that are searched for at once: a slider seldom goes beyond, and the nearest of them are those of fewer.
SEARCHED_AT_ONCE = 24


class SharedStages(Backend):
    """The steps of the pipeline in this process, for the same samples each time; what was made before is kept."""

    def __init__(self) -> None:
        self._kept: dict[str, OrderedDict[tuple[Any, ...], Any]] = {}
        self._most = KEPT
        self._is_exact = True  # what searches were, until one was not

    def _once(self, stage: str, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """What was made for the key, or is made now; of a stage, the last few are kept."""
        kept = self._kept.setdefault(stage, OrderedDict())
        if key not in kept:
            kept[key] = make()
        kept.move_to_end(key)
        while len(kept) > self._most:
            kept.popitem(last=False)
        return kept[key]

    def canonicalize(self, X: Samples, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
        """Which samples are distinct: the same each time, but for settings with what the samples tell of a metric."""
        by = (repr(settings.metric), repr(settings.metric_params))
        made = self._once("samples", by, lambda: super(SharedStages, self).canonicalize(X, settings))
        unique, scaling, samples, told = made
        self._most = KEPT if samples.shape[0] <= MANY else 1
        return unique, scaling, samples, replace(settings, metric_params=told.metric_params)

    def flat_share(self, X: Samples, settings: Settings, n_threads: int) -> float:
        """Share of the local variance in tangent planes, once for each number of them."""
        by = (settings.n_components, repr(settings.metric), repr(settings.metric_params))
        return self._once("flat share", by, lambda: super(SharedStages, self).flat_share(X, settings, n_threads))

    def graph(self, X: Samples, settings: Settings, unique: UniqueSamples, n_threads: int) -> NeighborGraph:
        """The neighbors, of a search for more where that is exact: the nearest k of it are those of a search for k."""
        wider = replace(settings, n_neighbors=min(max(settings.n_neighbors, SEARCHED_AT_ONCE), X.shape[0] - 1))
        search = super().graph
        if self._is_exact and settings.neighbors in ("auto", "exact"):
            found = self._once(NEIGHBORS, _key(wider, NEIGHBORS), lambda: search(X, wider, unique, n_threads))
            self._is_exact = found.method in EXACT
        if not self._is_exact or settings.neighbors not in ("auto", "exact"):
            return self._once(NEIGHBORS, _key(settings, NEIGHBORS), lambda: search(X, settings, unique, n_threads))
        return found.nearest(settings.n_neighbors)

    def short_circuits(self, X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
        """The short circuits of the graph, which do not depend on edges that are cut and kept by hand."""
        find = super().short_circuits
        key = _key(replace(settings, cut_edges=None, keep_edges=None), SHORT_CIRCUITS)
        return self._once(SHORT_CIRCUITS, key, lambda: find(X, graph, settings))

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> SplitGraph:
        """The pieces of the graph."""
        split = super().pieces
        return self._once(PIECES, _key(settings, PIECES), lambda: split(X, graph, settings, n_threads))

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:
        """Both layers of weights."""
        weigh = super().weights
        return self._once(WEIGHTS, _key(settings, WEIGHTS), lambda: weigh(X, graph, settings, n_threads))

    def eigenpairs(
        self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int
    ) -> PieceEmbeddings:
        """The eigenvectors of each piece."""
        solve = super().eigenpairs
        key = _key(settings, EIGENPAIRS)
        return self._once(EIGENPAIRS, key, lambda: solve(X, weights, pieces, settings, n_threads))

    def layout(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Layout:
        """The neighbor-preserving layout."""
        compute = super().layout
        key = _key(settings, EIGENPAIRS)
        return self._once(LAYOUT, key, lambda: compute(X, weights, pieces, settings, n_threads))

    def geometry(
        self, X: Samples, pieces: Pieces, settings: Settings, n_threads: int, graph: NeighborGraph
    ) -> LocalGeometry:
        """Frames and ranks, which depend on the graph and its pieces alone."""
        make = super().geometry
        key = _key(settings, PIECES)
        return self._once("geometry", key, lambda: make(X, pieces, settings, n_threads, graph))


def _key(settings: Settings, stage: str) -> tuple[Any, ...]:
    """What a stage's result depends on beside the samples."""
    stages = STAGES[: STAGES.index(stage) + 1]
    return tuple(repr(getattr(settings, name)) for one in stages for name in parameters_of(one))


class Cancelled(BaseException):
    """The work that is under way is wanted no more. Nobody who handles errors on the way may take it for one."""


class Cancelling(Listener):
    """Listener that leaves the work at its next step, once the event is set."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def begin(self, stage: str) -> None:  # noqa: ARG002
        """Leave before a stage."""
        self._check()

    def step(self, task: str, done: int, total: int | None) -> None:  # noqa: ARG002
        """Leave between two steps."""
        self._check()

    def _check(self) -> None:
        if self._event.is_set():
            raise Cancelled
