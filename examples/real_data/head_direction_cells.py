"""
Head-direction cells
====================

A chart of the firing of 19 neurons of a mouse, computed without the direction of its head, is a
ring: going around it, the head turns once around. Half of the directions are read off from the
chart to within 13 degrees. The default layout, t-SNE and UMAP do it to within 11 or 12, but the
layout opens the ring at one place.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.io import loadmat
from scipy.ndimage import gaussian_filter1d
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import trustworthiness
from hne.viz import compare, scatter

# %%
# The recording is by Peyrache and others (Nature Neuroscience, 2015); the file
# ``peyrache_dataHD.mat`` has spikes in bins of 10 ms and the angle of the head. The environment
# variable ``HNE_DATA`` names the folder that holds ``real/``. Rates are smoothed over 200 ms, and their square roots
# taken, which makes the noise of counts alike at all rates. 1 500 moments are drawn at random.
recording = loadmat(Path(os.environ.get("HNE_DATA", ".")) / "real" / "peyrache_dataHD.mat")
rates = gaussian_filter1d(recording["Qrun"].astype(float), 20, axis=0)
angle = recording["angRun"][:, 1]
known = np.flatnonzero(np.isfinite(angle))
rows = np.random.default_rng(0).choice(known, 1500, replace=False)
X, angle = np.sqrt(rates[rows]), angle[rows]


# %%
# :class:`hne.HNE` gets the rates alone. Noise spreads these data in many directions, so that the
# default is a layout, which preserves neighborhoods but not distances. The directions of a head are
# a closed curve; a chart follows distances along the neighbor graph and keeps it closed. Colors are
# the angle of the head, as the wheel shows them. The right panel shows the mean angle of the five
# nearest other moments in the chart, averaged as points of a circle.
model = HNE(coordinates="chart").fit(X)


def read_off(Y):
    """The angle that the five nearest other moments in Y tell."""
    nearest = NearestNeighbors(n_neighbors=5).fit(Y).kneighbors(return_distance=False)
    return np.angle(np.exp(1j * angle[nearest]).mean(axis=1)) % (2 * np.pi)


def hue(angles):
    """Colors that go around with the angle."""
    return 0.92 * plt.get_cmap("hsv")(angles / (2 * np.pi) % 1)[..., :3]


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2))
scatter(model, hue(angle), axes=left, title="1 500 moments, a chart")
wheel = left.inset_axes([0.8, 0.78, 0.22, 0.22], projection="polar")
edges = np.linspace(0, 2 * np.pi, 73)
wheel.bar(edges[:-1], 0.35, 2 * np.pi / 72, 0.65, color=hue(edges[:-1]), align="edge")
wheel.set_axis_off()
wheel.text(0, 0, "head", ha="center", va="center", fontsize=8)
right.scatter(np.degrees(angle), np.degrees(read_off(model.embedding_)), s=5, c=hue(angle))
right.set(xlabel="angle of the head, degrees", ylabel="read off the chart, degrees", aspect="equal")
right.set(xticks=range(0, 361, 90), yticks=range(0, 361, 90))
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# In two corners of the right panel, 0 and 360 degrees are the same direction. The verdict cannot
# judge data that noise spreads in many directions:
print(model.verdict_)

# %%
# Measure instead. R^2 is of the points of the circle. The layout preserves more of the neighborhoods
# than the chart, about as much as t-SNE and UMAP with their defaults (R^2 0.888 and 0.884, median
# error 11.5 and 11.3 degrees). PCA's ring is narrow, and directions overlap in its corner at the
# left.
circle = np.column_stack([np.cos(angle), np.sin(angle)])
embeddings = {"chart": model.embedding_, "layout": HNE().fit_transform(X)}
embeddings["PCA"] = baseline_embedding("pca", X)
for method, Y in embeddings.items():
    nearest = NearestNeighbors(n_neighbors=5).fit(Y).kneighbors(return_distance=False)
    error = np.degrees(np.abs(np.angle(np.exp(1j * (read_off(Y) - angle)))))
    kept, found = trustworthiness(X, Y, n_neighbors=10), r2_score(circle, circle[nearest].mean(axis=1))
    print(f"{method}: trustworthiness {kept:.3f}, R^2 {found:.3f}, median error {np.median(error):.1f} degrees")

# %%
# The layout opens the ring between 150 and 210 degrees, where the fewest moments were recorded.
panels = compare(embeddings, hue(angle))
for panel in panels:
    panel.set_aspect("equal", adjustable="datalim")
plt.show()
