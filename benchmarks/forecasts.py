"""Memory and time that `hne.forecast` foresees, beside what a process of its own then takes.

`python benchmarks/forecasts.py` prints the table; with the name of a problem it runs that one alone.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

TITLE = "Forecasts"
HEADER = ("", "n", "D", "k", "fills", "coordinates", "solver", "GB", "foreseen", "times", "s", "foreseen", "times")

Make = Callable[[], Any]


def _roll(n: int) -> Make:
    from hne.datasets import make_swiss_roll

    return lambda: make_swiss_roll(n, random_state=0).X


def _gaussian(n: int, width: int) -> Make:
    return lambda: np.random.default_rng(0).normal(size=(n, width))


def _groups(n: int, width: int, count: int) -> Make:
    from sklearn.datasets import make_blobs

    return lambda: make_blobs(n, width, centers=count, random_state=0)[0]


def _images() -> Any:
    """Like digits: 64 columns of whole numbers up to 16, that of six parameters."""
    random = np.random.default_rng(0)
    waves = np.sin(random.normal(size=(10_000, 6)) @ random.normal(size=(6, 64)))
    return np.round(8 + 8 * waves)


def _sparse() -> Any:
    from scipy.sparse import random_array

    return random_array((5_000, 2_000), density=0.01, format="csr", rng=np.random.default_rng(0))


# Name -> the samples and parameters.
PROBLEMS: dict[str, tuple[Make, dict[str, Any]]] = {
    "roll": (_roll(20_000), {}),
    "large roll": (_roll(200_000), {}),
    "5-D Gaussian": (_gaussian(20_000, 5), {}),
    "8-D Gaussian": (_gaussian(20_000, 8), {}),
    "eight groups": (_groups(100_000, 50, 8), {}),
    "images": (_images, {}),
    "wide": (_gaussian(2_000, 2_000), {}),
    "sparse": (_sparse, {}),
    "k = 20": (_roll(20_000), {"n_neighbors": 20}),
    "published": (_roll(20_000), {"n_neighbors": 8, "coordinates": "eigenvectors"}),
}


def run(name: str) -> dict[str, Any]:
    """The forecast for a problem and what its embedding took, in this process."""
    import hne
    from hne.core.forecast import measured_dimension

    make, parameters = PROBLEMS[name]
    X = make()
    dimension = measured_dimension(X, n_threads=2)
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    model = hne.HNE(**parameters).fit(X)
    seconds = time.perf_counter() - start
    # Neighbors as the fit chose them, as `hne embed --dry-run` finds them out beforehand.
    k, coordinates = int(model.n_neighbors_), model.coordinates_
    n, n_features = X.shape
    expected = hne.forecast(n, n_features, k, intrinsic_dimension=dimension, coordinates=coordinates)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # A layout has no eigenpairs: reading its solver would compute them.
    solvers = "-" if coordinates == "layout" else f"{expected.solver} / {model.eigen_solver_}"
    return {
        "shape": [name, *X.shape, k, dimension, coordinates, solvers],
        "bytes": [peak, expected.peak_bytes],
        "seconds": [seconds, sum(expected.seconds.values())],
        "stages": expected.seconds,
    }


def measure() -> str:
    """Measure and return the section as Markdown."""
    from tables import table

    lines = []
    for name in PROBLEMS:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)  # noqa: S603
        row = json.loads(done.stdout.splitlines()[-1])
        (peak, foreseen), (seconds, expected) = row["bytes"], row["seconds"]
        memory = [f"{peak / 1e9:.2f}", f"{foreseen / 1e9:.2f}", f"{foreseen / peak:.2f}"]
        lines.append(
            [*map(str, row["shape"]), *memory, f"{seconds:.1f}", f"{expected:.1f}", f"{expected / seconds:.2f}"]
        )
    text = [
        f"## {TITLE}",
        "",
        "Peak memory of the whole process in GB and seconds of `fit`, measured and foreseen. The forecast knows the",
        "shape of X, k, the coordinates, and the dimension estimated from 500 samples; solvers are those foreseen and",
        "run, which a layout does not need.",
        "",
        table(HEADER, lines),
    ]
    return "\n".join(text)


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1])) if len(sys.argv) > 1 else measure())
