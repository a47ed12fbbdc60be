"""
A classifier on top of an embedding
===================================

On two coordinates of HNE, a nearest-neighbor classifier recognizes 98 % of unseen digits, as many as
on the 64 raw pixels; on two principal components, 61 %. Embed to see what the classifier sees, not
to raise its score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from hne import HNE

# %%
# :class:`hne.HNE` is a transformer, so it goes into a :class:`sklearn.pipeline.Pipeline`. ``fit``
# embeds the training images and trains the classifier on their coordinates. ``score`` places each
# held-out image among the fitted ones and classifies its position. HNE does not use the labels.
# Pixels share one unit, so nothing has to be scaled here. The coordinates are those of a layout,
# which preserves neighborhoods and groups, but not distances between groups, densities or sizes of
# groups. That is the default for two coordinates of these images; for ten it would be a chart.

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.data, digits.target, test_size=1 / 3, stratify=digits.target, random_state=0
)
raw = KNeighborsClassifier().fit(X_train, y_train).score(X_test, y_test)

sizes = (2, 3, 5, 10)
models = {n: make_pipeline(HNE(n_components=n, coordinates="layout"), KNeighborsClassifier()) for n in sizes}
baselines = {n: make_pipeline(PCA(n), KNeighborsClassifier()) for n in sizes}
by_hne = [models[n].fit(X_train, y_train).score(X_test, y_test) for n in sizes]
by_pca = [baselines[n].fit(X_train, y_train).score(X_test, y_test) for n in sizes]

for n, hne_score, pca_score in zip(sizes, by_hne, by_pca, strict=True):
    print(f"{n} coordinates: HNE {hne_score:.3f}, PCA {pca_score:.3f}")
print(f"64 raw pixels: {raw:.3f}")

# %%
# Left: the layout, in the color of the digit that the classifier predicts there, with the held-out
# images as dots in the color of their true digit. Crosses are errors. Right: accuracy by the number
# of coordinates.

embedding, classifier = models[2]
places, answers = embedding.transform(X_test), models[2].predict(X_test)
is_wrong = answers != y_test

low, high = places.min(axis=0) - 4, places.max(axis=0) + 4
across, up = np.meshgrid(np.linspace(low[0], high[0], 250), np.linspace(low[1], high[1], 250))
regions = classifier.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)

figure = plt.figure(figsize=(9, 3.8), layout="constrained")
plane, curve = figure.subplots(1, 2, width_ratios=(1.9, 1))
style = {"cmap": "tab10", "vmin": -0.5, "vmax": 9.5}
plane.pcolormesh(across, up, regions, alpha=0.22, rasterized=True, **style)
dots = plane.scatter(*places[~is_wrong].T, c=y_test[~is_wrong], s=9, **style)
cross = {"s": 42, "marker": "X", "edgecolors": "black", "linewidths": 0.8}
plane.scatter(*places[is_wrong].T, c=y_test[is_wrong], **cross, **style)
plane.set(xticks=[], yticks=[], aspect="equal")
plane.set_title(f"{is_wrong.sum()} of {len(y_test)} unseen digits wrong")
figure.colorbar(dots, ax=plane, ticks=range(10), label="digit", location="bottom", aspect=40)

curve.axhline(raw, color="gray", linestyle="--")
curve.text(10, raw + 0.006, "64 raw pixels", color="dimgray", ha="right", va="bottom")
curve.plot(sizes, by_hne, "o-", color="tab:blue", label="HNE")
curve.plot(sizes, by_pca, "s-", color="tab:orange", label="PCA")
curve.set(xlabel="coordinates", title="accuracy on unseen digits", xticks=sizes, ylim=(0.55, 1.03))
curve.legend(frameon=False, loc="lower right")
plt.show()

# %%
# PCA needs ten coordinates to reach nearly the same accuracy, and nothing is much better than the
# pixels. Reasons to embed nonetheless:
#
# - You see where errors are made: many at the borders between groups, some as single images within
#   another group.
# - You can check the whole model by eye, because the classifier uses nothing but the plane.
# - HNE does not need the labels. Images without labels can take part in the fit.
#
# If only the score counts, leave the embedding out.
