"""X in blocks -> BlockedSearch: which search runs, made ready once, and then the neighbors of any rows, in any process.

    search = blocked_search(X, starts, n_neighbors, folder, map_tasks=pool.map)
    indices, distances = search.rows(start, stop)      # wherever the search has been sent to

The whole graph is never in one place: who asks for the rows of a block keeps them, in a file of its own say.

An approximate search is one inverted file of faiss, in parts, a file for each block. All blocks share the centers of
their lists, which k-means finds on samples of the whole, so that a target looks into as many samples as with one index
over all of X. The training samples are drawn otherwise, and so the neighbors are not the same bits. They are the same
for any number of threads and processes and any order of the blocks.
"""

import logging
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import atomic_write, make_folder
from hne._runtime.random import random_generator
from hne._runtime.threads import map_blocks
from hne.core.neighbors.approximate import (
    SPARE,
    TRAINING_SAMPLES_PER_LIST,
    InvertedFile,
    Points,
    drawn_rows,
    enough_probes,
    flat_index,
    list_centers,
    list_count,
    listed_near,
    nearest_lists,
    read_index,
)
from hne.core.neighbors.blocked import (
    Blocks,
    MapTasks,
    NeighborLists,
    cut_into_blocks,
    nearest_in_block,
    nearest_in_blocks,
)
from hne.core.neighbors.exact import NOBODY, exact_method, lengths_to, rows_at_once
from hne.core.neighbors.graph import choose_search
from hne.core.neighbors.metric import in_metric, searchable
from hne.core.records import INT32_MAX, FloatArray, IndexArray
from hne.core.samples.kinds import Samples

logger = logging.getLogger("hne")


