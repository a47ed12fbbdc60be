"""Both layers' weights against scikit-learn's weights of the inner layer alone, in one run."""

import time
from collections.abc import Callable

from joblib import cpu_count
from sklearn.manifold._locally_linear import barycenter_weights

from hne.core.neighbors.graph import knn_graph
from hne.core.weights.layers import layer_weights
from hne.datasets import make_swiss_roll
from hne.settings import VARIANTS, Settings

TITLE = "Weights"
N_SAMPLES, N_NEIGHBORS, REG, REPEATS = 50_000, 8, 1e-4, 3


def fastest(function: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> str:
    """Measure and return the section as Markdown."""
    X = make_swiss_roll(N_SAMPLES, random_state=0).X
    graph = knn_graph(X, N_NEIGHBORS)
    baseline = fastest(lambda: barycenter_weights(X, X, graph.indices, reg=REG))
    lines = [
        f"## {TITLE}",
        "",
        f"Swiss roll, n = {N_SAMPLES}, D = 3, k = {N_NEIGHBORS}, neighbors given, fastest of {REPEATS} runs.",
        "scikit-learn's function gives the inner layer (plain LLE) alone, ours both layers.",
        "",
        "| | seconds | of scikit-learn's time |",
        "|---|---|---|",
        f"| scikit-learn `barycenter_weights`, inner layer | {baseline:.2f} | 1 |",
    ]
    for variant in VARIANTS:
        settings = Settings(n_neighbors=N_NEIGHBORS, variant=variant, reg=REG)
        seconds = fastest(lambda s=settings: layer_weights(X, graph, s, cpu_count()))  # type: ignore[misc]
        lines.append(f"| {variant.upper()}, both layers | {seconds:.3f} | {seconds / baseline:.3f} |")
    return "\n".join(lines)
