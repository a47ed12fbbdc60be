"""Surfaces that are sparse, noisy, long or holed: how many come out right with `HNE()`, or baselines told the truth.

    python benchmarks/run.py surfaces

Rules were made on seeds below 10 000. Right is a mean affine error below .05.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.datasets import make_swiss_roll as sklearn_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from charts import Made, spiral_length
from hne import HNE, PUBLISHED, datasets
from hne.core.records import FloatArray
from hne.metrics import affine_errors
from lle_chart import lle_chart
from runner import Results, Row
from tables import table

TITLE = "Surfaces"
FIRST_SEED, SEEDS = 92_000, 30
RIGHT = 0.05
KS = range(5, 13)
DENSE_SEEDS, NOISY_SEEDS = 5, 3

Embed = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Surface:
    """Samples by a seed, with the true coordinates of each of their parts."""

    name: str
    make: Callable[[int], tuple[FloatArray, Sequence[tuple[slice, FloatArray]]]]


def _whole(make: Callable[..., datasets.Dataset], *given: int, **more: object) -> Callable[[int], Made]:
    def made(seed: int) -> Made:
        data = make(*given, **more, random_state=seed)
        return data.X, data.chart

    return made


def band(n: int, seed: int) -> Made:
    """A band of 37.7 x 1.5 that winds around a cylinder three times."""
    u, v = np.random.default_rng(seed).random((2, n))
    t = 6 * np.pi * u
    return np.column_stack([2 * np.cos(t), 2 * np.sin(t), 1.5 * v + t / 2]), np.column_stack([2 * t, 1.5 * v])


def noisy_roll(n: int, noise: float, columns: int, seed: int) -> Made:
    """scikit-learn's roll, with columns of noise .1 beside it."""
    X, t = sklearn_roll(n, noise=noise, random_state=seed)
    clean, _ = sklearn_roll(n, random_state=seed)
    beside = 0.1 * np.random.default_rng(seed).normal(size=(n, columns))
    return np.column_stack([X, beside]), np.column_stack([spiral_length(t), clean[:, 1]])


def _alone(name: str, make: Callable[[int], Made]) -> Surface:
    def parts(seed: int) -> tuple[FloatArray, Sequence[tuple[slice, FloatArray]]]:
        X, chart = make(seed)
        return X, [(slice(None), chart)]

    return Surface(name, parts)


def _two_rolls(seed: int) -> tuple[FloatArray, Sequence[tuple[slice, FloatArray]]]:
    one, other = (datasets.make_swiss_roll(300, random_state=seed + more) for more in (0, 50_000))
    X = np.vstack([one.X, other.X + np.array([0.0, 60.0, 0.0])])
    return X, [(slice(0, 300), one.chart), (slice(300, 600), other.chart)]


SPARSE = (
    _alone("roll of 300, at random", _whole(datasets.make_swiss_roll, 300)),
    _alone("roll of 300, even", _whole(datasets.make_swiss_roll, 300, even=True)),
    _alone("roll of 200, at random", _whole(datasets.make_swiss_roll, 200)),
    _alone("roll of 200, even", _whole(datasets.make_swiss_roll, 200, even=True)),
    _alone("roll of 600, noise .3", _whole(datasets.make_swiss_roll, 600, noise=0.3)),
    _alone("roll of 600, noise .6", _whole(datasets.make_swiss_roll, 600, noise=0.6)),
    _alone("hole of 400, at random", _whole(datasets.make_swiss_hole, 400)),
    _alone("S-curve of 200", _whole(datasets.make_s_curve, 200)),
    _alone("S-curve of 100", _whole(datasets.make_s_curve, 100)),
    _alone("band of 37.7 x 1.5, 900", partial(band, 900)),
    Surface("two rolls of 300, both", _two_rolls),
)
NOISY = (
    *(
        _alone(f"scikit-learn's roll, n = {n}, noise {noise}", partial(noisy_roll, n, noise, 0))
        for n in (1000, 2000, 5000)
        for noise in (0.1, 0.2, 0.3)
    ),
    _alone("scikit-learn's roll, n = 1500, 47 columns of noise .1", partial(noisy_roll, 1500, 0.0, 47)),
)
DENSE = tuple(
    _alone(name, _whole(make, 2000))
    for name, make in (
        ("roll", datasets.make_swiss_roll),
        ("hole", datasets.make_swiss_hole),
        ("S-curve", datasets.make_s_curve),
        ("twin peaks", datasets.make_twin_peaks),
        ("severed sphere", datasets.make_severed_sphere),
        ("punctured sphere", datasets.make_punctured_sphere),
    )
)

