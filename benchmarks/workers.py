"""Neighbors and weights on two Dask workers beside the threads of one process: time, and memory of each process."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil

from hne.core.parameters import check_settings
from hne.core.pipeline import Backend
from hne.datasets import make_swiss_roll
from hne.settings import Settings
from tables import table

TITLE = "Dask workers"
# Samples, features, and how their neighbors are searched.
CASES = ((1_000_000, 3, "exact"), (200_000, 50, "exact"), (200_000, 50, "approximate"))
N_WORKERS, PAUSE = 2, 0.05
# What Dask lets a worker have: at 80 % it pauses it, at 95 % it kills it.
SHARE = "1GB"


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = [line for case in CASES for line in _lines(*case)]
    header = ["samples", "search", "by", "neighbors, s", "weights, s", "both", "ratio", "recall", "peak MB, client"]
    header += ["peak MB, workers", "share of a worker, MB"]
    text = [
        f"## {TITLE}",
        "",
        f"BHNE, k = 6: neighbors and weights by {N_WORKERS} threads of one process, and by {N_WORKERS} Dask workers of",
        "one thread each, which read their blocks from a folder and write their results there. Both have compiled and",
        "loaded what they need before. The roll has 3 features, the other samples are normal in all. Peaks are of the",
        "whole processes, libraries included (about 200 MB), samples in the client too, where they were made; Dask",
        "pauses a worker at 80 % of its share and kills it at 95 %. Graph and weights are compared to the bit,",
        "approximate search apart, whose lists differ in blocks.",
        "",
        table(header, lines),
    ]
    return "\n".join(text)


def _lines(n: int, n_features: int, search: str) -> list[list[str]]:
    rows = []
    for by in ("threads", "workers"):
        print(f"  {n} x {n_features}, {search}, {by} ...", file=sys.stderr)
        command = [sys.executable, __file__, str(n), str(n_features), search, by]
        rows.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))  # noqa: S603
    here, there = rows
    if search == "exact" and here["digest"] != there["digest"]:
        msg = "workers gave other bits"
        raise RuntimeError(msg)
    both = [row["neighbors"] + row["weights"] for row in rows]
    return [
        [
            f"{n} x {n_features}",
            search,
            by,
            f"{row['neighbors']:.1f}",
            f"{row['weights']:.1f}",
            f"{total:.1f}",
            f"{total / both[0]:.2f}",
            f"{row['recall']:.4f}",
            f"{row['client'] / 1e6:.0f}",
            ", ".join(f"{peak / 1e6:.0f}" for peak in row["workers"]) or "-",
            f"{row['share'] / 1e6:.0f}" if row["share"] else "-",
        ]
        for by, row, total in zip(("threads", f"{N_WORKERS} workers"), rows, both, strict=True)
    ]


def _samples(n: int, n_features: int) -> Any:
    if n_features == 3:
        return make_swiss_roll(n).X
    return np.random.default_rng(0).normal(size=(n, n_features))


def _timed(X: Any, settings: Settings, bench: Backend) -> dict[str, Any]:
    """Seconds of both stages, and a digest of what they made."""
    distinct, _, placed, settings = bench.canonicalize(X, settings)
    start = time.perf_counter()
    graph = bench.graph(placed, settings, distinct, N_WORKERS)
    searched = time.perf_counter()
    graph = bench.pieces(placed, graph, settings, N_WORKERS).graph
    ready = time.perf_counter()
    weights = bench.weights(placed, graph, settings, N_WORKERS)
    end = time.perf_counter()
    arrays = (graph.indices, graph.distances, weights.W.data, weights.J.data, weights.J.indices, weights.J.indptr)
    digest = [int(np.ascontiguousarray(array).view(np.uint32).sum(dtype=np.uint64)) for array in arrays]
    return {"neighbors": searched - start, "weights": end - ready, "recall": graph.recall, "digest": digest}


@contextmanager
def _watched(processes: list[int]) -> Iterator[dict[int, int]]:
    """Peaks of the resident memory of some processes meanwhile."""
    peaks, stop = dict.fromkeys(processes, 0), threading.Event()

    def watch() -> None:
        while not stop.wait(PAUSE):
            for process in processes:
                peaks[process] = max(peaks[process], psutil.Process(process).memory_info().rss)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield peaks
    stop.set()
    watcher.join()


def _on_threads(X: Any, settings: Settings) -> dict[str, Any]:
    _timed(X[:20_000].copy(), settings, Backend())
    with _watched([os.getpid()]) as peaks:
        row = _timed(X, settings, Backend())
    return {**row, "client": peaks[os.getpid()], "workers": [], "share": 0}


def _on_workers(X: Any, settings: Settings) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    from hne.scale import DaskExecutor
    from hne.scale.backends import CachedBackend
    from hne.scale.folder import Folder

    cluster: Any = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, memory_limit=SHARE, dashboard_address=None)
    with cluster, Client(cluster) as client:
        executor = DaskExecutor(client)
        folder = Folder(executor.folder())
        workers = list(client.run(os.getpid).values())
        share = min(worker["memory_limit"] for worker in client.scheduler_info()["workers"].values())
        with folder.lock():
            _timed(X[:20_000].copy(), settings, CachedBackend(executor, folder))
            with _watched([os.getpid(), *workers]) as peaks:
                row = _timed(X, settings, CachedBackend(executor, folder))
        return {**row, "client": peaks[os.getpid()], "workers": [peaks[one] for one in workers], "share": share}


def _main(n: int, n_features: int, search: str, by: str) -> None:
    """Measure one row, and print it."""
    settings = check_settings({"neighbors": search, "verbose": 0})
    run = _on_threads if by == "threads" else _on_workers
    print(json.dumps(run(_samples(n, n_features), settings)))


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