@dataclass(frozen=True)
class InvertedLists:
    """Inverted lists of blocks, a file each, and how points are brought to single precision."""

    blocks: Blocks
    folder: Path  # belongs to one run: files that are there are taken for finished
    n_lists: int
    center: FloatArray  # (D,)
    scale: float

    @property
    def centers(self) -> Path:
        """The file of the lists' centers."""
        return self.folder / "centers.npy"

    def of_block(self, number: int) -> Path:
        """The file of a block's lists."""
        return self.folder / f"lists-{number:05d}.faiss"

    def single(self, points: FloatArray) -> Points:
        """Points in single precision, which ends at 1e38: the farthest coordinate is 1."""
        singles: Points = ((points - self.center) / self.scale).astype(np.float32)
        return singles

    def write_centers(self, rows: IndexArray, seed: int) -> None:
        """Find the centers of the lists on these rows and write them, unless they are there."""
        if not self.centers.exists():
            points = self.single(self.blocks.points_at(rows))
            with atomic_write(self.centers, overwrite=True) as unfinished, unfinished.open("wb") as file:
                np.save(file, list_centers(points, self.n_lists, seed))

    def write_lists(self, n_threads: int, number: int) -> None:
        """Write the lists of a block, unless they are there."""
        path = self.of_block(number)
        if not path.exists():
            InvertedFile(self.single(self.blocks.points(number)), np.load(self.centers), n_threads).write(path)

    def nearest(
        self,
        points: FloatArray,
        leave_out: IndexArray,
        n_neighbors: int,
        n_probes: int,
        n_threads: int,
        map_tasks: MapTasks = map,
    ) -> tuple[IndexArray, FloatArray]:
        """Nearest samples in the nearest lists of each target, a point, and their Euclidean distances.

        A row for which the lists hold too few ends in index NOBODY and distance inf.
        """
        singles = self.single(points)
        lists = nearest_lists(flat_index(np.load(self.centers)), singles, n_probes, n_threads)
        candidates = NeighborLists(len(points), n_neighbors + SPARE)
        propose = partial(self._propose, singles, lists, n_neighbors + SPARE, n_threads)
        for proposal in map_tasks(propose, self.blocks.numbers):
            candidates.add(*proposal)
        # Distances of candidates are those from differences, as in all our searches; a block of X at a time.
        lengths = np.full(candidates.indices.shape, np.inf)
        for measured in map_tasks(partial(self._measure, points, candidates.indices, n_threads), self.blocks.numbers):
            lengths = np.minimum(lengths, measured)
        lengths[candidates.indices == leave_out[:, None]] = np.inf
        order = np.lexsort((candidates.indices, lengths), axis=1)[:, :n_neighbors]
        lengths = np.take_along_axis(lengths, order, axis=1)
        return np.where(np.isinf(lengths), NOBODY, np.take_along_axis(candidates.indices, order, axis=1)), lengths

    def _propose(
        self, singles: Points, lists: IndexArray, count: int, n_threads: int, number: int
    ) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Rows that have lists in a block, whom they find there, and how far in single precision."""
        index = read_index(self.of_block(number))
        is_used = np.array([index.get_list_size(one) > 0 for one in range(self.n_lists)])
        rows = np.flatnonzero(is_used[lists].any(axis=1))
        if not rows.size:
            return rows, np.empty((0, count), dtype=np.intp), np.empty((0, count))
        # Rows of one list look into the same lists, which then stay in the cache.
        rows = rows[np.argsort(lists[rows, 0], kind="stable")]
        step = rows_at_once(count, singles.shape[1])
        groups = [rows[start : start + step] for start in range(0, len(rows), step)]

        def search(few: IndexArray) -> tuple[IndexArray, Points]:
            return listed_near(index, singles[few], count, lists[few])

        with closing(map_blocks(search, groups, n_threads)) as results:
            near, lengths = (np.concatenate(parts) for parts in zip(*results, strict=True))
        is_none, start = near < 0, self.blocks.edges[number]
        return rows, np.where(is_none, NOBODY, near + start), np.where(is_none, np.inf, lengths.astype(np.float64))

    def _measure(self, points: FloatArray, candidates: IndexArray, n_threads: int, number: int) -> FloatArray:
        """Distances of the targets to those of their candidates that are in a block, inf to others."""
        start, stop = self.blocks.ranges[number]
        is_here = (candidates >= start) & (candidates < stop)
        needed = np.unique(candidates[is_here])
        if not needed.size:
            return np.full(candidates.shape, np.inf)
        ours = self.blocks.points_at(needed)
        places = np.where(is_here, np.searchsorted(needed, np.where(is_here, candidates, start)), NOBODY)
        step = rows_at_once(candidates.shape[1], points.shape[1])
        groups = [slice(begin, begin + step) for begin in range(0, len(points), step)]
        with closing(map_blocks(lambda few: lengths_to(ours, points[few], places[few]), groups, n_threads)) as results:
            return np.concatenate(list(results))


@dataclass(frozen=True)
class BlockedSearch:
    """A search for the neighbors of samples in blocks; it holds X as it was given, and pickles with it."""

    blocks: Blocks
    n_neighbors: int
    method: str  # "tree", "brute", "metric" or "approximate", as in NeighborGraph
    recall: float = 1.0  # share of true neighbors, measured on a sample of rows where the search is approximate
    lists: InvertedLists | None = None  # of an approximate search
    n_probes: int = 0

    def rows(self, start: int, stop: int, n_threads: int = 1) -> tuple[IndexArray, FloatArray]:
        """Neighbors of the samples from `start` to `stop`, themselves left out, and their distances by the metric.

        An exact search gives the bits of `knn_graph`, an approximate one those of a search with the same blocks.
        """
        samples, numbers = np.array(self.blocks.X[start:stop], order="C"), np.arange(start, stop)
        if self.lists is None:
            return nearest_in_blocks(self.blocks, samples, self.n_neighbors, numbers, n_threads)[:2]
        points: FloatArray = searchable(samples, self.blocks.metric)
        indices, lengths = self.lists.nearest(points, numbers, self.n_neighbors, self.n_probes, n_threads)
        distances = in_metric(lengths, self.blocks.metric)
        short = np.flatnonzero(indices[:, -1] == NOBODY)
        if short.size:
            logger.info("neighbors: %d rows whose lists are too short are searched exactly", short.size)
            exact = nearest_in_blocks(self.blocks, samples[short], self.n_neighbors, numbers[short], n_threads)
            indices[short], distances[short], _ = exact
        return indices, distances


def blocked_search(
    X: Samples,
    starts: IndexArray,
    n_neighbors: int,
    folder: Path,
    neighbors: str = "auto",
    random_state: object = 0,
    metric: Any = "euclidean",
    metric_params: Any = None,
    map_tasks: MapTasks = map,
    n_threads: int = 1,
) -> BlockedSearch:
    """Choose the search as `knn_graph` does, and make ready what its rows have in common.

    Parameters
    ----------
    X : array of shape (n, D)
        Dense samples, all different, in memory or in a file.
    starts : array of integers
        First row of each block; smaller blocks take less memory and more looks into others.
    folder : Path
        Place for the files of an approximate search that all processes can read; exact search writes none. It belongs
        to this run alone: files that are there are taken for finished, so that a broken run goes on where it broke.
    map_tasks : callable
        Gives the results of a function for each item in order, as Python's `map` does; what it calls can be sent to
        other processes, and what comes back is small.
    n_threads : int
        Threads of each task.
    """
    blocks = cut_into_blocks(X, starts, metric, metric_params, map_tasks)
    if blocks.boxes is None:
        return BlockedSearch(blocks, n_neighbors, "metric")
    # Of the points, the shape alone decides: an array of it that takes no memory.
    shape = np.broadcast_to(0.0, (X.shape[0], blocks.boxes.shape[2]))
    exact = BlockedSearch(blocks, n_neighbors, exact_method(shape))
    if choose_search(shape, n_neighbors, neighbors) == "exact":
        return exact
    make_folder(folder)
    low, high = blocks.boxes[:, 0].min(axis=0), blocks.boxes[:, 1].max(axis=0)
    scale = float((high - low).max()) / 2 or 1.0
    lists = InvertedLists(blocks, folder, list_count(X.shape[0]), (low + high) / 2, scale)
    return _with_lists(exact, lists, random_state, map_tasks, n_threads)


def _with_lists(
    exact: BlockedSearch, lists: InvertedLists, random_state: object, map_tasks: MapTasks, n_threads: int
) -> BlockedSearch:
    """The search with lists of every block in files, and a number of them to probe."""
    blocks, n, n_neighbors = exact.blocks, exact.blocks.X.shape[0], exact.n_neighbors
    random = random_generator(random_state)
    seed = int(random.randint(INT32_MAX))
    sample = drawn_rows(n, random)
    training = np.sort(random.choice(n, min(n, TRAINING_SAMPLES_PER_LIST * lists.n_lists), replace=False))
    list(map_tasks(partial(lists.write_centers, training), [seed]))
    list(map_tasks(partial(lists.write_lists, n_threads), blocks.numbers))
    points = blocks.points_at(sample)
    true = NeighborLists(len(sample), n_neighbors)
    look = partial(nearest_in_block, blocks, points, n_neighbors, None, sample, n_threads)
    for indices, lengths in map_tasks(look, blocks.numbers):
        true.add(np.arange(len(sample)), indices, lengths)
    farthest_true = true.lengths[:, -1:]

    def sample_lengths(n_probes: int) -> FloatArray:
        return lists.nearest(points, sample, n_neighbors, n_probes, n_threads, map_tasks)[1]

    n_probes = enough_probes(sample_lengths, farthest_true, lists.n_lists)
    reached = sample_lengths(n_probes)
    # By distance, as in one index; a row that is too short will be searched exactly, and misses nobody.
    recall = float(((reached <= farthest_true) | np.isinf(reached[:, -1:])).mean())
    logger.info("neighbors: approximate, %d of %d lists probed, recall %.4f", n_probes, lists.n_lists, recall)
    return replace(exact, method="approximate", recall=recall, lists=lists, n_probes=n_probes)
