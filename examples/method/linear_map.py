"""
An explicit linear map
======================

:class:`hne.LinearHNE` looks for the linear map that keeps both layers of neighbors best. Its
``loadings_`` say what a coordinate means in your columns. On wines it finds nearly the plane of
PCA, and like PCA it cannot unroll a roll.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from hne import HNE, LinearHNE
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors, trustworthiness

# %%
# 178 wines of three cultivars, 13 columns of unlike units, so they are scaled first. ``transform``
# is a matrix product, for fitted and new samples alike.

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
model, principal = LinearHNE().fit(X), PCA(2).fit(X)
Y, P = model.embedding_, principal.transform(X)
print("a matrix product:", np.allclose(model.transform(X), (X - model.mean_) @ model.components_.T))
for name, coordinates in {"LinearHNE": Y, "PCA": P, "HNE": HNE().fit_transform(X)}.items():
    print(f"trustworthiness, {name}: {trustworthiness(X, coordinates, n_neighbors=10):.3f}")

# %%
# A row of ``loadings_`` is what one unit of a coordinate is in X. Times the spread of the
# coordinate, and with scaled columns, it is the correlation of each column with the coordinate.
# PCA's signs are turned to those of LinearHNE.

loadings = model.loadings_ * Y.std(axis=0)[:, None]
beside = principal.components_ * P.std(axis=0)[:, None]
beside *= np.sign((loadings * beside).sum(axis=1, keepdims=True))
for number in range(2):
    strongest = X.columns[np.argsort(-np.abs(loadings[number]))[:3]]
    agreement = abs(np.corrcoef(Y[:, number], P[:, number])[0, 1])
    print(f"coordinate {number + 1}: {', '.join(strongest)}; correlation with PCA's {agreement:.2f}")

figure = plt.figure(figsize=(9, 4.4), layout="constrained")
plane, first, second = figure.subplots(1, 3, width_ratios=(1.7, 1, 1))
for cultivar in range(3):
    plane.scatter(*Y[wine.target == cultivar].T, s=16, label=f"cultivar {cultivar}")
plane.set(aspect="equal", xlabel="coordinate 1", ylabel="coordinate 2", title="178 wines by LinearHNE")
plane.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
rows = np.arange(len(X.columns))
for number, axes in enumerate((first, second)):
    axes.barh(rows, loadings[number], color="tab:blue", label="LinearHNE")
    axes.plot(beside[number], rows, "|", color="black", markersize=10, markeredgewidth=2, label="PCA")
    axes.axvline(0, color="gray", linewidth=0.8)
    axes.set(title=f"coordinate {number + 1}", xlim=(-1, 1), xlabel="correlation")
    axes.set_yticks(rows, [name.replace("_", " ").split("/")[0] for name in X.columns])
    axes.invert_yaxis()
second.set_yticks([])
keys = second.get_legend_handles_labels()
figure.legend(*keys, loc="outside lower right", ncols=2, frameon=False)
plt.show()

# %%
# LinearHNE preserves a little less of the neighborhoods than PCA here, and HNE, whose layout is not
# linear, more than both. Take the linear map when you need to say what a coordinate is, or to place
# samples by a matrix alone.
#
# What it cannot do: a linear map lays the sheets of a roll on each other.

roll = make_swiss_roll(1000, random_state=0)
figure, panels = plt.subplots(1, 2, figsize=(9, 3), width_ratios=(1, 2), layout="constrained")
for axes, (name, method) in zip(panels, {"LinearHNE": LinearHNE(), "HNE": HNE()}.items(), strict=True):
    flat = method.fit_transform(roll.X)
    along, across = affine_errors(flat, roll.chart)
    axes.scatter(*flat.T, c=roll.chart[:, 0], cmap="plasma", s=6)
    axes.set(title=f"a Swiss roll by {name}", aspect="equal", xticks=[], yticks=[])
    print(f"{name}: affine error {along:.4f} along the strip, {across:.4f} across")
plt.show()

# %%
# Color is the true place along the strip. The width of the strip is a straight direction in space,
# and LinearHNE finds it. The length is rolled up, and lost.
