"""The walk on an engine, in a folder: what each stage makes is kept there, block by block.

A stage's key is a hash of what it is made from: of the samples at their places for the first, of the key before and the
parameters that matter for each one after it. So the same call finds what it had finished, in any order of the samples
and on any engine, and a call with another `reg` finds the neighbors.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from shutil import rmtree
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne import __version__
from hne._runtime.progress import remark, stage, track
from hne._runtime.store import RECORD, Arrays, Block, Stage, refuse, row_blocks
from hne.core.backend import Backend
from hne.core.eigen.exchange import has_result
from hne.core.eigen.slepc import is_worth_ranks
from hne.core.eigenpairs import Found, Parts, leading
from hne.core.neighbors.blocked_search import BlockedSearch, blocked_search
from hne.core.neighbors.graph import canonicalize
from hne.core.neighbors.metric import estimated_params
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces, Settings, UniqueSamples, Weights
from hne.core.samples.kinds import Distances, Samples
from hne.core.samples.scaling import InputScaling
from hne.core.samples.unique import Fingerprints, Ranges, fingerprints, ranges_of
from hne.core.weights.layers import choose_kernel, weights_from
from hne.estimators.model_file.archive import Archive
from hne.estimators.model_file.fitted import eigen_from, eigen_parts
from hne.exceptions import InputError, ModelFileError
from hne.scale.executors import Engine, LocalExecutor
from hne.scale.folder import Folder, key_of
from hne.scale.ingest import ingest
from hne.scale.problem import ProblemPosed, WeightsOnDisk, posed, solved
from hne.scale.sources import LazySamples
from hne.scale.tasks import Kept, NeighborRows, PlacedRows, SomeRows, WeightRows

logger = logging.getLogger("hne")

# Rows a block: a sixteenth of all, so that a few workers share even small runs, within these limits and that of bytes.
BLOCKS, MIN_ROWS, MAX_ROWS, MAX_BYTES = 16, 256, 2**16, 2**26
FOUND = "from the checkpoint"
# Parameters that each stage depends on, beside the stage before it.
SEARCHED_BY = ("n_neighbors", "metric", "metric_params", "neighbors", "random_state")
LINKED_BY = ("short_circuits", "n_components", "pieces")
WEIGHED_BY = (*LINKED_BY, "variant", "reg", "effective_outer_reg", "n_rounds", "include_self")
SOLVED_BY = ("gamma", "n_components", "coordinates", "eigen_solver", "n_landmarks", "tol", "random_state")


@dataclass(frozen=True)
class Placed:
    """Samples at their places."""

    distinct: UniqueSamples
    units: InputScaling
    X: Samples
    settings: Settings

    def __str__(self) -> str:
        n, m = self.distinct.n_samples, self.distinct.n_places
        return f"{n}, all different" if m == n else f"{n}, {m} of them different"


class CachedBackend(Backend):
    """Does the steps of the walk in blocks on an engine, and keeps what they make in a folder."""

    stages_before = 1

    def __init__(self, engine: Engine, folder: Folder, *, only_poses: bool = False) -> None:
        super().__init__()
        self._engine, self._folder = engine, folder
        self._only_poses = only_poses  # whether to stop where MPI ranks shall take over, elsewhere
        self._key = ""  # of the last stage
        self._parameters: dict[str, Any] = {}  # that it depends on, besides the one before
        self._made: Arrays = {}  # weights as they were kept
        self._graph: NeighborGraph | None = None  # as it was searched
        self._lists: IndexArray = np.empty((0, 0), dtype=np.intp)  # neighbors that they belong to
        self._errors: FloatArray | None = None
        self._fell_back = False  # whether another solver did the work of ranks: nothing to be kept as theirs

    def canonicalize(self, X: Any, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
        """Which samples are distinct, those in the units of the walk, and settings with what they tell."""
        self._engine.check(self._folder.path)
        make = self._taken_in if isinstance(X, LazySamples) else self._laid_out
        placed: Placed = stage("samples", make, X, settings)
        return placed.distinct, placed.units, placed.X, placed.settings

    def check_fits(self, X: Samples, settings: Settings) -> None:
        """Refuse what will not fit into the memory of this process, where the work is done here."""
        if not self._engine.is_remote:
            super().check_fits(X, settings)

    def _laid_out(self, X: Samples, settings: Settings) -> "Placed":
        """Samples of this process, at their places, and where workers see them if they are to work on them."""
        distinct, units, X, settings = canonicalize(X, settings)
        self._key = key_of("samples", *_contents(X))
        if self._engine.is_remote:
            X = self._kept("samples", self._key, "blocks", SomeRows(X), X.shape, LocalExecutor(1))["X"]
        return Placed(distinct, units, X, settings)

    def _taken_in(self, X: LazySamples, settings: Settings) -> "Placed":
        """Samples that workers read, at their places."""
        scratch = self._folder.scratch()
        try:
            intake = ingest(X, settings, self._engine, scratch)
            self._key = key_of("samples", *_told_by(intake.ranges, intake.marks))
            order = self._folder.stage("order", key_of(self._key, intake.distinct.inverse.tobytes()))
            first = (order.arrays() or order.put({"first": intake.distinct.index}))["first"]
            shape = (intake.distinct.n_places, X.shape[1])
            placed = self._kept("samples", self._key, "places", PlacedRows(intake.raw, first), shape)["X"]
        finally:
            rmtree(scratch, ignore_errors=True)
        params = estimated_params(settings.metric, settings.metric_params, placed)
        return Placed(intake.distinct, InputScaling(), placed, replace(settings, metric_params=params))

    def graph(self, X: Samples, settings: Settings, distinct: UniqueSamples, n_threads: int) -> NeighborGraph:
        """The neighbors of each place."""
        self._key = self._next_key("neighbors", settings, SEARCHED_BY)
        if isinstance(settings.neighbors, NeighborGraph):
            # A given graph is one of the samples as they came: in another order it is another.
            self._key = key_of(self._key, distinct.inverse.tobytes())
        place = self._folder.stage("neighbors", self._key)
        if place.arrays() is not None:
            remark(FOUND)
        elif isinstance(X, np.ndarray) and isinstance(settings.neighbors, str):
            self._searched(X, settings)
        else:
            found = super().graph(X, settings, distinct, n_threads)
            place.put({"indices": found.indices, "distances": found.distances}, self._noted(_facts(found)))
        # Files of an approximate search, of use until all blocks are done.
        rmtree(self._folder.path / f"lists-{self._key}", ignore_errors=True)
        self._graph = _graph_on(place)
        return self._graph

    def _searched(self, X: FloatArray, settings: Settings) -> None:
        """Let the blocks find their neighbors."""
        # Files of an approximate search are made anew by who goes on: they have no receipts, and are the same again.
        lists = self._folder.path / f"lists-{self._key}"
        rmtree(lists, ignore_errors=True)
        search: BlockedSearch = blocked_search(
            X,
            np.array([start for start, _ in blocks_of(*X.shape)]),
            settings.n_neighbors,
            lists,
            settings.neighbors,
            settings.random_state,
            settings.metric,
            settings.metric_params,
            partial(self._engine.map, "neighbors"),
        )
        facts = {"method": search.method, "recall": search.recall}
        self._kept("neighbors", self._key, "search", NeighborRows(search), X.shape, facts=facts)

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Found:
        """The pieces of the graph, and the graph as the walk goes on with it, where workers see it."""
        found = super().pieces(X, graph, settings, n_threads)
        if found.graph is self._graph or not self._engine.is_remote:
            return found
        place = self._folder.stage("links", self._next_key("links", settings, LINKED_BY))
        if place.arrays() is None:
            facts = self._noted(_facts(found.graph))
            place.put({"indices": found.graph.indices, "distances": found.graph.distances}, facts)
        return Found(found.pieces, _graph_on(place))

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:  # noqa: ARG002
        """Both layers of weights."""
        self._key = self._next_key("weights", settings, WEIGHED_BY)
        kernel = choose_kernel(graph, settings)
        # A given graph has done its part, and need not travel.
        task = WeightRows(X, graph.indices, replace(settings, neighbors="auto"), kernel)
        made = self._kept("weights", self._key, "blocks", task, X.shape)
        self._errors, self._made, self._lists = made.get("errors"), made, graph.indices
        return weights_from(
            graph.indices, made["inner"], made["values"], made["columns"], made["counts"], X.shape[0], kernel
        )

    def parts(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Parts:
        """The embedding, piece by piece."""
        self._key = self._next_key("eigenpairs", settings, SOLVED_BY)
        place = self._folder.stage("eigenpairs", self._key)
        made = place.arrays()
        if made is not None:
            remark(FOUND)
        else:
            found = self._solved(X, weights, pieces, settings, n_threads)
            if self._fell_back:
                return found
            solvers = [None if pairs is None else pairs.solver for pairs in found.parts]
            facts = self._noted({"eigen_solvers": solvers})
            made = place.put({"Y": found.Y, **eigen_parts(found.parts, found.Y)}, facts)
        # In memory: they are what is looked at, again and again.
        arrays = {name: np.array(one) for name, one in made.items()}
        try:
            return Parts(arrays["Y"], eigen_from(Archive(place.folder, place.facts(), arrays), arrays["Y"]))
        except (ModelFileError, KeyError) as error:
            refuse(place.folder / RECORD, str(error))

    def _solved(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Parts:
        """The embedding by MPI ranks, which read what workers write, or by a solver of this process."""
        folder = self._folder.path / f"eigenproblem-{self._key}"
        is_for_ranks = settings.eigen_solver == "slepc" and (pieces.count == 1 or settings.pieces == "join")
        if self._only_poses and not is_for_ranks:
            raise _nothing_to_pose(settings, pieces)
        if is_for_ranks and not (self._only_poses or has_result(folder) or is_worth_ranks(X.shape[0])):
            # It has been told why: another solver takes over.
            settings, is_for_ranks, self._fell_back = replace(settings, eigen_solver="auto"), False, True
        if not is_for_ranks:
            return super().parts(X, weights, pieces, settings, n_threads)
        place, made = self._folder.stage("rows", self._key), self._made
        ends = (place.arrays() or place.put({"ends": np.concatenate([[0], np.cumsum(made["counts"])])}))["ends"]
        blocks = tuple(blocks_of(*X.shape))
        problem = WeightsOnDisk(self._lists, made["inner"], made["values"], made["columns"], ends, blocks)
        posed(problem, settings, self._engine, folder)
        if self._only_poses:
            raise ProblemPosed(folder, is_solved=has_result(folder))
        pairs = solved(problem, settings, folder, n_threads)
        return Parts(leading(pairs, settings.n_components), (pairs,))

    def errors(self, X: Samples, weights: Weights) -> FloatArray:
        """How far off each sample is when it is rebuilt, in the units of the walk."""
        return super().errors(X, weights) if self._errors is None else np.array(self._errors)

    def _next_key(self, name: str, settings: Settings, parameters: Sequence[str]) -> str:
        """The key of a stage that is made from the last one, with these parameters."""
        self._parameters = {parameter: _plain(getattr(settings, parameter)) for parameter in parameters}
        return key_of(self._key, name, *self._parameters.values())

    def _noted(self, facts: dict[str, Any] | None = None) -> dict[str, Any]:
        """What is noted of a stage when it is finished, for those who look into the folder later."""
        made = datetime.now(UTC).isoformat(timespec="seconds")
        return {"hne": __version__, "made": made, "parameters": self._parameters, **(facts or {})}

    def _kept(
        self,
        name: str,
        key: str,
        what: str,
        task: Callable[[Block], Arrays],
        shape: tuple[int, int],
        engine: Engine | None = None,
        facts: dict[str, Any] | None = None,
    ) -> Arrays:
        """Arrays that the task makes of all blocks of rows: found, or made as far as they are missing."""
        engine = engine or self._engine
        place = self._folder.stage(name, key)
        found = place.arrays()
        if found is not None:
            logger.info("%s: found in %s", name, place.folder)
            remark(FOUND)
            return found
        blocks = blocks_of(*shape)
        missing = place.missing(blocks)
        if len(missing) < len(blocks):
            logger.info("%s: %d of %d blocks found in %s", name, len(blocks) - len(missing), len(blocks), place.folder)
            remark(f"{len(blocks) - len(missing)} of {len(blocks)} blocks {FOUND}")
        with closing(engine.map(name, Kept(place, task), missing)) as done:
            for _ in track(what, done, len(missing)):
                pass
        return place.seal(blocks, self._noted(facts))


def blocks_of(n_rows: int, n_features: int) -> list[Block]:
    """Blocks of rows, the same whoever works on them."""
    by_bytes = max(1, MAX_BYTES // (8 * n_features))
    return row_blocks(n_rows, min(by_bytes, max(MIN_ROWS, min(MAX_ROWS, -(-n_rows // BLOCKS)))))


def _nothing_to_pose(settings: Settings, pieces: Pieces) -> InputError:
    msg = (
        "an eigenproblem is left for MPI with eigen_solver='slepc' and a connected graph, got "
        f"eigen_solver='{settings.eigen_solver}' and {pieces.count} piece(s). Set both, or pass pieces='join'."
    )
    return InputError(msg)


def _contents(X: Samples) -> list[Any]:
    """What tells samples at their places from others: of distances, which have mirror images, all."""
    if not isinstance(X, Distances):
        ranges = ranges_of(X)
        # Sparse samples may differ from the same dense ones by the last digits of their distances.
        return _told_by(ranges, fingerprints(X, ranges)) + (["sparse"] if issparse(X) else [])
    parts = (X.matrix,) if X.is_complete else (X.matrix.data, X.matrix.indices, X.matrix.indptr)
    return [np.ascontiguousarray(part).tobytes() for part in parts]


def _told_by(ranges: Ranges, marks: Fingerprints) -> list[Any]:
    """Fingerprints, and what they are blind to: the unit, and constant columns."""
    return [ranges.low.tobytes(), ranges.high.tobytes(), marks.tobytes()]


def _graph_on(place: Stage) -> NeighborGraph:
    """The graph that a stage has kept."""
    arrays, facts = place.opened(), place.facts()
    try:
        return NeighborGraph(arrays["indices"], arrays["distances"], facts["method"], facts["recall"])
    except KeyError as error:
        refuse(place.folder / RECORD, f"it lacks {error}")


def _facts(graph: NeighborGraph) -> dict[str, Any]:
    return {"method": graph.method, "recall": graph.recall}


def _plain(value: Any) -> Any:
    """A value that JSON can hold: of arrays a hash, of a graph that of its arrays."""
    if isinstance(value, NeighborGraph):
        return [_plain(value.indices), _plain(value.distances)]
    if isinstance(value, np.ndarray):
        return key_of(str(value.dtype), list(value.shape), np.ascontiguousarray(value).tobytes())
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value
