"""Approximate neighbors: seconds and recall of the libraries that offer them, and whether threads change their answer.

Only faiss comes with `hne[approx]`; for the other rows: pip install pynndescent hnswlib usearch.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hne.core.neighbors.exact import nearest
from hne.core.neighbors.graph import knn_graph
from hne.core.records import FloatArray, IndexArray

TITLE = "Approximate neighbors"
N_SAMPLES, N_FEATURES, K, THREADS = 100_000, 100, 10, 2
# Rows that are searched where a search can be asked for some rows only; seconds are scaled up to all.
N_QUERIES, N_TRUE = 10_000, 1_000
# Samples on which graphs made with one thread and with two are compared.
N_REPEATED = 20_000
# Candidates beyond k, as in the library: a row finds itself, and single precision loses the order of some.
SPARE = 5
# Links of a sample and breadth of search while a graph index is built; then breadths to search with, by which each
# library is to come to a recall of 0.98 if it can.
LINKS, BUILD_BREADTH, BREADTHS = 16, 100, (16, 32, 64, 128)
GOOD_RECALL = 0.98

Points: TypeAlias = NDArray[np.float32]
# Candidates of rows, by a breadth of search.
Search: TypeAlias = Callable[[Points, int], IndexArray]
Build: TypeAlias = Callable[[Points, int], Search]


def curved_gaussian(n_samples: int) -> FloatArray:
    """Ten dimensions bent into a hundred, with a little noise."""
    rng = np.random.default_rng(0)
    inner = rng.normal(size=(n_samples, 10))
    straight, bent = rng.normal(size=(2, 10, N_FEATURES)) / np.sqrt(10)
    noise = 0.05 * rng.normal(size=(n_samples, N_FEATURES))
    cloud: FloatArray = inner @ straight + np.sin(1.5 * inner @ bent) + noise
    return cloud


def clusters(n_samples: int) -> FloatArray:
    """Two hundred clusters, each of 20 dimensions of its own and a little noise."""
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(200, N_FEATURES))
    frames = rng.normal(size=(200, 20, N_FEATURES)) / np.sqrt(20)
    labels = rng.integers(0, 200, n_samples)
    inner = 0.7 * rng.normal(size=(n_samples, 20))
    cloud = centers[labels] + 0.1 * rng.normal(size=(n_samples, N_FEATURES))
    for label in range(200):
        members = labels == label
        cloud[members] += inner[members] @ frames[label]
    return cloud


def build_faiss_hnsw(points: Points, n_threads: int) -> Search:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexHNSWFlat(points.shape[1], LINKS)
    index.hnsw.efConstruction = BUILD_BREADTH
    index.add(points)
    faiss.omp_set_num_threads(THREADS)

    def search(rows: Points, breadth: int) -> IndexArray:
        index.hnsw.efSearch = breadth
        found: IndexArray = index.search(rows, K + SPARE)[1]
        return found

    return search


def build_hnswlib(points: Points, n_threads: int) -> Search:
    import hnswlib

    index = hnswlib.Index("l2", points.shape[1])
    index.init_index(len(points), ef_construction=BUILD_BREADTH, M=LINKS, random_seed=0)
    index.add_items(points, num_threads=n_threads)

    def search(rows: Points, breadth: int) -> IndexArray:
        index.set_ef(breadth)
        found: IndexArray = index.knn_query(rows, K + SPARE, num_threads=THREADS)[0].astype(np.intp)
        return found

    return search


def build_usearch(points: Points, n_threads: int) -> Search:
    from usearch.index import Index

    index = Index(ndim=points.shape[1], metric="l2sq", dtype="f32", connectivity=LINKS, expansion_add=BUILD_BREADTH)
    index.add(np.arange(len(points)), points, threads=n_threads)

    def search(rows: Points, breadth: int) -> IndexArray:
        index.expansion_search = breadth
        found: IndexArray = index.search(rows, K + SPARE, threads=THREADS).keys.astype(np.intp)
        return found

    return search


GRAPH_INDEXES: dict[str, tuple[str, Build]] = {
    "faiss, HNSW": ("faiss", build_faiss_hnsw),
    "hnswlib": ("hnswlib", build_hnswlib),
    "usearch": ("usearch", build_usearch),
}


def descent(points: Points, n_threads: int) -> IndexArray:
    """Graph of pynndescent, whose build is a search for all rows at once."""
    from pynndescent import NNDescent

    index = NNDescent(points, n_neighbors=K + SPARE + 1, random_state=0, n_jobs=n_threads)
    graph: IndexArray = index.neighbor_graph[0]
    return graph


def share_of_true(found: IndexArray, true: IndexArray) -> float:
    """Share of true neighbors that are among the candidates."""
    return float((found[:, :, None] == true[:, None, :]).any(axis=1).mean())


class Stopwatch:
    """Seconds and processor seconds since the start."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self, share: float = 1.0) -> FloatArray:
        """Both, scaled up from the share of the work that was done."""
        now = time.perf_counter(), time.process_time()
        elapsed: FloatArray = (np.array(now) - np.array(self._start)) / share
        return elapsed


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = [
        f"## {TITLE}",
        "",
        f"n = {N_SAMPLES}, D = {N_FEATURES}, k = {K}, {THREADS} threads; seconds of index and search, then processor",
        "seconds of both, which a busy machine does not stretch as much. Graph indexes are built by one thread (see",
        f"the last table), and searched with the smallest breadth of {BREADTHS} that finds {GOOD_RECALL:.0%} of",
        f'the true neighbors of {N_TRUE} rows, or the largest. Ours is exact search and `neighbors="approximate"`.',
    ]
    if find_spec("pynndescent") is not None:
        watch = Stopwatch()
        descent(single_precision(clusters(1000)), THREADS)
        lines.append(
            f"pynndescent compiles for {watch.read()[0]:.0f} s at its first use in a process, not counted below."
        )
    for title, cloud in (("10 curved dimensions", curved_gaussian), ("200 clusters of 20 dimensions", clusters)):
        lines += ["", f"### {title}", "", "| | seconds | processor seconds | recall |", "|---|---|---|---|"]
        lines += [_row(*line) for line in _timed_searches(cloud(N_SAMPLES))]
    lines += ["", *_repeated_builds()]
    return "\n".join(lines)