OURS: dict[str, Embed] = {
    "HNE": lambda X: HNE().fit_transform(X),
    "LLE in the same chart": lle_chart,
}


def _published(X: FloatArray) -> FloatArray:
    return HNE(**PUBLISHED).fit_transform(X)


def _lle(method: str, k: int, X: FloatArray) -> FloatArray:
    Y: FloatArray = LocallyLinearEmbedding(n_neighbors=k, method=method, eigen_solver="dense").fit_transform(X)
    return Y


def _isomap(k: int, X: FloatArray) -> FloatArray:
    Y: FloatArray = Isomap(n_neighbors=k).fit_transform(X)
    return Y


BASELINES: dict[str, Callable[[int], Embed]] = {
    "LLE": lambda k: partial(_lle, "standard", k),
    "MLLE": lambda k: partial(_lle, "modified", k),
    "LTSA": lambda k: partial(_lle, "ltsa", k),
    "Isomap": lambda k: partial(_isomap, k),
}


def measure() -> str:
    """Measure and return the section as Markdown."""
    store = Results("surfaces")
    sparse = [_counts(store, surface, SEEDS, BASELINES) for surface in SPARSE]
    noisy = [_counts(store, surface, NOISY_SEEDS, {}) for surface in NOISY]
    dense = [[surface.name, *_medians(store, surface)] for surface in DENSE]
    store.finish()
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"Right, of {SEEDS} data sets each on seeds from {FIRST_SEED} on (median error). HNE is `HNE()`,",
            "nothing chosen; LLE in the same chart is what plain LLE's eigenvectors make of the same cut graph, with",
            "the same k; the others are scikit-learn's, each at its best k of 5 to 12, told by the truth.",
            "",
            table(["", *OURS, *BASELINES], sparse),
            "",
            f"Noise, {NOISY_SEEDS} data sets each:",
            "",
            table(["", *OURS], noisy),
            "",
            f"Dense and clean, n = 2 000, median error of {DENSE_SEEDS} data sets each:",
            "",
            table(["", "HNE()", "HNE(**PUBLISHED)"], dense),
        ]
    )


def _counts(store: Results, surface: Surface, seeds: int, baselines: dict[str, Callable[[int], Embed]]) -> list[str]:
    cells = [surface.name]
    for name, embed in OURS.items():
        cells.append(_cell([_error(store, surface, name, embed, seed) for seed in range(seeds)]))
    for name, of in baselines.items():
        every = [[_error(store, surface, f"{name}, k = {k}", of(k), seed) for seed in range(seeds)] for k in KS]
        cells.append(_cell(np.min(every, axis=0)))
    return cells


def _medians(store: Results, surface: Surface) -> list[str]:
    methods: dict[str, Embed] = {"HNE": OURS["HNE"], "published": _published}
    found = [
        [_error(store, surface, name, embed, seed) for seed in range(DENSE_SEEDS)] for name, embed in methods.items()
    ]
    return [f"{np.median(errors):.4f}" for errors in found]


def _cell(errors: Iterable[float]) -> str:
    found = np.array(list(errors))
    return f"{np.count_nonzero(found < RIGHT)} of {len(found)} ({np.median(found):.4f})"


def _error(store: Results, surface: Surface, name: str, embed: Embed, seed: int) -> float:
    """The mean affine error, of the worst part where there are several; 1 where the method fails."""
    key = f"{surface.name}, {name}, {seed}"
    return float(store.kept(key, key, partial(_measured, surface, embed, FIRST_SEED + seed))["error"])


def _measured(surface: Surface, embed: Embed, seed: int) -> Row:
    X, parts = surface.make(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = np.asarray(embed(X), dtype=float)
        return {"error": max(float(affine_errors(Y[rows], chart).mean()) for rows, chart in parts), "seconds": 0.0}
    except Exception as error:  # noqa: BLE001, whatever a method raises is its result
        return {"error": 1.0, "seconds": 0.0, "message": f"{type(error).__name__}: {error}"[:200]}
