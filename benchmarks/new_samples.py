"""New samples: placed by `transform` and brought back by `inverse_transform`, beside a fit of all and scikit-learn."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding

from hne import HNE
from hne.core.records import FloatArray, IndexArray
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors
from hne.settings import VARIANTS
from tables import table

TITLE = "New samples"
N_FITTED = N_NEW = 2_000
SEEDS = range(5)
SETTINGS = ((6, 1e-4), (8, 1e-5))
COPIES = 0.1


@dataclass(frozen=True)
class Split:
    """Errors of one roll, cut in two."""

    placed: float
    placed_among_copies: float
    fitted: float
    all_fitted: float
    back: float  # mean distance of a new sample and what inverse_transform(transform()) makes of it
    spacing: float  # mean distance of neighbors


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = []
    for k, reg in SETTINGS:
        for variant in VARIANTS:
            splits = [_hne(variant, k, reg, seed) for seed in SEEDS]
            print(f"  {variant}, k = {k}, reg = {reg:g}", file=sys.stderr)
            lines.append([variant.upper(), f"{k}", f"{reg:g}", *_cells(splits)])
        for method in ("standard", "modified"):
            errors = np.array([_scikit_learn(method, k, reg, seed) for seed in SEEDS])
            cells = [f"{_middle(errors[:, column]):.5f}" for column in (0, 1, 2)]
            ratios = [f"{_middle(errors[:, 0] / errors[:, column]):.2f}" for column in (1, 2)]
            lines.append([f"scikit-learn, {method}", f"{k}", f"{reg:g}", *cells, *ratios, "-", "-"])
    header = ["", "k", "reg", "placed", f"fit of the {N_FITTED}", f"fit of all {N_FITTED + N_NEW}"]
    header += ["placed / its fit", "placed / fit of all", "with copies / without", "way back / spacing"]
    text = [
        f"## {TITLE}",
        "",
        f"Swiss roll, {N_FITTED} samples fitted and {N_NEW} placed by `transform`; the larger of the two affine",
        f"errors, medians over {len(SEEDS)} seeds. With copies: a tenth of the fitted samples twice. Way back: mean",
        "distance of a new sample from inverse_transform(transform(it)), in units of the mean distance of neighbors.",
        "",
        table(header, lines),
    ]
    return "\n".join(text)


def _hne(variant: str, k: int, reg: float, seed: int) -> Split:
    roll = make_swiss_roll(N_FITTED + N_NEW, random_state=seed)
    old, new = roll.X[:N_FITTED], roll.X[N_FITTED:]
    model = HNE(k, variant=variant, reg=reg).fit(old)
    placed = model.transform(new)
    copied = np.vstack([old, old[: int(COPIES * N_FITTED)]])
    among_copies = HNE(k, variant=variant, reg=reg).fit(copied).transform(new)
    everything = HNE(k, variant=variant, reg=reg).fit_transform(roll.X)
    back = np.linalg.norm(model.inverse_transform(placed) - new, axis=1).mean()
    return Split(
        placed=_error(placed, roll.chart[N_FITTED:]),
        placed_among_copies=_error(among_copies, roll.chart[N_FITTED:]),
        fitted=_error(model.embedding_, roll.chart[:N_FITTED]),
        all_fitted=_error(everything, roll.chart),
        back=float(back),
        spacing=float(np.linalg.norm(old[:, None] - old[_neighbors(model)], axis=2).mean()),
    )


def _neighbors(model: HNE) -> IndexArray:
    indices: IndexArray = model.inner_weights_.indices.reshape(len(model.embedding_), -1)
    return indices


def _scikit_learn(method: str, k: int, reg: float, seed: int) -> tuple[float, float, float]:
    roll = make_swiss_roll(N_FITTED + N_NEW, random_state=seed)
    model = LocallyLinearEmbedding(n_neighbors=k, reg=reg, method=method, random_state=0).fit(roll.X[:N_FITTED])
    everything = LocallyLinearEmbedding(n_neighbors=k, reg=reg, method=method, random_state=0).fit_transform(roll.X)
    return (
        _error(model.transform(roll.X[N_FITTED:]), roll.chart[N_FITTED:]),
        _error(model.embedding_, roll.chart[:N_FITTED]),
        _error(everything, roll.chart),
    )


def _error(Y: FloatArray, chart: FloatArray) -> float:
    return float(affine_errors(Y, chart).max())


def _cells(splits: list[Split]) -> list[str]:
    return [
        f"{_middle([one.placed for one in splits]):.5f}",
        f"{_middle([one.fitted for one in splits]):.5f}",
        f"{_middle([one.all_fitted for one in splits]):.5f}",
        f"{_middle([one.placed / one.fitted for one in splits]):.2f}",
        f"{_middle([one.placed / one.all_fitted for one in splits]):.2f}",
        f"{_middle([one.placed_among_copies / one.placed for one in splits]):.4f}",
        f"{_middle([one.back / one.spacing for one in splits]):.2f}",
    ]


def _middle(values: Any) -> float:
    return float(np.median(values))
