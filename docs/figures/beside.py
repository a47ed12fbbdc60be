"""The same samples by PCA, Isomap, LLE, UMAP, t-SNE, PHATE and HNE, each with its own defaults."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from hne import HNE
from hne.baselines import baseline_embedding
from hne.datasets import make_swiss_roll
from hne.exceptions import BaselineError
from hne.metrics import affine_errors, trustworthiness

METHODS = {
    "pca": "PCA",
    "isomap": "Isomap",
    "lle": "LLE",
    "umap": "UMAP",
    "tsne": "t-SNE",
    "phate": "PHATE",
    "hne": "HNE",
}


def knn_accuracy(Y, labels):
    """Return the share of samples whose class is predicted by their five nearest in the embedding."""
    folds = StratifiedKFold(20, shuffle=True, random_state=0)
    return f"kNN {(cross_val_predict(KNeighborsClassifier(5), Y, labels, cv=folds) == labels).mean():.2f}"


def unrolled(Y, chart):
    """The affine error to the true coordinates, that of the worse roll where there are two."""
    rolls = zip(np.split(Y, len(Y) // 300), np.split(chart, len(Y) // 300), strict=True)
    return f"error {max(affine_errors(*roll).mean() for roll in rolls):.2f}"


def show(X, color, judged):
    _, panels = plt.subplots(2, 4, figsize=(9, 4.6))
    for axes, (method, label) in zip(panels.flat, METHODS.items(), strict=False):
        axes.set(xticks=[], yticks=[])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what libraries say of themselves
                Y = HNE().fit_transform(X) if method == "hne" else baseline_embedding(method, X, random_state=0)
        except BaselineError:
            axes.set_title(f"{label}: no answer")
            continue
        axes.scatter(*Y.T, c=color, s=5, cmap="viridis" if color.dtype.kind == "f" else "tab10")
        axes.set_title(f"{label}: {judged(Y)}, trust {trustworthiness(X, Y, n_neighbors=10):.2f}")
        axes.set_aspect("equal", adjustable="datalim")
    panels.flat[-1].axis("off")


def roll():
    made = make_swiss_roll(300, random_state=0)
    show(made.X, made.chart[:, 0], lambda Y: unrolled(Y, made.chart))


def digits():
    X, y = load_digits(return_X_y=True)
    show(X[:600], y[:600], lambda Y: knn_accuracy(Y, y[:600]))


def wine():
    X, y = load_wine(return_X_y=True)
    show(StandardScaler().fit_transform(X), y, lambda Y: knn_accuracy(Y, y))


def two_rolls():
    first, second = (make_swiss_roll(300, random_state=seed) for seed in (1, 2))
    chart = np.vstack([first.chart, second.chart])
    show(np.vstack([first.X, second.X + np.array([60, 0, 0])]), chart[:, 0], lambda Y: unrolled(Y, chart))
