"""How far embeddings move when 3 % of the samples are left out: four data sets, HNE and five other methods."""

import sys
import warnings

import numpy as np

from hne import HNE
from hne.core.records import FloatArray
from hne.datasets import make_swiss_roll
from pictures import movements
from real import development_sets
from real_baselines import BASELINES
from tables import table

TITLE = "Stability"
METHODS = ("PCA", "SpectralEmbedding", "t-SNE", "PHATE", "UMAP")
OUR_DRAWS, THEIR_DRAWS = 8, 4
N_DIGITS = 600


def measure() -> str:
    """Measure and return the section as Markdown."""
    sets, lines = _sets(), []
    ours = {"`HNE()`": HNE().fit_transform, "`HNE(20)`": HNE(20).fit_transform}
    for name, embed in {**ours, **{method: BASELINES[method] for method in METHODS}}.items():
        print(f"  {name}", file=sys.stderr)
        draws = OUR_DRAWS if name in ours else THEIR_DRAWS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moved = [list(movements(embed, X, np.asarray(embed(X), dtype=float), draws)) for X in sets.values()]
        lines.append([name, *(f"{np.median(one):.3f} ({max(one):.3f})" for one in moved)])
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"Procrustes error between the embedding of all samples and one of 97 % of them, {OUR_DRAWS} draws,",
            f"{THEIR_DRAWS} of other methods: median, and in parentheses the largest.",
            "",
            table(["", *sets], lines),
        ]
    )


def _sets() -> dict[str, FloatArray]:
    """Samples by name; those that are not here are left out."""
    real = {name: X for name, X, _, _ in development_sets()}
    sets = {"roll, 300": make_swiss_roll(300, random_state=0).X}
    sets |= {f"{name}, {len(real[name])}": real[name] for name in ("breast cancer", "pbmc68k reduced") if name in real}
    return sets | {f"digits, {N_DIGITS}": real["digits"][:N_DIGITS]}
