"""X -> nearly all of each sample's k nearest others, and which share of them: an inverted file of faiss.

k-means cuts the samples into lists, and a sample's candidates come from the lists whose centers are nearest to it.
As in exact search, candidates are ranked by us: by distance from differences of coordinates, then index. How many
lists are probed is decided by a sample of rows whose true neighbors are known.

An inverted file because lists are filled in order and searched row by row, so that threads can share the work
without a say in the answer. Graphs of hnswlib and usearch differ from one build with two threads to the next, those
of pynndescent with the number of threads (benchmarks/approximate.py).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hne._runtime.files import atomic_write
from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import map_blocks
from hne.core.neighbors.exact import nearest, rank, rows_at_once
from hne.core.records import INT32_MAX, FloatArray, IndexArray, NeighborGraph

logger = logging.getLogger("hne")

Points: TypeAlias = NDArray[np.float32]

# From here on an index pays (measured, D = 100, k = 10, processor seconds at n = 5000: exact 0.3, this 0.2 to 0.45;
# at n = 20 000 3.9 against 1.1 to 2.3).
MIN_SAMPLES = 5_000
# Lists a root of n, as the guidelines of faiss have it (4 to 16), at their lower end: more cost more to make.
LISTS_PER_ROOT = 4
# k-means on a part of the samples, few rounds: at n = 100 000 recall for a number of probes is that of ten rounds on
# 64 a list (0.983 and 0.982 at 32 of 1000 lists), which took longer.
TRAINING_ROUNDS, TRAINING_SAMPLES_PER_LIST = 6, 50
# Lists that a row looks into: first, by what factor more, and the share of all where it ends, because exact search,
# whose matrix products outrun a scan, is near (measured, n = 100 000, D = 100: 66 to 82 s for 128 of 1000 lists with
# rows in any order, 98 s for exact search).
FIRST_PROBES, MORE_PROBES, MAX_SHARE_PROBED = 8, 1.5, 1 / 8
# Where probing stops to widen, and on how many rows that is measured: 1000 rows of ten neighbors tell 0.99 to 0.002.
TARGET_RECALL, RECALL_ROWS = 0.99, 1000
# Candidates beyond k: the sample itself, and some whose order is lost in single precision.
SPARE = 5
# Rows that one call to faiss assigns to lists; fixed, because products round by the size of their block.
ASSIGN_ROWS = 4096


def is_worth_an_index(n_samples: int, n_neighbors: int) -> bool:
    """Whether an index pays, and the lists probed at most hold several times the candidates asked for."""
    return n_samples >= MIN_SAMPLES and 4 * (n_neighbors + SPARE) <= MAX_SHARE_PROBED * n_samples


def approximate_neighbors(X: FloatArray, n_neighbors: int, n_threads: int, random_state: object) -> NeighborGraph:
    """Find most of the `n_neighbors` nearest samples of every sample of X, itself left out."""
    random = random_generator(random_state)
    points = X - X.mean(axis=0)
    # Single precision ends at 1e38, which squares reach soon: the farthest coordinate becomes 1.
    points /= max(points.max(), -points.min()) or 1.0
    points = points.astype(np.float32)
    centers = list_centers(points, list_count(len(X)), int(random.randint(INT32_MAX)))
    index = InvertedFile(points, centers, n_threads)
    sample = drawn_rows(len(X), random)
    farthest_true = nearest(X, X[sample], n_neighbors, sample, n_threads)[1][:, -1:]
    block = rows_at_once(n_neighbors + SPARE, X.shape[1])
    sample_blocks = [sample[start : start + block] for start in range(0, len(sample), block)]

    def search(rows: IndexArray, n_probes: int) -> tuple[IndexArray, FloatArray]:
        """Neighbors of these samples and their distances, which are infinite where the lists hold too few."""
        candidates = index.search(points[rows], n_neighbors + SPARE, n_probes)
        # A place left empty is -1: the sample itself stands in, which ranking puts to the end.
        near, lengths = rank(X, X[rows], np.where(candidates < 0, rows[:, None], candidates), rows)
        return near[:, :n_neighbors], lengths[:, :n_neighbors]

    def sample_lengths(n_probes: int) -> FloatArray:
        return np.concatenate([search(rows, n_probes)[1] for rows in sample_blocks])

    n_probes = enough_probes(sample_lengths, farthest_true, index.n_lists)
    indices = np.empty((len(X), n_neighbors), dtype=np.intp)
    distances = np.empty((len(X), n_neighbors))
    # Rows of one list look into the same lists, which then stay in the cache: a third of the time less.
    blocks = [index.rows_by_list[start : start + block] for start in range(0, len(X), block)]
    short = []
    with closing(map_blocks(lambda rows: search(rows, n_probes), blocks, n_threads)) as results:
        for rows, (near, lengths) in zip(blocks, track("search", results, len(blocks)), strict=True):
            indices[rows], distances[rows] = near, lengths
            short.append(rows[np.isinf(lengths[:, -1])])
    rest = np.concatenate(short)
    if rest.size:
        logger.info("neighbors: %d rows whose lists are too short are searched exactly", rest.size)
        indices[rest], distances[rest], _ = nearest(X, X[rest], n_neighbors, rest, n_threads)
    # By distance, not by name: of samples that are equally far, one is as true a neighbor as another.
    recall = float((distances[sample] <= farthest_true).mean())
    logger.info("neighbors: approximate, %d of %d lists probed, recall %.4f", n_probes, index.n_lists, recall)
    return NeighborGraph(indices, distances, "approximate", recall)


def enough_probes(sample_lengths: Callable[[int], FloatArray], farthest_true: FloatArray, n_lists: int) -> int:
    """Smallest number of lists to probe that finds the target share of the sample's true neighbors, up to a limit."""
    most = max(1, int(MAX_SHARE_PROBED * n_lists))
    n_probes = min(FIRST_PROBES, most)
    while n_probes < most:
        recall = (sample_lengths(n_probes) <= farthest_true).mean()
        logger.debug("neighbors: recall %.4f with %d lists probed", recall, n_probes)
        if recall >= TARGET_RECALL:
            break
        n_probes = min(int(MORE_PROBES * n_probes), most)
    return n_probes


