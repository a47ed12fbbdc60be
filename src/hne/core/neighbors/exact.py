"""X, targets -> their k nearest samples, exact, in one well-defined order.

Order is by Euclidean distance, equal distances by index, so that the graph does not depend on how it was
found. A search (k-d tree, or products of matrices, in single
precision first) only proposes candidates; their distances are then
computed from differences of coordinates, and a row is final when no sample outside its candidates can be as
near as its k-th. Rows that are not (ties, duplicates, digits lost in a product) ask for more candidates.
"""

import logging
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.spatial import cKDTree

from hne import _kernels
from hne._runtime.progress import track
from hne._runtime.threads import map_blocks, one_blas_thread
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.kinds import Samples, lengths_between, row_lengths, width

logger = logging.getLogger("hne")

# Up to this many features a k-d tree wins for most data (measured: n = 300 .. 40 000, Gaussians and rolls;
# at 10 features it ties on full-dimensional Gaussians and is 10 to 40 times faster on surfaces).
TREE_MAX_FEATURES = 12
# Candidates beyond k that a first search asks for: the sample itself and one to see a tie by. Products of
# coordinates lose digits, so brute force asks for a few more.
TREE_SPARE, BRUTE_SPARE = 2, 9
# Up to this many targets all samples are looked through. Of a million in 3 dimensions that is 0.04 s a target, while
# the tree that it saves takes 0.5 s to build; products of matrices need about as much to begin as two targets do.
SCAN_MAX_TARGETS = {"tree": 8, "brute": 2}
# How many times its first candidates brute force, in single and in double precision, may ask for to settle ties, which
# whole-numbered data is full of.
PATIENCE = {"single": 2, "brute": 4}
# Bits of a distance that the order of summing may decide, with many to spare: 41 are left, which tell 5e-13 of it.
LOST_BITS = 12
# Relative slack for distances that two programs sum up in different order, and for those that are rounded.
ROUNDING = 1e-12
# What is shorter has a square that vanishes.
SHORTEST = 1e-150
BLOCK_BYTES = 2**25
# An interrupt waits for the block that is being searched: half a second of the tree's rows, and a second of
# multiplications. Below the smallest block, products get slow.
TREE_MAX_BLOCK, BRUTE_MAX_WORK, BRUTE_MIN_BLOCK = 2**15, 2**33, 128
# Targets of one question to a tree that has a limit: all share the largest of theirs.
LIMIT_ROWS = 1024
# Blocks of a small search for each thread, so that none waits long for the last.
SHARES, SMALLEST_SHARE = 4, 1024
# Targets and samples of a tile of products, 2 MB that stay in the cache.
TILE_ROWS, TILE_COLUMNS = 256, 2048
# Samples for each tile by which their centers are found, in so many rounds.
TILING_SAMPLES, TILING_ROUNDS = 50, 3
# scikit-learn writes out all distances of a block of sparse samples, twice.
SPARSE_BYTES = 2**28

# Index of nobody, after that of any sample: in rows with fewer neighbors than places.
NOBODY = np.iinfo(np.intp).max

# A search takes rows of targets and a number of candidates; it proposes their indices (t, c), and for each a distance
# that it does not undercut, ascending along a row: the last one no other sample undercuts.
Proposal = tuple[IndexArray, FloatArray]
Search = Callable[[IndexArray, int], Proposal]


