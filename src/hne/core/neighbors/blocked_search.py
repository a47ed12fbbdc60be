"""X in blocks -> BlockedSearch: which search runs, made ready once, and then the neighbors of any rows, in any process.

    search = blocked_search(X, starts, n_neighbors, folder, map_tasks=pool.map)
    indices, distances = search.rows(start, stop)      # wherever the search has been sent to

The whole graph is never in one place: who asks for the rows of a block keeps them, in a file of its own say.
"""

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import make_folder
from hne._runtime.random import random_generator
from hne.core.neighbors.approximate import drawn_rows, enough_probes
from hne.core.neighbors.blocked import Blocks, Lists, block_box, block_edges, nearest_in_block, nearest_in_blocks
from hne.core.neighbors.exact import NOBODY, exact_method
from hne.core.neighbors.graph import choose_search
from hne.core.neighbors.list_files import (
    ListFiles,
    MapTasks,
    list_files,
    near_in_lists,
    training_rows,
    write_centers,
    write_lists,
)
from hne.core.neighbors.metric import Found, in_metric, searchable
from hne.core.records import INT32_MAX, FloatArray, IndexArray, is_euclidean
from hne.core.samples.kinds import Samples

logger = logging.getLogger("hne")


@dataclass(frozen=True)
class BlockedSearch:
    """A search for the neighbors of samples in blocks; it holds X as it was given, and pickles with it."""

    X: Samples
    blocks: Blocks
    n_neighbors: int
    metric: Any
    metric_params: Any
    method: str  # "tree", "brute", "metric" or "approximate", as in NeighborGraph
    recall: float = 1.0  # share of true neighbors, measured on a sample of rows where the search is approximate
    files: ListFiles | None = None  # of an approximate search
    n_probes: int = 0

    def rows(self, start: int, stop: int, n_threads: int = 1) -> tuple[IndexArray, FloatArray]:
        """Neighbors of the samples from `start` to `stop`, themselves left out, and their distances by the metric.

        An exact search gives the bits of `knn_graph`, an approximate one those of a search with the same blocks.
        """
        samples, own = np.array(self.X[start:stop], order="C"), np.arange(start, stop)
        if self.files is None:
            return self._exact(samples, self.n_neighbors, own, n_threads)[:2]
        points = searchable(samples, self.metric)
        where, number = (self.X, self.metric, self.files), (self.n_neighbors, self.n_probes, n_threads)
        found, lengths = near_in_lists(*where, points, own, *number)
        distances = in_metric(lengths, self.metric)
        short = np.flatnonzero(found[:, -1] == NOBODY)
        if short.size:
            logger.info("neighbors: %d rows whose lists are too short are searched exactly", short.size)
            found[short], distances[short], _ = self._exact(samples[short], self.n_neighbors, own[short], n_threads)
        return found, distances

    def nearest(self, targets: FloatArray, n_neighbors: int, n_threads: int = 1) -> tuple[IndexArray, FloatArray]:
        """Nearest samples of X to new ones and their distances by the metric, exact: the bits of `nearest_by`."""
        return self._exact(targets, n_neighbors, None, n_threads)[:2]

    def _exact(self, targets: FloatArray, n_neighbors: int, own: IndexArray | None, n_threads: int) -> Found:
        metric = self.metric, self.metric_params
        return nearest_in_blocks(self.X, self.blocks, targets, n_neighbors, own, *metric, n_threads)


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
    edges = block_edges(starts, X.shape[0])
    if not is_euclidean(metric, metric_params):
        return BlockedSearch(X, Blocks(edges), n_neighbors, metric, metric_params, "metric")
    boxes = np.stack(list(map_tasks(partial(block_box, X, metric), Blocks(edges).ranges)))
    # Of the points, the shape alone decides: an array of it that takes no memory.
    shape = np.broadcast_to(0.0, (X.shape[0], boxes.shape[2]))
    method = exact_method(shape)
    exact = BlockedSearch(X, Blocks(edges, boxes), n_neighbors, metric, metric_params, method)
    if choose_search(shape, n_neighbors, neighbors) == "exact":
        return exact
    make_folder(folder)
    return _made_approximate(exact, list_files(edges, boxes, folder), random_state, map_tasks, n_threads)


def _made_approximate(
    exact: BlockedSearch, files: ListFiles, random_state: object, map_tasks: MapTasks, n_threads: int
) -> BlockedSearch:
    """The search with lists of every block in files, and a number of them to probe."""
    X, metric, n_neighbors = exact.X, exact.metric, exact.n_neighbors
    random = random_generator(random_state)
    seed = int(random.randint(INT32_MAX))
    sample, training = drawn_rows(X.shape[0], random), training_rows(X.shape[0], random)
    list(map_tasks(partial(write_centers, X, metric, files, training), [seed]))
    list(map_tasks(partial(write_lists, X, metric, files, n_threads), files.numbers))
    points = searchable(np.array(X[sample], order="C"), metric)
    true = Lists(len(sample), n_neighbors)
    look = partial(nearest_in_block, X, metric, points, n_neighbors, None, sample, n_threads)
    for found, lengths in map_tasks(look, exact.blocks.ranges):
        true.add(np.arange(len(sample)), found, lengths)
    farthest_true = true.lengths[:, -1:]

    def sample_lengths(n_probes: int) -> FloatArray:
        return near_in_lists(X, metric, files, points, sample, n_neighbors, n_probes, n_threads, map_tasks)[1]

    n_probes = enough_probes(sample_lengths, farthest_true, files.n_lists)
    reached = sample_lengths(n_probes)
    # By distance, as in one index; a row that is too short will be searched exactly, and misses nobody.
    recall = float(((reached <= farthest_true) | np.isinf(reached[:, -1:])).mean())
    logger.info("neighbors: approximate, %d of %d lists probed, recall %.4f", n_probes, files.n_lists, recall)
    return replace(exact, method="approximate", recall=recall, files=files, n_probes=n_probes)
