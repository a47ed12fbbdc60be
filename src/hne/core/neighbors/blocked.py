"""Blocks of X, targets -> their k nearest samples in all of X, exact, with one block in memory at a time.

For samples in a file: whoever searches copies a block out of it, looks for neighbors there, and lets it go. The answer
has the bits of a search in all of X, because a distance depends on two samples alone and lists are merged by distance,
then index. A target looks into its own block first, and then only into those whose box is within the distance of its
k-th neighbor so far; of such a block, only the samples around the targets that look into it are searched. A million
samples of a roll in 16 blocks need 28 MB beside the file, all at once 192 MB.

X is anything that has a shape and gives rows by a slice or by their numbers, one after the other in memory as in a file
of NumPy. Functions and records can be sent to other processes.

    search = blocked_search(X, starts, n_neighbors, folder, map_tasks=pool.map)
    indices, distances = search.rows(start, stop)      # wherever the search has been sent to

The whole graph is never in one place: who asks for the rows of a block keeps them, in a file of its own say.

An approximate search is one inverted file of faiss, in parts, a file for each block. All blocks share the centers of
their lists, which k-means finds on samples of the whole, so that a target looks into as many samples as with one index
over all of X. The training samples are drawn otherwise, and so the neighbors are not the same bits. They are the same
for any number of threads and processes and any order of the blocks.
"""

import logging
from collections.abc import Callable, Iterable
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
    nearest_lists,
    one_thread,
)
from hne.core.neighbors.exact import NOBODY, ROUNDING, exact_method, lengths_to, nearest, rows_at_once, surely
from hne.core.neighbors.graph import Nearest, choose_search, in_metric, pairwise, searchable, smallest
from hne.core.records import INT32_MAX, FloatArray, IndexArray, is_euclidean
from hne.core.samples.kinds import Samples, row_lengths

logger = logging.getLogger("hne")

# Results of a function for each item, in their order: the `map` of Python, or one that asks other processes.
MapTasks = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Blocks:
    """Samples in blocks of rows, and a box around the points of each; none for metrics that are not Euclidean.

    Points are what a Euclidean search sees of the samples, see `searchable`.
    """

    X: Samples
    edges: IndexArray  # (b + 1,), from 0 to n
    metric: Any
    params: Any
    boxes: FloatArray | None = None  # (b, 2, D), lowest and highest coordinates

    @property
    def numbers(self) -> range:
        """Number of each block."""
        return range(len(self.edges) - 1)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Begin and end of each block."""
        return [(int(start), int(stop)) for start, stop in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def samples(self, number: int) -> FloatArray:
        """The samples of a block, in memory."""
        return np.array(self.X[self.edges[number] : self.edges[number + 1]], order="C")

    def points(self, number: int) -> FloatArray:
        """The points of a block, in memory."""
        return searchable(self.samples(number), self.metric)

    def points_at(self, rows: IndexArray) -> FloatArray:
        """The points of some rows, in memory."""
        return searchable(np.array(self.X[rows], order="C"), self.metric)

    def box(self, number: int) -> FloatArray:
        """Lowest and highest coordinates (2, D) of the points of a block."""
        points = self.points(number)
        return np.stack([points.min(axis=0), points.max(axis=0)])


def cut_into_blocks(
    X: Samples, starts: IndexArray, metric: Any = "euclidean", params: Any = None, map_tasks: MapTasks = map
) -> Blocks:
    """Blocks from their first rows, with or without the end of the last; those without a row are dropped."""
    edges = np.unique(np.append(np.asarray(starts, dtype=np.intp), [0, X.shape[0]]))
    blocks = Blocks(X, edges, metric, params)
    if not is_euclidean(metric, params):
        return blocks
    return replace(blocks, boxes=np.stack(list(map_tasks(blocks.box, blocks.numbers))))


class NeighborLists:
    """Neighbors that targets have so far, by distance, then index; NOBODY and inf behind the last."""

    def __init__(self, n_targets: int, n_neighbors: int) -> None:
        self.indices: IndexArray = np.full((n_targets, n_neighbors), NOBODY)
        self.lengths: FloatArray = np.full((n_targets, n_neighbors), np.inf)

    def add(self, rows: IndexArray, indices: IndexArray, lengths: FloatArray) -> None:
        """Merge what some targets have found elsewhere, in order as well."""
        if (self.indices[rows, 0] == NOBODY).all():
            count = indices.shape[1]
            self.indices[rows, :count], self.lengths[rows, :count] = indices, lengths
            return
        # Who has nobody in the first place has nobody.
        has_any = np.flatnonzero(indices[:, 0] < NOBODY)
        rows = rows[has_any]
        every = np.hstack([self.indices[rows], indices[has_any]])
        every_length = np.hstack([self.lengths[rows], lengths[has_any]])
        order = np.lexsort((every, every_length), axis=1)[:, : self.indices.shape[1]]
        self.indices[rows] = np.take_along_axis(every, order, axis=1)
        self.lengths[rows] = np.take_along_axis(every_length, order, axis=1)


def nearest_in_blocks(
    blocks: Blocks, targets: FloatArray, n_neighbors: int, leave_out: IndexArray | None = None, n_threads: int = 1
) -> Nearest:
    """What `nearest_by` finds in all of X, bit for bit, with one block in memory at a time.

    Metrics that are products of matrices (`nan_euclidean`) round by the size of a block: their last digit may differ.
    """
    lists = NeighborLists(len(targets), n_neighbors)
    if blocks.boxes is None:
        for number, (start, stop) in enumerate(blocks.ranges):
            distances_of = pairwise(blocks.metric, blocks.params, blocks.samples(number))
            banned = None if leave_out is None else _positions(leave_out - start, np.arange(stop - start))
            count = min(n_neighbors, stop - start)
            near, lengths = smallest(distances_of, targets, stop - start, count, banned, n_threads)
            # Distances are finite but for those of a sample to itself.
            lists.add(np.arange(len(targets)), np.where(np.isinf(lengths), NOBODY, near + start), lengths)
        return np.where(lists.indices < NOBODY, lists.indices, -1), lists.lengths, "metric"
    points: FloatArray = searchable(targets, blocks.metric)

    def look_into(number: int, rows: IndexArray) -> None:
        """Let some targets add the neighbors that they have in a block."""
        if rows.size:
            reach = None if np.isinf(lists.lengths[rows, -1]).all() else lists.lengths[rows, -1]
            banned = None if leave_out is None else leave_out[rows]
            lists.add(rows, *nearest_in_block(blocks, points[rows], n_neighbors, reach, banned, n_threads, number))

    if leave_out is None:
        # The block whose box is nearest, the first of several.
        home, least = np.zeros(len(points), dtype=np.intp), np.full(len(points), np.inf)
        for number, box in enumerate(blocks.boxes):
            gaps = _gaps(points, points, box)
            is_nearer = gaps < least
            home[is_nearer], least[is_nearer] = number, gaps[is_nearer]
    else:
        home = np.searchsorted(blocks.edges, leave_out, side="right") - 1
    for number in np.unique(home):
        look_into(number, np.flatnonzero(home == number))
    # From the nearest block outward: what is found early saves a look into those beyond.
    low, high = points.min(axis=0), points.max(axis=0)
    gaps = np.concatenate([_gaps(low[None], high[None], box) for box in blocks.boxes])
    for number in np.argsort(gaps, kind="stable"):
        reach = lists.lengths[:, -1]
        if gaps[number] > reach.max():
            break
        look_into(number, np.flatnonzero((home != number) & (_gaps(points, points, blocks.boxes[number]) <= reach)))
    indices = np.where(lists.indices < NOBODY, lists.indices, -1)
    return indices, in_metric(lists.lengths, blocks.metric), exact_method(points.shape[1])


def nearest_in_block(
    blocks: Blocks,
    points: FloatArray,
    n_neighbors: int,
    reach: FloatArray | None,
    leave_out: IndexArray | None,
    n_threads: int,
    number: int,
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples of one block within the reach of each target, a point, and their Euclidean distances.

    Indices are those in all of X; behind the last, a row has NOBODY and inf.
    """
    ours, start = blocks.points(number), blocks.edges[number]
    near = np.arange(len(ours))
    if reach is not None:
        # Samples in the box that holds all that the points can reach, column by column: the first, by which samples
        # are ordered, leaves few.
        limit = surely(reach)[:, None]
        low, high = (points - limit).min(axis=0), (points + limit).max(axis=0)
        for column in range(ours.shape[1]):
            values = ours[near, column]
            near = near[(values >= low[column]) & (values <= high[column])]
        ours = ours if len(near) == len(ours) else ours[near]
    count = min(n_neighbors, len(near))
    if not count:
        return np.full((len(points), 1), NOBODY), np.full((len(points), 1), np.inf)
    if reach is None and np.array_equal(points, ours):
        # The block's own samples, which the search then visits in an order of its own.
        points = ours
    banned = None if leave_out is None else _positions(leave_out - start, near)
    found, lengths, _ = nearest(ours, points, count, banned, n_threads, reach)
    # Beyond reach, and the sample that a target may not have.
    is_none = np.isinf(lengths)
    found[is_none] = 0
    return np.where(is_none, NOBODY, near[found] + start), lengths


