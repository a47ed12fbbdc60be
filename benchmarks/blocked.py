"""Neighbors in blocks: what it costs to search with one block of samples in memory at a time."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from approximate import clusters, curved_gaussian
from hne._runtime.threads import limit_blas_threads
from hne.core.neighbors.blocked import BlockedSearch, NeighborLists, blocked_search
from hne.core.neighbors.graph import knn_graph
from hne.core.records import FloatArray, NeighborGraph
from hne.datasets import make_swiss_roll

TITLE = "Neighbors in blocks"
K, REPEATS = 10, 2


def roll(n_samples: int) -> FloatArray:
    return make_swiss_roll(n_samples, random_state=0).X


def gaussian(n_samples: int) -> FloatArray:
    return np.random.default_rng(0).normal(size=(n_samples, 50))


# A name, what makes the samples, how many, which search, and the number of blocks.
PROBLEMS: tuple[tuple[str, Callable[[int], FloatArray], int, str, int], ...] = (
    ("Swiss roll", roll, 200_000, "exact", 4),
    ("Swiss roll", roll, 200_000, "exact", 16),
    ("Gaussian", gaussian, 50_000, "exact", 4),
    ("10 curved dimensions", curved_gaussian, 50_000, "approximate", 4),
    ("10 curved dimensions", curved_gaussian, 50_000, "approximate", 16),
    ("200 clusters of 20 dimensions", clusters, 50_000, "approximate", 4),
)


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = [
        f"## {TITLE}",
        "",
        f"k = {K}, samples ordered by their first coordinate and read from a file, one thread; processor seconds, the",
        f"best of {REPEATS} runs, of `knn_graph` on all samples, and of `blocked_search` with the rows of all blocks.",
        "Merging is the share of the latter that goes into merging lists of neighbors. Exact graphs were found equal",
        "bit for bit; approximate ones are not the same, and have the recall that each search reports.",
        "",
        "| | n | D | search | blocks | whole, s | in blocks, s | ratio | merging | recall, whole | recall, in blocks |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    with limit_blas_threads(1):
        lines += [_row(*problem) for problem in PROBLEMS]
    return "\n".join(lines)


def _row(name: str, make: Callable[[int], FloatArray], n_samples: int, neighbors: str, n_blocks: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        X = make(n_samples)
        np.save(Path(place, "X.npy"), X[np.argsort(X[:, 0], kind="stable")])
        X = np.load(Path(place, "X.npy"), mmap_mode="r")
        starts = np.linspace(0, n_samples, n_blocks + 1).astype(int)
        seconds, in_blocks, merging = [], [], []
        for repeat in range(REPEATS):
            spent, graph = timed(knn_graph, X, K, 1, neighbors)
            seconds.append(spent)
            with _Merging() as merge:
                spent, search = timed(_all_rows, X, starts, Path(place, str(repeat)), neighbors, graph)
            in_blocks.append(spent)
            merging.append(merge.seconds / spent)
    cells: list[Any] = [name, n_samples, X.shape[1], search.method, n_blocks, f"{min(seconds):.2f}"]
    cells += [f"{min(in_blocks):.2f}", f"{min(in_blocks) / min(seconds):.2f}", f"{min(merging):.1%}"]
    cells += [f"{graph.recall:.4f}", f"{search.recall:.4f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def _all_rows(X: FloatArray, starts: ArrayLike, folder: Path, neighbors: str, graph: NeighborGraph) -> BlockedSearch:
    search = blocked_search(X, np.asarray(starts), K, folder, neighbors)
    for start, stop in search.blocks.ranges:
        indices, distances = search.rows(start, stop)
        if neighbors == "exact":
            np.testing.assert_array_equal(indices, graph.indices[start:stop])
            np.testing.assert_array_equal(distances, graph.distances[start:stop])
    return search


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Processor seconds of a call, and what it gives."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


class _Merging:
    """Count the processor seconds in which lists are merged, for a while."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._add = NeighborLists.add

    def __enter__(self) -> "_Merging":
        def add(lists: NeighborLists, *found: Any) -> None:
            self.seconds += timed(self._add, lists, *found)[0]

        setattr(NeighborLists, "add", add)  # noqa: B010, an assignment to a method is no type's delight
        return self

    def __exit__(self, *_: object) -> None:
        setattr(NeighborLists, "add", self._add)  # noqa: B010


if __name__ == "__main__":
    print(measure())
