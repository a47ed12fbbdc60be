"""Blocks of X, targets -> their k nearest samples in all of X, exact, with one block in memory at a time.

For samples in a file: whoever searches copies a block out of it, looks for neighbors there, and lets it go. The answer
has the bits of a search in all of X, because a distance depends on two samples alone and lists are merged by distance,
then index. A target looks into its own block first, and then only into those whose box is within the distance of its
k-th neighbor so far; of such a block, only the samples around the targets that look into it are searched. A million
samples of a roll in 16 blocks need 28 MB beside the file, all at once 192 MB.

X is anything that has a shape and gives rows by a slice or by their numbers, one after the other in memory as in a file
of NumPy. Functions and records can be sent to other processes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hne.core.neighbors.exact import NOBODY, ROUNDING, exact_method, nearest_within, surely
from hne.core.neighbors.metric import Found, in_metric, nearest_by_all_distances, searchable
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.kinds import Samples, row_lengths

# Begin and end of a block's rows.
Block = tuple[int, int]


@dataclass(frozen=True)
class Blocks:
    """Where the blocks of X begin and end, and a box around the points of each.

    Points are what a Euclidean search sees of the samples, see `searchable`. For other metrics there are no boxes.
    """

    edges: IndexArray  # (b + 1,), from 0 to n
    boxes: FloatArray | None = None  # (b, 2, D), lowest and highest coordinates

    @property
    def ranges(self) -> list[Block]:
        """Begin and end of each block."""
        return [(int(start), int(stop)) for start, stop in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def holding(self, samples: IndexArray) -> IndexArray:
        """Number of the block that each of these samples is in."""
        return np.searchsorted(self.edges, samples, side="right") - 1


class Lists:
    """Neighbors that targets have found so far, by distance, then index; NOBODY and inf behind the last."""

    def __init__(self, n_targets: int, n_neighbors: int) -> None:
        self.indices: IndexArray = np.full((n_targets, n_neighbors), NOBODY)
        self.lengths: FloatArray = np.full((n_targets, n_neighbors), np.inf)

    def add(self, rows: IndexArray, found: IndexArray, lengths: FloatArray) -> None:
        """Merge what some targets have found elsewhere, in order as well."""
        if (self.indices[rows, 0] == NOBODY).all():
            count = found.shape[1]
            self.indices[rows, :count], self.lengths[rows, :count] = found, lengths
            return
        # Who has nobody in the first place has nobody.
        has_any = np.flatnonzero(found[:, 0] < NOBODY)
        rows = rows[has_any]
        every = np.hstack([self.indices[rows], found[has_any]])
        every_length = np.hstack([self.lengths[rows], lengths[has_any]])
        order = np.lexsort((every, every_length), axis=1)[:, : self.indices.shape[1]]
        self.indices[rows] = np.take_along_axis(every, order, axis=1)
        self.lengths[rows] = np.take_along_axis(every_length, order, axis=1)


def block_edges(starts: IndexArray, n_samples: int) -> IndexArray:
    """Edges of blocks from their first rows, with or without the end of the last; blocks without a row are dropped."""
    return np.unique(np.append(np.asarray(starts, dtype=np.intp), [0, n_samples]))


def block_box(X: Samples, metric: Any, block: Block) -> FloatArray:
    """Lowest and highest coordinates (2, D) of the points of a block."""
    points = block_points(X, metric, block)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def block_points(X: Samples, metric: Any, block: Block) -> FloatArray:
    """The points of a block, in memory."""
    points: FloatArray = searchable(np.array(X[slice(*block)], order="C"), metric)
    return points


def nearest_in_blocks(
    X: Samples,
    blocks: Blocks,
    targets: FloatArray,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    metric: Any = "euclidean",
    params: Any = None,
    n_threads: int = 1,
) -> Found:
    """What `nearest_by` finds in all of X, bit for bit, with one block in memory at a time.

    Metrics that are products of matrices (`nan_euclidean`) round by the size of a block: their last digit may differ.
    """
    lists = Lists(len(targets), n_neighbors)
    if blocks.boxes is None:
        everyone = np.arange(len(targets))
        for block in blocks.ranges:
            lists.add(everyone, *_all_in_block(X, block, targets, n_neighbors, leave_out, metric, params, n_threads))
        return np.where(lists.indices < NOBODY, lists.indices, -1), lists.lengths, "metric"
    points = searchable(targets, metric)
    home = _homes(points, blocks.boxes) if leave_out is None else blocks.holding(leave_out)
    look = partial(_look_into_block, X, metric, blocks, points, leave_out, n_threads, lists)
    for block in np.unique(home):
        look(block, np.flatnonzero(home == block))
    # From the nearest block outward: what is found early saves a look into those beyond.
    own_box = np.stack([points.min(axis=0), points.max(axis=0)])
    gaps = np.array([_gap(own_box, box) for box in blocks.boxes])
    for block in np.argsort(gaps, kind="stable"):
        reach = lists.lengths[:, -1]
        if gaps[block] > reach.max():
            break
        look(block, np.flatnonzero((home != block) & (_gaps(points, blocks.boxes[block]) <= reach)))
    found = np.where(lists.indices < NOBODY, lists.indices, -1)
    return found, in_metric(lists.lengths, metric), exact_method(points)


def nearest_in_block(
    X: Samples,
    metric: Any,
    points: FloatArray,
    n_neighbors: int,
    reach: FloatArray | None,
    leave_out: IndexArray | None,
    n_threads: int,
    block: Block,
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples of one block within the reach of each target, a point, and their Euclidean distances.

    Indices are those in all of X; behind the last, a row has NOBODY and inf.
    """
    ours, start = block_points(X, metric, block), block[0]
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
    banned = None if leave_out is None else _places_of(leave_out - start, near)
    found, lengths = nearest_within(ours, points, count, reach, banned, n_threads)
    # Beyond reach, and the sample that a target may not have.
    is_none = np.isinf(lengths)
    found[is_none] = 0
    found = near[found] + start
    found[is_none] = NOBODY
    return found, lengths


