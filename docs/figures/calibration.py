"""The true error of 120 embeddings of rolls, by the verdict that was given without knowing it."""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors

rng = np.random.default_rng(0)
made = {name: {"good": [], "doubtful": [], "bad": []} for name in ("HNE()", "published")}
for seed in range(60):
    roll = make_swiss_roll(int(rng.integers(120, 700)), noise=rng.choice([0, 0, 0.3, 0.6]), random_state=seed)
    for name, settings in (("HNE()", {}), ("published", PUBLISHED)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the verdict says is what is drawn
            model = HNE(**settings).fit(roll.X)
        made[name][model.trust_.level].append(affine_errors(model.embedding_, roll.chart).mean())

figure, axes = plt.subplots(figsize=(7, 3.4))
for shift, (name, levels) in zip((-0.15, 0.15), made.items(), strict=True):
    places = [position + shift for position, errors in enumerate(levels.values()) for _ in errors]
    errors = [max(error, 1e-5) for level in levels.values() for error in level]
    places = np.array(places) + rng.uniform(-0.08, 0.08, len(places))
    axes.semilogy(places, errors, "o", markersize=4, alpha=0.7, label=name)
axes.axhspan(0.05, 0.15, color="#eeeeee", zorder=0)
axes.text(2.45, 0.085, "in between", ha="right", va="center", fontsize=8, color="grey")
axes.text(2.45, 0.5, "wrong", ha="right", va="center", fontsize=8, color="grey")
axes.text(2.45, 0.005, "right", ha="right", va="center", fontsize=8, color="grey")
axes.set(xticks=range(3), xticklabels=["good", "doubtful", "bad"], ylabel="affine error to the truth")
axes.set(xlabel="verdict", xlim=(-0.5, 2.5))
axes.legend(loc="lower center")