def _gaps(low: FloatArray, high: FloatArray, box: FloatArray) -> FloatArray:
    """Distance that no sample in a box undercuts, for each point, or for all points between a lowest and a highest."""
    return row_lengths(np.maximum(np.maximum(box[0] - high, low - box[1]), 0.0)) * (1 - ROUNDING)


def _positions(wanted: IndexArray, listed: IndexArray) -> IndexArray:
    """Where each wanted number is in an ascending list, -1 where it is not."""
    places = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
    return np.where(listed[places] == wanted, places, -1)


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
        return ((points - self.center) / self.scale).astype(np.float32)

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
        with one_thread() as faiss:
            index = faiss.read_index(str(self.of_block(number)))
        is_used = np.array([index.get_list_size(one) > 0 for one in range(self.n_lists)])
        rows = np.flatnonzero(is_used[lists].any(axis=1))
        if not rows.size:
            return rows, np.empty((0, count), dtype=np.intp), np.empty((0, count))
        # Rows of one list look into the same lists, which then stay in the cache.
        rows = rows[np.argsort(lists[rows, 0], kind="stable")]
        step = rows_at_once(count, singles.shape[1])
        groups = [rows[start : start + step] for start in range(0, len(rows), step)]
        index.nprobe = lists.shape[1]

        def search(few: IndexArray) -> tuple[IndexArray, Points]:
            near: IndexArray = np.empty((len(few), count), dtype=np.int64)
            squares: Points = np.empty((len(few), count), dtype=np.float32)
            with one_thread():
                index.search_preassigned(singles[few], count, lists[few], None, D=squares, I=near)
            return near, squares

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
    n, n_features = X.shape[0], blocks.boxes.shape[2]
    if choose_search(n, n_features, n_neighbors, neighbors) == "exact":
        return BlockedSearch(blocks, n_neighbors, exact_method(n_features))
    make_folder(folder)
    low, high = blocks.boxes[:, 0].min(axis=0), blocks.boxes[:, 1].max(axis=0)
    scale = float((high - low).max()) / 2 or 1.0
    lists = InvertedLists(blocks, folder, list_count(n), (low + high) / 2, scale)
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
    return BlockedSearch(blocks, n_neighbors, "approximate", recall, lists, n_probes)