def list_count(n_samples: int) -> int:
    """Number of lists for that many samples."""
    return int(LISTS_PER_ROOT * np.sqrt(n_samples))


def drawn_rows(n_samples: int, random: np.random.RandomState) -> IndexArray:
    """Rows on which recall is measured, ascending."""
    return np.sort(random.choice(n_samples, min(RECALL_ROWS, n_samples), replace=False))


def list_centers(points: Points, n_lists: int, seed: int) -> Points:
    """Centers of lists for these points, by k-means on some of them."""
    with one_thread() as faiss:
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], n_lists)
        clustering = index.cp
        clustering.seed, clustering.niter = seed, TRAINING_ROUNDS
        # The smaller number only silences a remark on standard error.
        clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, TRAINING_SAMPLES_PER_LIST
        index.train(points)
        centers: Points = index.quantizer.reconstruct_n(0, n_lists)
    return centers


def flat_index(centers: Points) -> Any:
    """An index of faiss that finds the centers nearest to a point."""
    with one_thread() as faiss:
        index = faiss.IndexFlatL2(centers.shape[1])
        index.add(centers)
    return index


class InvertedFile:
    """Points of single precision in lists around centers, and a search for neighbors in them."""

    def __init__(self, points: Points, centers: Points, n_threads: int) -> None:
        self.n_lists = len(centers)
        quantizer = flat_index(centers)
        lists = nearest_lists(quantizer, points, 1, n_threads)[:, 0]
        with one_thread() as faiss:
            from faiss.contrib.ivf_tools import add_preassigned  # noqa: PLC0415

            self._index = faiss.IndexIVFFlat(quantizer, points.shape[1], self.n_lists)
            add_preassigned(self._index, points, lists)
        self.rows_by_list: IndexArray = np.argsort(lists, kind="stable")

    def search(self, points: Points, count: int, n_probes: int) -> IndexArray:
        """The nearest in the nearest lists of each point, -1 behind the last."""
        with one_thread() as faiss:
            near: IndexArray = self._index.search(points, count, params=faiss.SearchParametersIVF(nprobe=n_probes))[1]
        return near

    def write(self, path: Path) -> None:
        """Put the lists into a file that is there whole or not at all."""
        with atomic_write(path, overwrite=True) as unfinished, one_thread() as faiss:
            faiss.write_index(self._index, str(unfinished))


def nearest_lists(quantizer: Any, points: Points, n_probes: int, n_threads: int) -> IndexArray:
    """Numbers of the lists (t, n_probes) whose centers, an index of faiss, are nearest to each point."""

    def assign(start: int) -> IndexArray:
        with one_thread():
            lists: IndexArray = quantizer.search(points[start : start + ASSIGN_ROWS], n_probes)[1]
        return lists

    return np.concatenate(list(map_blocks(assign, range(0, len(points), ASSIGN_ROWS), n_threads)))


@contextmanager
def one_thread() -> Iterator[Any]:
    """Give faiss, an extra, kept to the thread that calls it, BLAS included: blocks are spread over threads by us.

    OpenMP counts threads for each caller on its own, so other threads notice nothing.
    """
    import faiss  # noqa: PLC0415

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)