def nearest(
    X: Samples,
    targets: Samples,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    n_threads: int = 1,
    reach: FloatArray | None = None,
) -> tuple[IndexArray, FloatArray, str]:
    """Nearest samples of X to each target, their distances, and the method that proposed them; both dense or both CSR.

    `leave_out[i]` is a sample that target i may not have as a neighbor, -1 where it may have anybody. Neighbors are
    within the target's `reach`, where there is one: a row with fewer ends in index NOBODY and distance inf.
    """
    n, t = X.shape[0], targets.shape[0]
    method = exact_method(X.shape[1], is_sparse=issparse(X))
    proposer, search, spare, pending = _first_search(X, targets, method, n_threads, reach)
    indices, distances = np.empty((t, n_neighbors), dtype=np.intp), np.empty((t, n_neighbors))
    n_candidates = min(n_neighbors + spare, n)
    while pending.size:
        block = _rows_a_block(X, proposer, pending.size, n_candidates, n_threads)
        blocks = [pending[start : start + block] for start in range(0, pending.size, block)]

        def open_rows(rows: IndexArray, search: Search = search, n_candidates: int = n_candidates) -> IndexArray:
            """Write the neighbors of these rows, and tell which of them are not final."""
            candidates, at_least = search(rows, n_candidates)
            limit = np.inf if reach is None else reach[rows]
            if reach is not None:
                candidates = np.where(at_least <= reach[rows, None], candidates, NOBODY)
            near, lengths = rank(X, targets[rows], candidates, None if leave_out is None else leave_out[rows])
            indices[rows], distances[rows] = near[:, :n_neighbors], lengths[:, :n_neighbors]
            is_open = np.minimum(lengths[:, n_neighbors - 1], limit) >= at_least[:, -1]
            return rows[is_open] if n_candidates < n else rows[:0]

        # scikit-learn has threads of its own.
        with (
            closing(map_blocks(open_rows, blocks, 1 if proposer == "brute" else n_threads)) as results,
            one_blas_thread(),
        ):
            pending = np.concatenate(list(track("search", results, len(blocks))))
        if not pending.size:
            break
        logger.debug("neighbors: %d rows need more than %d candidates", pending.size, n_candidates)
        n_candidates = min(2 * n_candidates, n)
        if proposer != "tree" and not issparse(X) and n_candidates > PATIENCE[proposer] * (n_neighbors + spare):
            # These rows are no ties but have lost digits, which more candidates do not bring back. A tree loses none.
            n_candidates = min(n_neighbors + spare, n)
            if proposer == "single":
                proposer, search = "brute", _brute_search(X, targets, n_threads)
            else:
                proposer, search = "tree", _tree_search(cKDTree(X, balanced_tree=False), targets, reach)
    return indices, distances, method


def _first_search(
    X: Samples, targets: Samples, method: str, n_threads: int, reach: FloatArray | None
) -> tuple[str, Search, int, IndexArray]:
    """Who proposes, the search itself, candidates beyond the wanted ones, and the targets in the order of asking."""
    order = np.arange(targets.shape[0])
    if issparse(X):
        return method, _brute_search(X, targets, n_threads), BRUTE_SPARE, order
    if len(order) <= SCAN_MAX_TARGETS[method]:
        return method, _scan_search(X, targets), TREE_SPARE, order
    if method == "brute":
        search, by_tiles = _single_search(X, targets)
        # Targets that are near to each other look into the same tiles.
        return "single", search, BRUTE_SPARE, by_tiles if targets is X else order
    tree = cKDTree(X, balanced_tree=False)
    if targets is X:
        # Neighbors in space look into the same leaves, which then stay in the cache: half the time at n = 200 000.
        order = tree.indices
    elif reach is not None:
        order = np.argsort(reach, kind="stable")
    return method, _tree_search(tree, targets, reach), TREE_SPARE, order


def exact_method(n_features: int, *, is_sparse: bool = False) -> str:
    """Name the exact search that serves such samples: "tree" or "brute"."""
    return "tree" if n_features <= TREE_MAX_FEATURES and not is_sparse else "brute"


