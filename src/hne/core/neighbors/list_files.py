"""Blocks of X -> most of each target's k nearest samples: one inverted file of faiss, in parts, a file for each block.

All blocks share the centers of their lists, which k-means finds on samples of the whole, so that a target looks into as
many samples as with one index over all of X. The training samples are drawn otherwise, and so the neighbors are not the
same bits. They are the same for any number of threads and processes and any order of the blocks.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import atomic_write
from hne._runtime.threads import map_blocks
from hne.core.neighbors.approximate import (
    SPARE,
    TRAINING_SAMPLES_PER_LIST,
    InvertedFile,
    Points,
    flat_index,
    list_centers,
    list_count,
    listed_near,
    nearest_lists,
    read_index,
)
from hne.core.neighbors.blocked import Block, Lists, block_points
from hne.core.neighbors.exact import NOBODY, lengths_to, rows_at_once
from hne.core.neighbors.metric import searchable
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.kinds import Samples

# Results of a function for each item, in their order: the `map` of Python, or one that asks other processes.
MapTasks = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class ListFiles:
    """Where the lists of all blocks are, and how points are brought to single precision."""

    folder: Path  # belongs to one run: files that are there are taken for finished
    edges: IndexArray  # (b + 1,), of the blocks
    n_lists: int
    center: FloatArray  # (D,)
    scale: float

    @property
    def numbers(self) -> range:
        """Number of each block."""
        return range(len(self.edges) - 1)

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


def list_files(edges: IndexArray, boxes: FloatArray, folder: Path) -> ListFiles:
    """What the files of these blocks will be; their boxes tell the middle and the farthest coordinate."""
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    scale = float((high - low).max()) / 2 or 1.0
    return ListFiles(folder, edges, list_count(int(edges[-1])), (low + high) / 2, scale)


def training_rows(n_samples: int, random: np.random.RandomState) -> IndexArray:
    """Samples on which k-means finds the centers, ascending."""
    count = min(n_samples, TRAINING_SAMPLES_PER_LIST * list_count(n_samples))
    return np.sort(random.choice(n_samples, count, replace=False))


def write_centers(X: Samples, metric: Any, files: ListFiles, rows: IndexArray, seed: int) -> None:
    """Find the centers of the lists and write them, unless they are there."""
    if files.centers.exists():
        return
    points = files.single(searchable(np.array(X[rows], order="C"), metric))
    with atomic_write(files.centers, overwrite=True) as unfinished, unfinished.open("wb") as file:
        np.save(file, list_centers(points, files.n_lists, seed))


def write_lists(X: Samples, metric: Any, files: ListFiles, n_threads: int, number: int) -> None:
    """Write the lists of a block, unless they are there."""
    path = files.of_block(number)
    if not path.exists():
        points = files.single(block_points(X, metric, _block(files, number)))
        InvertedFile(points, np.load(files.centers), n_threads).write(path)


def near_in_lists(
    X: Samples,
    metric: Any,
    files: ListFiles,
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
    singles = files.single(points)
    lists = nearest_lists(flat_index(np.load(files.centers)), singles, n_probes, n_threads)
    proposed = Lists(len(points), n_neighbors + SPARE)
    propose = partial(_proposed, files, singles, lists, n_neighbors + SPARE, n_threads)
    for one in map_tasks(propose, files.numbers):
        proposed.add(*one)
    # Distances of candidates are those from differences, as in all our searches; a block of X at a time.
    lengths = np.full(proposed.indices.shape, np.inf)
    measure = partial(_measured, X, metric, files, points, proposed.indices, n_threads)
    for one in map_tasks(measure, files.numbers):
        lengths = np.minimum(lengths, one)
    lengths[proposed.indices == leave_out[:, None]] = np.inf
    order = np.lexsort((proposed.indices, lengths), axis=1)[:, :n_neighbors]
    lengths = np.take_along_axis(lengths, order, axis=1)
    return np.where(np.isinf(lengths), NOBODY, np.take_along_axis(proposed.indices, order, axis=1)), lengths


def _proposed(
    files: ListFiles, singles: Points, lists: IndexArray, count: int, n_threads: int, number: int
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Rows that have lists in a block, whom they find there, and how far in single precision."""
    index = read_index(files.of_block(number))
    is_used = np.array([index.get_list_size(one) > 0 for one in range(files.n_lists)])
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
        found, lengths = (np.concatenate(parts) for parts in zip(*results, strict=True))
    is_none = found < 0
    start = files.edges[number]
    return rows, np.where(is_none, NOBODY, found + start), np.where(is_none, np.inf, lengths.astype(np.float64))


def _measured(
    X: Samples, metric: Any, files: ListFiles, points: FloatArray, candidates: IndexArray, n_threads: int, number: int
) -> FloatArray:
    """Distances of the targets to those of their candidates that are in a block, inf to others."""
    start, stop = _block(files, number)
    is_here = (candidates >= start) & (candidates < stop)
    needed = np.unique(candidates[is_here])
    if not needed.size:
        return np.full(candidates.shape, np.inf)
    ours = searchable(np.array(X[needed], order="C"), metric)
    places = np.where(is_here, np.searchsorted(needed, np.where(is_here, candidates, start)), NOBODY)
    step = rows_at_once(candidates.shape[1], points.shape[1])
    groups = [slice(begin, begin + step) for begin in range(0, len(points), step)]
    with closing(map_blocks(lambda few: lengths_to(ours, points[few], places[few]), groups, n_threads)) as results:
        return np.concatenate(list(results))


def _block(files: ListFiles, number: int) -> Block:
    return int(files.edges[number]), int(files.edges[number + 1])