def _row(name: str, seconds: FloatArray, recall: float) -> str:
    return f"| {name} | {seconds[0]:.1f} | {seconds[1]:.1f} | {recall:.3f} |"


def _timed_searches(X: FloatArray) -> list[tuple[str, FloatArray, float]]:
    rows = np.arange(0, N_SAMPLES, N_SAMPLES // N_TRUE)
    true = nearest(X, X[rows], K, rows, THREADS)[0]
    points = single_precision(X)
    share = N_QUERIES / N_SAMPLES
    watch = Stopwatch()
    nearest(X, X[:N_QUERIES], K, np.arange(N_QUERIES), THREADS)
    results = [("ours, exact", watch.read(share), 1.0)]
    watch = Stopwatch()
    graph = knn_graph(X, K, THREADS, "approximate")
    results.append(("ours, approximate (faiss, inverted file)", watch.read(), share_of_true(graph.indices[rows], true)))
    for name, (module, build) in GRAPH_INDEXES.items():
        if find_spec(module) is None:
            continue
        watch = Stopwatch()
        search = build(points, 1)
        built = watch.read()
        recalls = {}
        for breadth in BREADTHS:
            recalls[breadth] = share_of_true(search(points[rows], breadth), true)
            if recalls[breadth] >= GOOD_RECALL:
                break
        watch = Stopwatch()
        search(points[:N_QUERIES], breadth)
        results.append((f"{name}, breadth {breadth}", built + watch.read(share), recalls[breadth]))
    if find_spec("pynndescent") is not None:
        watch = Stopwatch()
        found = descent(points, THREADS)
        results.append(("pynndescent, compiled", watch.read(), share_of_true(found[rows], true)))
    return results


def single_precision(X: FloatArray) -> Points:
    """The samples, centered, as the libraries take them."""
    return np.ascontiguousarray(X - X.mean(axis=0), dtype=np.float32)


def _repeated_builds() -> list[str]:
    """Table of which graphs are the same for one thread and two, and for two threads twice."""
    X = clusters(N_REPEATED)
    points = single_precision(X)
    makers: dict[str, Callable[[int], IndexArray]] = {
        "ours, approximate": lambda n_threads: knn_graph(X, K, n_threads, "approximate").indices
    }
    for name, (module, build) in GRAPH_INDEXES.items():
        if find_spec(module) is not None:
            makers[name] = lambda n_threads, build=build: build(points, n_threads)(points, BREADTHS[0])  # type: ignore[misc]
    if find_spec("pynndescent") is not None:
        makers["pynndescent"] = lambda n_threads: descent(points, n_threads)
    lines = [
        f"### Same graph? (clusters, n = {N_REPEATED})",
        "",
        "| built with | 2 threads twice | 1 thread and 2 |",
        "|---|---|---|",
    ]
    for name, make in makers.items():
        one, two, again = make(1), make(2), make(2)
        words = ["same" if np.array_equal(*pair) else "differs" for pair in ((two, again), (one, two))]
        lines.append(f"| {name} | {words[0]} | {words[1]} |")
    return lines


if __name__ == "__main__":
    print(measure())