def _look_into_block(
    X: Samples,
    metric: Any,
    blocks: Blocks,
    points: FloatArray,
    leave_out: IndexArray | None,
    n_threads: int,
    lists: Lists,
    block: int,
    rows: IndexArray,
) -> None:
    """Let some targets add the neighbors that they have in a block."""
    if not rows.size:
        return
    reach = None if np.isinf(lists.lengths[rows, -1]).all() else lists.lengths[rows, -1]
    banned = None if leave_out is None else leave_out[rows]
    k = lists.indices.shape[1]
    lists.add(rows, *nearest_in_block(X, metric, points[rows], k, reach, banned, n_threads, blocks.ranges[block]))


def _all_in_block(
    X: Samples,
    block: Block,
    targets: FloatArray,
    n_neighbors: int,
    leave_out: IndexArray | None,
    metric: Any,
    params: Any,
    n_threads: int,
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples of one block by a metric that allows no shortcut; indices are those in all of X."""
    start, stop = block
    count = min(n_neighbors, stop - start)
    banned = None if leave_out is None else _places_of(leave_out - start, np.arange(stop - start))
    ours = np.array(X[start:stop], order="C")
    found, lengths = nearest_by_all_distances(metric, params, ours, targets, count, banned, n_threads)
    # Distances are finite but for those of a sample to itself.
    return np.where(np.isinf(lengths), NOBODY, found + start), lengths


def _homes(points: FloatArray, boxes: FloatArray) -> IndexArray:
    """Number of the block whose box is nearest to each point, the first of several."""
    homes, nearest_gap = np.zeros(len(points), dtype=np.intp), np.full(len(points), np.inf)
    for number, box in enumerate(boxes):
        gaps = _gaps(points, box)
        is_nearer = gaps < nearest_gap
        homes[is_nearer], nearest_gap[is_nearer] = number, gaps[is_nearer]
    return homes


def _gaps(points: FloatArray, box: FloatArray) -> FloatArray:
    """Distance that no sample in a box undercuts, for each point."""
    return row_lengths(np.maximum(np.maximum(box[0] - points, points - box[1]), 0.0)) * (1 - ROUNDING)


def _gap(one: FloatArray, other: FloatArray) -> float:
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


def _places_of(wanted: IndexArray, listed: IndexArray) -> IndexArray:
    """Where each wanted number is in an ascending list, -1 where it is not."""
    places = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
    return np.where(listed[places] == wanted, places, -1)
