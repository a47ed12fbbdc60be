"""
Raman spectra of a fermentation
===============================

1 626 spectra, taken while sugar turns into alcohol, are ordered by time in the layout, which does
not get the time. A group in the middle is a period in which the signal keeps dropping to a second
level.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from chemotools.datasets import load_fermentation_test
from scipy.signal import savgol_filter
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import trustworthiness
from hne.viz import compare, scatter

# %%
# The package chemotools carries the spectra in the order in which they were taken, and a chemical
# analysis of 34 samples of the brew, the last of them after 33.9 hours. The last three spectra are
# flat, all ones: they are left out. What is embedded is the first derivative between 950 and 1550
# 1/cm.
table, analysis = load_fermentation_test()
in_range = (table.columns >= 950) & (table.columns <= 1550)
spectra = table.to_numpy()[:-3]
X = savgol_filter(spectra, 21, 2, deriv=1)[:, in_range]
# Spectra have no times of their own: suppose that they are evenly spaced.
hour = pd.Series(np.linspace(0, analysis["time"].max(), len(X)), name="hour")

# %%
# The derivatives are not near a surface, so the default is a layout. It preserves neighborhoods and
# groups; distances between groups, densities and sizes of groups are not meaningful.
model = HNE().fit(X)
print(model.verdict_)

# %%
# From hour 13.7 on the mean signal is low, and then jumps between two levels, often from one
# spectrum to the next, 75 seconds later. A brew does not do that; an instrument may. Circles mark
# the low spectra in both panels: they are a group of their own in the layout.
level = spectra[:, in_range].mean(axis=1)
is_low = (hour > 13.75) & (hour < 15.7) & (level < 0.77)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2))
scatter(model, hour, axes=left, title="1 626 spectra, a layout")
right.plot(hour, level, color="#9aa0a6", linewidth=0.8)
for axes, x, y in ((left, *model.embedding_.T), (right, hour, level)):
    axes.scatter(x[is_low], y[is_low], s=26, facecolors="none", edgecolors="black", linewidths=0.5, zorder=3)
right.set(xlim=(11, 19), ylim=(0.735, 0.82), xlabel="hour")
right.set_title("mean signal around hour 14", fontsize=11, loc="left")
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# How well is the time preserved? R^2 is that of the hour predicted from the five nearest spectra.
# t-SNE and UMAP, with their defaults, reach 0.998, and a trustworthiness of 0.997 and 0.994; the
# first two principal components have less of both.


def recovered(Y, values):
    """R^2 of values that are guessed as the mean of those of the five nearest other samples in Y."""
    nearest = NearestNeighbors(n_neighbors=5).fit(Y).kneighbors(return_distance=False)
    return r2_score(values, values[nearest].mean(axis=1))


for method, Y in {"HNE": model.embedding_, "PCA": baseline_embedding("pca", X)}.items():
    kept = trustworthiness(X, Y, n_neighbors=10)
    print(f"{method}: trustworthiness {kept:.3f}, R^2 of the hour {recovered(Y, hour.to_numpy()):.3f}")

# %%
# In PCA the hours overlap in broad bands. In the layout, a period like the one above is a group that
# you can select. The gaps between groups are not meaningful: the brew did not pause there.
compare({"HNE": model, "PCA": baseline_embedding("pca", X)}, hour)
plt.show()
