"""Blocks of X, targets -> their k nearest samples in all of X, exact, with one block in memory at a time.

For samples in a file: whoever searches copies a block out of it, looks for neighbors there, and lets it go. The answer
has the bits of a search in all of X, because a distance depends on two samples alone and lists are merged by distance,
then index. A target looks into its own block first, and then only into those whose box is within the distance of its
k-th neighbor so far; of such a block, only the samples around the targets that look into it are searched. A million
samples of a roll in 16 blocks need 28 MB beside the file, all at once 192 MB.

X is anything that has a shape and gives rows by a slice or by their numbers, one after the other in memory as in a file
of NumPy. Functions and records can be sent to other processes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hne.core.neighbors.exact import NOBODY, ROUNDING, exact_method, nearest_within, surely
from hne.core.neighbors.metric import Nearest, in_metric, nearest_by_all_distances, searchable
from hne.core.records import FloatArray, IndexArray, is_euclidean
from hne.core.samples.kinds import Samples, row_lengths

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
        points: FloatArray = searchable(self.samples(number), self.metric)
        return points

    def points_at(self, rows: IndexArray) -> FloatArray:
        """The points of some rows, in memory."""
        points: FloatArray = searchable(np.array(self.X[rows], order="C"), self.metric)
        return points

    def box(self, number: int) -> FloatArray:
        """Lowest and highest coordinates (2, D) of the points of a block."""
        return _box_around(self.points(number))


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
        everyone = np.arange(len(targets))
        for number in blocks.numbers:
            lists.add(everyone, *_all_in_block(blocks, targets, n_neighbors, leave_out, n_threads, number))
        return np.where(lists.indices < NOBODY, lists.indices, -1), lists.lengths, "metric"
    points: FloatArray = searchable(targets, blocks.metric)

    def look_into(number: int, rows: IndexArray) -> None:
        """Let some targets add the neighbors that they have in a block."""
        if rows.size:
            reach = None if np.isinf(lists.lengths[rows, -1]).all() else lists.lengths[rows, -1]
            banned = None if leave_out is None else leave_out[rows]
            lists.add(rows, *nearest_in_block(blocks, points[rows], n_neighbors, reach, banned, n_threads, number))

    if leave_out is None:
        home = _nearest_boxes(points, blocks.boxes)
    else:
        home = np.searchsorted(blocks.edges, leave_out, side="right") - 1
    for number in np.unique(home):
        look_into(number, np.flatnonzero(home == number))
    # From the nearest block outward: what is found early saves a look into those beyond.
    around = _box_around(points)
    gaps = np.array([_gap_of_boxes(around, box) for box in blocks.boxes])
    for number in np.argsort(gaps, kind="stable"):
        reach = lists.lengths[:, -1]
        if gaps[number] > reach.max():
            break
        look_into(number, np.flatnonzero((home != number) & (_gaps(points, blocks.boxes[number]) <= reach)))
    indices = np.where(lists.indices < NOBODY, lists.indices, -1)
    return indices, in_metric(lists.lengths, blocks.metric), exact_method(points)


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
        near = _around(points, reach, ours)
        ours = ours if len(near) == len(ours) else ours[near]
    count = min(n_neighbors, len(near))
    if not count:
        return np.full((len(points), 1), NOBODY), np.full((len(points), 1), np.inf)
    if reach is None and np.array_equal(points, ours):
        # The block's own samples, which the search then visits in an order of its own.
        points = ours
    banned = None if leave_out is None else _positions(leave_out - start, near)
    found, lengths = nearest_within(ours, points, count, reach, banned, n_threads)
    # Beyond reach, and the sample that a target may not have.
    is_none = np.isinf(lengths)
    found[is_none] = 0
    return np.where(is_none, NOBODY, near[found] + start), lengths


def _all_in_block(
    blocks: Blocks, targets: FloatArray, n_neighbors: int, leave_out: IndexArray | None, n_threads: int, number: int
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples of one block by a metric that allows no shortcut; indices are those in all of X."""
    ours, start = blocks.samples(number), blocks.edges[number]
    banned = None if leave_out is None else _positions(leave_out - start, np.arange(len(ours)))
    count = min(n_neighbors, len(ours))
    metric = blocks.metric, blocks.params
    found, lengths = nearest_by_all_distances(*metric, ours, targets, count, banned, n_threads)
    # Distances are finite but for those of a sample to itself.
    return np.where(np.isinf(lengths), NOBODY, found + start), lengths


def _box_around(points: FloatArray) -> FloatArray:
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _nearest_boxes(points: FloatArray, boxes: FloatArray) -> IndexArray:
    """Number of the block whose box is nearest to each point, the first of several."""
    numbers, nearest_gap = np.zeros(len(points), dtype=np.intp), np.full(len(points), np.inf)
    for number, box in enumerate(boxes):
        gaps = _gaps(points, box)
        is_nearer = gaps < nearest_gap
        numbers[is_nearer], nearest_gap[is_nearer] = number, gaps[is_nearer]
    return numbers


def _gaps(points: FloatArray, box: FloatArray) -> FloatArray:
    """Distance that no sample in a box undercuts, for each point."""
    return row_lengths(np.maximum(np.maximum(box[0] - points, points - box[1]), 0.0)) * (1 - ROUNDING)


def _gap_of_boxes(one: FloatArray, other: FloatArray) -> float:
    """Distance that no point in one box and sample in the other undercut."""
    apart = np.maximum(np.maximum(other[0] - one[1], one[0] - other[1]), 0.0)
    return float(row_lengths(apart[None])[0] * (1 - ROUNDING))


def _around(points: FloatArray, reach: FloatArray, samples: FloatArray) -> IndexArray:
    """Samples in the box that holds all that the points can reach."""
    limit = surely(reach)[:, None]
    low, high = (points - limit).min(axis=0), (points + limit).max(axis=0)
    inside = np.arange(len(samples))
    # Column by column: the first, by which samples are ordered, leaves few.
    for column in range(samples.shape[1]):
        values = samples[inside, column]
        inside = inside[(values >= low[column]) & (values <= high[column])]
    return inside


def _positions(wanted: IndexArray, listed: IndexArray) -> IndexArray:
    """Where each wanted number is in an ascending list, -1 where it is not."""
    places = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
    return np.where(listed[places] == wanted, places, -1)