def _rows_a_block(X: Samples, proposer: str, n_pending: int, n_candidates: int, n_threads: int) -> int:
    """Targets that are searched at once: differences to candidates stay small, and an interrupt is soon heard."""
    share = -(-n_pending // (SHARES * n_threads))
    if proposer == "tree":
        block = min(TREE_MAX_BLOCK, max(SMALLEST_SHARE, share))
    elif issparse(X):
        block = max(1, SPARSE_BYTES // (16 * X.shape[0]))
    else:
        block = max(BRUTE_MIN_BLOCK, BRUTE_MAX_WORK // (X.shape[0] * width(X)))
        block = block if proposer == "brute" else min(block, max(TILE_ROWS, share))
    return min(block, rows_at_once(n_candidates, width(X)))


def rows_at_once(n_candidates: int, n_features: int) -> int:
    """Number of rows whose differences from their candidates fit into a block of memory."""
    return max(1, BLOCK_BYTES // (8 * n_candidates * n_features))


def rank(
    X: Samples, targets: Samples, candidates: IndexArray, banned: IndexArray | None
) -> tuple[IndexArray, FloatArray]:
    """Sort each row's candidates by distance, then index; a banned one goes to the end, and so does NOBODY."""
    candidates = np.sort(candidates, axis=1)
    lengths = lengths_to(X, targets, candidates)
    if banned is not None:
        lengths[candidates == banned[:, None]] = np.inf
    order = np.argsort(lengths, axis=1, kind="stable")
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(lengths, order, axis=1)


def lengths_to(X: Samples, targets: Samples, candidates: IndexArray) -> FloatArray:
    """Distances of each target to its candidates, inf to NOBODY, rounded."""
    is_somebody = candidates < NOBODY
    if is_somebody.all():
        return rounded(lengths_between(X, targets, candidates))
    lengths = np.full(candidates.shape, np.inf)
    rows, columns = np.nonzero(is_somebody)
    lengths[rows, columns] = rounded(lengths_between(X, targets[rows], candidates[rows, columns, None]))[:, 0]
    return lengths


def rounded(lengths: FloatArray) -> FloatArray:
    """Lengths without their last bits: those that tie do, in whatever order their squares were summed up."""
    bits = lengths.view(np.int64) + (1 << (LOST_BITS - 1))
    bits &= -(1 << LOST_BITS)
    return bits.view(np.float64)


def _tree_search(tree: cKDTree, targets: FloatArray, reach: FloatArray | None) -> Search:
    def search(rows: IndexArray, n_candidates: int) -> Proposal:
        # One worker: SciPy's own threads outlive an interrupt, and then write to arrays that are gone.
        # A list of ranks, because a single number loses a dimension where it is 1.
        ranks, answers = np.arange(1, n_candidates + 1), []
        step = len(rows) if reach is None else LIMIT_ROWS
        for start in range(0, len(rows), step):
            group = rows[start : start + step]
            limit = np.inf if reach is None else float(surely(reach[group].max()))
            answers.append(tree.query(targets[group], ranks, distance_upper_bound=limit))
        # Behind the last candidate within the limit, SciPy has distance inf, which is beyond any reach.
        lengths, candidates = (np.concatenate(part) for part in zip(*answers, strict=True))
        return candidates, lengths * (1 - ROUNDING)

    return search


def surely(reach: FloatArray) -> FloatArray:
    """A distance that is beyond the reach by more than rounding."""
    return reach * (1 + ROUNDING) + SHORTEST


def _scan_search(X: FloatArray, targets: FloatArray) -> Search:
    def search(rows: IndexArray, n_candidates: int) -> Proposal:
        candidates = np.empty((len(rows), n_candidates), dtype=np.intp)
        lengths = np.empty((len(rows), n_candidates))
        for row, target in enumerate(targets[rows]):
            all_lengths = row_lengths(X - target)
            near = np.argpartition(all_lengths, n_candidates - 1)[:n_candidates]
            candidates[row] = near[np.argsort(all_lengths[near])]
            lengths[row] = all_lengths[candidates[row]]
        return candidates, lengths * (1 - ROUNDING)

    return search


def _single_search(X: FloatArray, targets: FloatArray) -> tuple[Search, IndexArray]:
    """Brute force in single precision, whose errors are known, and an order of the samples in which near ones follow.

    What it cannot tell apart is left to others. Samples are in tiles, and those that are too far are not looked into.
    """
    center = X.mean(axis=0)
    centered = X - center
    lengths = row_lengths(centered)
    # Norms of one at most: single precision ends at 1e38, which squares reach soon.
    farthest = lengths if targets is X else row_lengths(targets - center)
    unit = float(2.0 ** np.ceil(np.log2(max(float(lengths.max()), float(farthest.max()), SHORTEST))))
    centered /= unit
    points, halves = centered.astype(np.float32), ((lengths / unit) ** 2 / 2).astype(np.float32)
    order, edges = _tiles(points)
    points, halves = points[order], halves[order]
    balls = [_ball(centered[order[start:stop]]) for start, stop in pairwise(edges)]
    middles, radii = np.array([ball[0] for ball in balls]), np.array([ball[1] for ball in balls])
    del centered
    # Of each of the products, and of the numbers before they were rounded.
    rounding = 4 * (X.shape[1] + 8) * float(np.finfo(np.float32).eps)

    def search(rows: IndexArray, n_candidates: int) -> Proposal:
        shifted = (targets[rows] - center) / unit
        wanted, own = shifted.astype(np.float32), row_lengths(shifted)[:, None]
        scores = np.full((len(rows), n_candidates), np.inf, dtype=np.float32)
        found = np.zeros((len(rows), n_candidates), dtype=np.int64)
        for top in range(0, len(rows), TILE_ROWS):
            some = slice(top, top + TILE_ROWS)
            middle, radius = _ball(shifted[some])
            # No target of these and no sample of a tile are nearer to each other.
            apart = row_lengths(middles - middle) - radii - radius - ROUNDING
            for tile in np.argsort(apart, kind="stable"):
                last = np.max(own[some, 0] ** 2 + 2 * scores[some, -1].astype(np.float64))
                if apart[tile] > 0 and apart[tile] ** 2 > last:
                    break
                first, stop = edges[tile], edges[tile + 1]
                products = wanted[some] @ points[first:stop].T
                _kernels.keep_nearest(products, halves[first:stop], first, scores[some], found[some])
        squares = np.maximum(own**2 + 2 * scores.astype(np.float64), 0.0)
        # Who is not proposed is beyond the last, or no farther from the center than the target and the last distance.
        lost = rounding * (2 * own + np.sqrt(squares)) ** 2
        return order[found], unit * np.sqrt(np.maximum(squares - lost, 0.0)) * (1 - ROUNDING)

    return search, order


def _tiles(points: NDArray[np.float32]) -> tuple[IndexArray, IndexArray]:
    """An order of the points in which near ones follow each other, and where tiles of them begin and end in it."""
    n = len(points)
    count = -(-n // TILE_COLUMNS)
    centers = points[np.linspace(0, n - 1, count).astype(np.intp)]
    some = points[:: max(1, n // (TILING_SAMPLES * count))]
    for _ in range(TILING_ROUNDS):
        names = _nearest_center(some, centers)
        members = csr_array((np.ones(len(some), dtype=np.float32), (names, np.arange(len(some)))), (count, len(some)))
        centers = (members @ some) / np.maximum(np.bincount(names, minlength=count), 1)[:, None].astype(np.float32)
    names = _nearest_center(points, centers)
    sizes = np.bincount(names, minlength=count)
    begins = np.cumsum(sizes) - sizes
    parts = [np.arange(begin, begin + size, TILE_COLUMNS) for begin, size in zip(begins, sizes, strict=True)]
    return np.argsort(names, kind="stable"), np.append(np.concatenate(parts), n)


def _nearest_center(points: NDArray[np.float32], centers: NDArray[np.float32]) -> IndexArray:
    halves = (centers**2).sum(axis=1) / 2
    return np.concatenate(
        [
            np.argmax(points[start : start + TILE_COLUMNS] @ centers.T - halves, axis=1)
            for start in range(0, len(points), TILE_COLUMNS)
        ]
    )


def _ball(points: FloatArray) -> tuple[FloatArray, float]:
    """The middle of some points, and the distance of the farthest from it."""
    middle = points.mean(axis=0)
    return middle, float(row_lengths(points - middle).max())


def _brute_search(X: Samples, targets: Samples, n_threads: int) -> Search:
    # |x|^2 - 2 x.t + |t|^2 loses digits far from the origin; centered, it loses as few as it can. Sparse samples have
    # most of their values there.
    center = None if issparse(X) else X.mean(axis=0)
    centered = X if center is None else X - center
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415, a second to load, and trees need none of it

    finder = NearestNeighbors(algorithm="brute", n_jobs=n_threads).fit(centered)
    farthest = row_lengths(centered).max()
    rounding = 4 * (X.shape[1] + 8) * np.finfo(float).eps

    def search(rows: IndexArray, n_candidates: int) -> Proposal:
        shifted = targets[rows] if center is None else targets[rows] - center
        # Without it scikit-learn counts processes, of which workers of a pool may have none: joblib would warn.
        with parallel_config("threading"), one_blas_thread():
            lengths, candidates = finder.kneighbors(shifted, n_candidates)
        lost = rounding * (farthest + row_lengths(shifted)) ** 2
        return candidates, np.sqrt(np.maximum(lengths**2 - lost[:, None], 0.0)) * (1 - ROUNDING)

    return search
