"""X, an executor, a folder -> the samples and the backend of a run; what they cannot do is refused.

`CachedBackend` does the steps of the pipeline in blocks and keeps what each stage makes in the folder, block by block.
The key of a stage is a hash of the samples in their order and of the parameters of it and of the stages before it. So
the same call finds what it had finished, in any order of the samples and on any executor, and a call with another `reg`
finds the neighbors.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne import __version__
from hne._runtime.files import make_folder
from hne._runtime.progress import remark, run_stage, show_progress, stage, track
from hne._runtime.random import random_generator
from hne._runtime.store import Arrays, Block, Stage, is_on_disk, row_blocks
from hne._runtime.threads import limit_blas_threads, map_blocks, thread_count
from hne.core.eigen.certificate import Certificate, EigenPairs, certified
from hne.core.eigen.exchange import has_result, has_whole_problem, read_result, write_problem
from hne.core.eigen.slepc import find_launch, is_worth_ranks, rank_count, solve_folder
from hne.core.eigenpairs import PieceEmbeddings
from hne.core.neighbors.blocked import blocked_search
from hne.core.parameters import check_parameters
from hne.core.pieces.split import SplitGraph, check_connected
from hne.core.pipeline import Backend, search_graph
from hne.core.records import FloatArray, IndexArray, Layout, NeighborGraph, Pieces, UniqueSamples, Weights
from hne.core.samples.canonical import InputScaling, canonicalize, estimated_params
from hne.core.samples.check import check_samples
from hne.core.samples.kinds import Distances, Samples
from hne.core.short_circuits.cut import ChosenEdges, edited
from hne.core.weights.layers import weights_from
from hne.exceptions import InputError, InputTypeError, quoted, refuse
from hne.scale.executors import DaskExecutor, current_executor
from hne.scale.folder import Folder, key_of, key_of_marks, plain, samples_key
from hne.scale.sources import READ_BY_WORKERS, LazySamples, check_lazy, ingest, is_collection, is_lazy, lazy_samples
from hne.scale.tasks import (
    StreamedAlignment,
    keep_rows,
    neighbor_rows,
    ordered_rows,
    problem_rows,
    weight_rows,
)
from hne.settings import (
    EIGENPAIRS,
    LAYOUT,
    NEIGHBORS,
    PIECES,
    STAGES,
    WEIGHTS,
    Settings,
    parameters_of,
)

# Rows a block: a sixteenth of all, so that a few workers share even small runs, within these limits and that of bytes.
BLOCKS, MIN_ROWS, MAX_ROWS, MAX_BYTES = 16, 256, 2**16, 2**26
FROM_CHECKPOINT = "from the checkpoint"
Task = Callable[[Block], Arrays]


@contextmanager
def open_backend(
    X: Any, settings: Settings, automatic: frozenset[str], executor: Any, checkpoint: Any
) -> Iterator[tuple[Samples, Backend]]:
    """Lend the backend of a run, with its samples checked."""
    if executor is not None and not isinstance(executor, DaskExecutor):
        remedy = "Pass DaskExecutor(client)"
        refuse("executor", "must be None or a DaskExecutor", quoted(executor), remedy, InputTypeError)
    if isinstance(X, str | Path) and Path(X).suffix in READ_BY_WORKERS and executor is None:
        refuse("X", "as a path is read by Dask workers", f"'{X}' and no executor", "Pass executor=DaskExecutor(client)")
    if executor is None and (isinstance(X, LazySamples) or is_collection(X)):
        executor = current_executor()
    if executor is None and checkpoint is None:
        yield check_samples(X, settings), Backend()
        return
    _check_repeatable(settings)
    if isinstance(X, LazySamples) or (executor is not None and is_lazy(X)):
        samples: Any = X if isinstance(X, LazySamples) else lazy_samples(X)
        check_lazy(samples, settings, automatic)
    else:
        samples = check_samples(X, settings)
    if executor is not None and (issparse(samples) or isinstance(samples, Distances)):
        kind = "distances" if isinstance(samples, Distances) else "a sparse X"
        remedy = "Reduce it first (TruncatedSVD), or leave the executor out"
        refuse("X", "must be dense for a DaskExecutor", kind, remedy)
    folder = Folder(executor.folder() if checkpoint is None else checkpoint)
    with folder.lock():
        yield samples, CachedBackend(executor, folder)


class CachedBackend(Backend):
    """The steps of one run, in blocks on an executor, None for threads of this process; results stay in a folder."""

    def __init__(self, executor: DaskExecutor | None, folder: Folder) -> None:
        self._executor, self._folder = executor, folder
        self._samples_key = ""
        self._unique: UniqueSamples | None = None
        self._weights: Arrays = {}  # as they are on disk
        self._errors: FloatArray | None = None

    def canonicalize(self, X: Any, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
        """Which samples are distinct, those in the units of the pipeline, and settings with what they tell."""
        executor, scaling = self._executor, InputScaling()
        if executor is not None:
            executor.check(self._folder.path)
        with stage("samples") as done:
            if executor is not None and isinstance(X, LazySamples):
                unique, X = self._ingested(X, settings, executor)
                params = estimated_params(settings.metric, settings.metric_params, X)
                settings = replace(settings, metric_params=params)
            else:
                unique, scaling, X, settings = canonicalize(X, settings)
                self._samples_key = samples_key(X)
                if executor is not None:
                    # Where workers see them.
                    place = self._folder.stage("samples", self._samples_key)
                    X = (place.arrays() or place.put({"X": X}, _facts()))["X"]
            n, m = unique.n_samples, unique.n_places
            done(f"{n}, all different" if m == n else f"{n}, {m} of them different")
        if isinstance(settings.neighbors, NeighborGraph):
            # A graph of the samples as they came: in another order it is another.
            self._samples_key = key_of(self._samples_key, unique.inverse.tobytes())
        self._unique = unique
        return unique, scaling, X, settings

    def _ingested(
        self, samples: LazySamples, settings: Settings, executor: DaskExecutor
    ) -> tuple[UniqueSamples, FloatArray]:
        """Samples that workers read: which are distinct, and those on disk, in order."""
        scratch = self._folder.scratch()
        try:
            raw, unique, ranges, marks = ingest(samples, settings, executor, scratch)
            self._samples_key = key_of_marks(ranges, marks)
            place = self._folder.stage("samples", self._samples_key)
            task, shape = partial(ordered_rows, raw, unique.index), (unique.n_places, samples.shape[1])
            return unique, self._run_blocks(place, "places", task, shape, _facts())["X"]
        finally:
            rmtree(scratch, ignore_errors=True)

    def check_fits(self, X: Samples, settings: Settings) -> None:
        """Refuse what will not fit into the memory of this process, where the work is done here."""
        if self._executor is None:
            super().check_fits(X, settings)

    def graph(self, X: Samples, settings: Settings, distinct: UniqueSamples, n_threads: int) -> NeighborGraph:
        """The neighbors of each sample."""
        place = self._stage(NEIGHBORS, settings)
        lists = self._folder.path / f"lists-{place.key}"
        if place.arrays() is not None:
            remark(FROM_CHECKPOINT)
        elif isinstance(X, np.ndarray) and isinstance(settings.neighbors, str):
            # Files of an approximate search have no receipts: who goes on makes them anew, and they are the same again.
            rmtree(lists, ignore_errors=True)
            starts = np.array([start for start, _ in blocks_of(*X.shape)])
            how = settings.neighbors, settings.random_state, settings.metric, settings.metric_params
            map_tasks = partial(self._map, NEIGHBORS, n_threads=n_threads)
            search = blocked_search(X, starts, settings.n_neighbors, lists, *how, map_tasks)
            facts = _facts(NEIGHBORS, settings, method=search.method, recall=search.recall)
            self._run_blocks(place, "search", partial(neighbor_rows, search), X.shape, facts, n_threads)
        else:
            _put_graph(place, super().graph(X, settings, distinct, n_threads), NEIGHBORS, settings)
        rmtree(lists, ignore_errors=True)
        return _graph_of(place)

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> SplitGraph:
        """The pieces of the graph, and the graph as the pipeline goes on with it, where workers see it."""
        split = super().pieces(X, graph, settings, n_threads)
        if self._executor is None or is_on_disk(split.graph.indices):
            return split
        place = self._stage(PIECES, settings)
        if place.arrays() is None:
            _put_graph(place, split.graph, PIECES, settings)
        return SplitGraph(split.pieces, _graph_of(place))

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:
        """Both layers of weights."""
        # A graph that was passed has done its part, and need not travel.
        task = partial(weight_rows, X, graph.indices, replace(settings, neighbors="auto"))
        place, facts = self._stage(WEIGHTS, settings), _facts(WEIGHTS, settings)
        arrays = self._run_blocks(place, "blocks", task, X.shape, facts, n_threads)
        self._errors, self._weights = arrays.pop("errors", None), {**arrays, "neighbors": graph.indices}
        inner, values, columns, counts = (arrays[name] for name in ("inner", "values", "columns", "counts"))
        return weights_from(graph.indices, inner, values, columns, counts, X.shape[0])

    def errors(self, X: Samples, weights: Weights) -> FloatArray:
        """How far off each sample is when it is rebuilt, in the units of the pipeline."""
        return super().errors(X, weights) if self._errors is None else np.array(self._errors)

    def eigenpairs(
        self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int
    ) -> PieceEmbeddings:
        """The embedding, piece by piece."""
        place = self._stage(EIGENPAIRS, settings)
        arrays = place.arrays()
        if arrays is not None:
            remark(FROM_CHECKPOINT)
            return _unpack(arrays, place.facts()["eigenpairs"])
        folder = self._problem_folder(settings)
        if not _is_for_ranks(settings, pieces):
            parts = super().eigenpairs(X, weights, pieces, settings, n_threads)
        elif has_result(folder) or is_worth_ranks(X.shape[0]):
            _, alignment = self.write_problem(X.shape, settings, n_threads)
            try:
                basis = read_result(folder).basis
            except InputError:
                # None yet, or not any more what it was.
                launch = find_launch()
                basis = solve_folder(folder, rank_count(launch, n_threads), launch).basis
            # Measured on itself, as every solver's are.
            pairs = certified(alignment, basis, settings, "slepc")
            parts = PieceEmbeddings(pairs.leading(settings.n_components), (pairs,))
        else:
            # It has been told why another solver takes over, whose work is not kept as that of ranks.
            return super().eigenpairs(X, weights, pieces, replace(settings, eigen_solver="auto"), n_threads)
        arrays, numbers = _pack(parts)
        place.put(arrays, _facts(EIGENPAIRS, settings, eigenpairs=numbers))
        return parts

    def layout(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Layout:
        """Compute the layout in this process, or read it."""
        place = self._stage(LAYOUT, settings)
        arrays = place.arrays()
        if arrays is not None:
            remark(FROM_CHECKPOINT)
            facts = place.facts()
            return Layout(np.array(arrays["Y"]), facts["kl_divergence"], facts["unit"])
        layout = super().layout(X, weights, pieces, settings, n_threads)
        place.put({"Y": layout.Y}, _facts(kl_divergence=layout.kl_divergence, unit=layout.unit))
        return layout

    def write_problem(
        self, shape: tuple[int, int], settings: Settings, n_threads: int
    ) -> tuple[Path, StreamedAlignment]:
        """Write A and B for MPI ranks, unless they are there: their folder, and both as the weights have them."""
        folder, blocks, kept, n = self._problem_folder(settings), blocks_of(*shape), self._weights, shape[0]
        first_entries = np.cumsum([0, *(int(kept["counts"][slice(*block)].sum()) for block in blocks)]).tolist()
        alignment = StreamedAlignment(**kept, blocks=(*blocks,), first_entries=(*first_entries,), gamma=settings.gamma)
        if not has_whole_problem(folder):
            make_folder(folder)
            numbers, task = range(len(blocks)), partial(problem_rows, alignment, folder)
            with closing(self._map("assembly", task, numbers, n_threads)) as done:
                written = [rows for pair in track("rows of A and B", done, len(numbers)) for rows in pair]
            seed = int(random_generator(settings.random_state).randint(2**31))
            count, tol = settings.n_eigenvectors(n), settings.effective_tol
            write_problem(folder, written, n, count=count, gamma=settings.gamma, tol=tol, seed=seed)
        return folder, alignment

    def _problem_folder(self, settings: Settings) -> Path:
        return self._folder.path / f"eigenproblem-{self._stage(EIGENPAIRS, settings).key}"

    def _stage(self, name: str, settings: Settings) -> Stage:
        """The stage of the samples and of the parameters so far."""
        parameters = _parameters_until(name, settings)
        if self._unique is not None and parameters.keys() & {"cut_edges", "keep_edges"}:
            # Pairs of places, which are the same in any order of the samples.
            chosen = ChosenEdges.of(settings, self._unique)
            parameters |= {"cut_edges": _sorted_pairs(chosen.cut), "keep_edges": _sorted_pairs(chosen.kept)}
        return self._folder.stage(name, key_of(self._samples_key, name, parameters))

    def _map(
        self, what: str, task: Callable[[Any], Any], items: Sequence[Any], n_threads: int
    ) -> Generator[Any, None, None]:
        """Results of the task for each item, in their order."""
        if self._executor is not None:
            return self._executor.map(what, task, items)

        def run(item: Any) -> Any:
            with limit_blas_threads(1):
                return task(item)

        return map_blocks(run, items, n_threads)

    def _run_blocks(
        self, place: Stage, what: str, task: Task, shape: tuple[int, int], facts: dict[str, Any], n_threads: int = 1
    ) -> Arrays:
        """Arrays that the task makes of all blocks of rows: found, or made as far as they are missing."""
        arrays = place.arrays()
        if arrays is not None:
            remark(FROM_CHECKPOINT)
            return arrays
        name, blocks = place.folder.name.partition("-")[0], blocks_of(*shape)
        missing = place.missing(blocks)
        if len(missing) < len(blocks):
            remark(f"{len(blocks) - len(missing)} of {len(blocks)} blocks {FROM_CHECKPOINT}")
        with closing(self._map(name, partial(keep_rows, place, task), missing, n_threads)) as done:
            for _ in track(what, done, len(missing)):
                pass
        return place.seal(blocks, facts)


def export_problem(X: Any, parameters: Mapping[str, Any], executor: Any, checkpoint: Any) -> tuple[Path, bool]:
    """Run the stages up to the weights and write the eigenproblem for MPI: its folder, and whether it is solved."""
    settings, auto, unset = check_parameters(parameters)
    _check_has_eigenproblem(settings)
    with open_backend(X, settings, auto, executor, checkpoint) as (samples, backend):
        assert isinstance(backend, CachedBackend)  # noqa: S101, there is a checkpoint
        if auto:
            from hne.tuning.auto import resolve_auto  # noqa: PLC0415, loaded only when asked for

            settings, _ = resolve_auto(samples, settings, auto, unset)
        n_threads = thread_count(settings.n_jobs)
        with limit_blas_threads(n_threads), show_progress(settings.verbose):
            unique, _, X, settings = backend.canonicalize(samples, settings)
            settings, graph, _ = search_graph(backend, X, settings, unset, unique, n_threads)
            _check_has_eigenproblem(settings)
            found = run_stage("short circuits", backend.short_circuits, X, graph, settings)
            circuits = edited(found, ChosenEdges.of(settings, unique))
            split = run_stage("pieces", backend.pieces, X, circuits.graph, settings, n_threads)
            check_connected(split.pieces, unique, settings)
            if not _is_for_ranks(settings, split.pieces):
                rule = "must be 'slepc' and the graph connected for an eigenproblem that is left for MPI"
                got = f"'{settings.eigen_solver}' and {split.pieces.count} piece(s)"
                refuse("eigen_solver", rule, got, "Set both, or pass pieces='join'")
            run_stage("weights", backend.weights, X, split.graph, settings, n_threads)
            folder, _ = backend.write_problem(X.shape, settings, n_threads)
    return folder, has_result(folder)


def _check_has_eigenproblem(settings: Settings) -> None:
    """Refuse a layout, for which no eigenproblem is solved."""
    if settings.coordinates == "layout":
        rule = "must be 'chart' or 'eigenvectors' for an eigenproblem that is left for MPI"
        refuse("coordinates", rule, "a layout, which needs no eigenvectors", "Choose one of them")


def blocks_of(n_rows: int, n_features: int) -> list[Block]:
    """Blocks of rows, the same whoever works on them."""
    by_bytes = max(1, MAX_BYTES // (8 * n_features))
    return row_blocks(n_rows, min(by_bytes, max(MIN_ROWS, min(MAX_ROWS, -(-n_rows // BLOCKS)))))


def _sorted_pairs(pairs: IndexArray) -> list[list[int]]:
    return np.unique(pairs, axis=0).tolist()


def _is_for_ranks(settings: Settings, pieces: Pieces) -> bool:
    return settings.eigen_solver == "slepc" and (pieces.count == 1 or settings.pieces == "join")


def _pack(parts: PieceEmbeddings) -> tuple[Arrays, list[dict[str, Any] | None]]:
    """Coordinates and eigenpairs as arrays, one piece behind the other, and the numbers of each."""
    numbers: list[dict[str, Any] | None] = []
    for pairs in parts.eigenpairs:
        if pairs is None:
            numbers.append(None)
            continue
        proof = {name: value for name, value in asdict(pairs.certificate).items() if name != "residuals"}
        facts = {"shape": pairs.vectors.shape, "next_value": pairs.next_value, "solver": pairs.solver}
        numbers.append(facts | {"certificate": proof})
    solved = [pairs for pairs in parts.eigenpairs if pairs is not None]
    arrays = {"Y": parts.Y}
    for name in ("values", "residuals", "vectors"):
        arrays[name] = np.concatenate([np.empty(0), *(getattr(pairs, name).ravel() for pairs in solved)])
    return arrays, numbers


def _unpack(arrays: Arrays, numbers: list[dict[str, Any] | None]) -> PieceEmbeddings:
    """What `_pack` took apart, in memory."""
    values, residuals, vectors = (np.array(arrays[name]) for name in ("values", "residuals", "vectors"))
    parts: list[EigenPairs | None] = []
    for known in numbers:
        if known is None:
            parts.append(None)
            continue
        rows, count = known["shape"]
        proof = Certificate(residuals[:count], **known["certificate"])
        basis = vectors[: rows * count].reshape(rows, count)
        parts.append(EigenPairs(values[:count], basis, known["next_value"], known["solver"], proof))
        values, residuals, vectors = values[count:], residuals[count:], vectors[rows * count :]
    return PieceEmbeddings(np.array(arrays["Y"]), tuple(parts))


def _put_graph(place: Stage, graph: NeighborGraph, name: str, settings: Settings) -> None:
    facts = _facts(name, settings, method=graph.method, recall=graph.recall)
    place.put({"indices": graph.indices, "distances": graph.distances}, facts)


def _graph_of(place: Stage) -> NeighborGraph:
    arrays, facts = place.opened(), place.facts()
    return NeighborGraph(arrays["indices"], arrays["distances"], facts["method"], facts["recall"])


def _parameters_until(name: str, settings: Settings) -> dict[str, Any]:
    """What the results of a stage depend on, beside the samples. A layout depends on what eigenpairs depend on."""
    stages = STAGES[: STAGES.index(EIGENPAIRS if name == LAYOUT else name) + 1]
    return {parameter: plain(getattr(settings, parameter)) for one in stages for parameter in parameters_of(one)}


def _facts(name: str = "", settings: Settings | None = None, **facts: Any) -> dict[str, Any]:
    """What is noted of a stage when it is finished, for those who look into the folder later."""
    parameters, now = {} if settings is None else _parameters_until(name, settings), datetime.now(UTC)
    return {"hne": __version__, "made": now.isoformat(timespec="seconds"), "parameters": parameters, **facts}


def _check_repeatable(settings: Settings) -> None:
    """Refuse what the same call would not do again, or what has no name to know it by."""
    where = "for a run with checkpoint= or a DaskExecutor"
    if not isinstance(settings.random_state, int | np.integer | None):
        refuse("random_state", f"must be a number {where}", quoted(settings.random_state), "Pass an integer")
    if any(callable(value) for value in (settings.metric_params or {}).values()):
        refuse("metric_params", f"must hold values {where}", "a function", "Leave it out")
    if callable(settings.metric):
        name = getattr(settings.metric, "__name__", type(settings.metric).__name__)
        remedy = "Pass a name, or the graph as neighbors="
        refuse("metric", f"must be known by its name {where}", f"the function {name}", remedy)
