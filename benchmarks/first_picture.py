"""Draw docs/images/charts.png: surfaces in space, by MLLE at its best k, by the published method and by `HNE()`.

python benchmarks/first_picture.py
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from hne import HNE, PUBLISHED
from hne.core.records import FloatArray
from hne.metrics import affine_errors
from surfaces import BASELINES, FIRST_SEED, KS, SPARSE

SHOWN = {
    "roll of 300, at random": "300 samples of a roll",
    "hole of 400, at random": "400 of a roll with a hole",
    "roll of 600, noise .6": "600 with noise",
    "band of 37.7 x 1.5, 900": "a band, 25 times as long as wide",
}
TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "charts.png"

Drawing = tuple[str, FloatArray]


def main() -> None:
    """Draw, and write the picture."""
    warnings.simplefilter("ignore")
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else FIRST_SEED
    figure = plt.figure(figsize=(13, 11.5))
    for column, (name, title) in enumerate(SHOWN.items()):
        X, ((_, chart),) = next(one for one in SPARSE if one.name == name).make(seed)
        axes: Any = figure.add_subplot(4, len(SHOWN), column + 1, projection="3d")
        axes.scatter(X[:, 0], X[:, 2], X[:, 1], c=chart[:, 0], s=5)
        axes.set_title(title, fontsize=12)
        axes.set_axis_off()
        for row, draw in enumerate(DRAWN, start=1):
            label, Y = draw(X, chart)
            axes = figure.add_subplot(4, len(SHOWN), row * len(SHOWN) + column + 1)
            axes.scatter(Y[:, 0], Y[:, 1], c=chart[:, 0], s=5)
            axes.set_title(f"{label}, error {affine_errors(Y, chart).mean():.2g}", fontsize=10)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xticks([])
            axes.set_yticks([])
    figure.tight_layout()
    figure.savefig(TARGET, dpi=100)
    print(f"wrote {TARGET.name}")


def _best_baseline(name: str, X: FloatArray, chart: FloatArray) -> Drawing:
    def error(Y: FloatArray) -> float:
        return float(affine_errors(Y, chart).mean())

    found: dict[int, FloatArray] = {}
    for k in KS:
        embed: Callable[[FloatArray], FloatArray] = BASELINES[name](k)
        found[k] = embed(X)
    best = min(found, key=lambda k: error(found[k]))
    return f"{name}, best k = {best}", _stretch(found[best], chart)


def _stretch(Y: FloatArray, chart: FloatArray) -> FloatArray:
    """Stretch orthonormal columns to the extent of the true chart, which a user does not know."""
    stretched: FloatArray = Y * np.linalg.svd(chart - chart.mean(axis=0), compute_uv=False)
    return stretched


def _published(X: FloatArray, chart: FloatArray) -> Drawing:
    return "published HNE", _stretch(HNE(**PUBLISHED).fit_transform(X), chart)


def _alone(X: FloatArray, _: FloatArray) -> Drawing:
    return "HNE()", HNE().fit_transform(X)


DRAWN: tuple[Callable[[FloatArray, FloatArray], Drawing], ...] = (partial(_best_baseline, "MLLE"), _published, _alone)

if __name__ == "__main__":
    main()
