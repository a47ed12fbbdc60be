"""
Cells that branch into four fates
=================================

A simulation of blood formation: stem cells become progenitors, and these one of four cell types. HNE draws all four
branches apart. PCA and Isomap put two of them on each other, and t-SNE keeps the four but not the distances between
them. The verdict does not approve of any of HNE's pictures, and the number of neighbors has to be chosen.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scanpy as sc
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import residual_variance, tangent_score, trustworthiness
from hne.viz import compare

# %%
# The data ships with scanpy: four runs of 160 steps of a model of 11 genes (Krumsiek and others, 2011). All runs start
# at the same state. Every run numbers its steps from 0, of which the loader warns, and nothing here uses these numbers.

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="Observation names are not unique")
    cells = sc.datasets.krumsiek11()
X = np.asarray(cells.X, dtype=float)
names = {"Ery": "erythrocyte", "Mk": "megakaryocyte", "Mo": "monocyte", "Neu": "neutrophil"}
kind = cells.obs["cell_type"].map(lambda name: names.get(name, name)).to_numpy()

# %%
# Fit with several numbers of neighbors, and take the picture whose distances follow those along the neighbor graph
# best. :func:`hne.metrics.residual_variance` measures that without labels; 0 is perfect.

models = {k: HNE(n_neighbors=k).fit(X) for k in (10, 12, 15, 20, 30, 40)}
left = {k: residual_variance(X, model.embedding_) for k, model in models.items()}
best = min(left, key=left.get)
model = models[best]
print("residual variance:", ", ".join(f"{value:.3f} (k={k})" for k, value in left.items()))

pictures = {name: baseline_embedding(name, X) for name in ("pca", "isomap", "tsne")}
titles = {"pca": "PCA", "isomap": "Isomap", "tsne": "t-SNE", "HNE": f"HNE, {best} neighbors"}
panels = compare({**pictures, "HNE": model}, kind, columns=2, titles=titles)
for panel in panels:
    panel.set_aspect("equal", adjustable="datalim")
    panel.collections[0].set(edgecolor="face", sizes=[14])  # no white rims where dots make up a line
plt.show()

# %%
# The fate of a cell in the later half of its run is told by the five nearest of these in the picture.

late = kind != "progenitor"
pictures["HNE"] = model.embedding_
pictures["HNE, default"] = models[12].embedding_  # what HNE() takes here
for name, Y in pictures.items():
    told = cross_val_score(KNeighborsClassifier(5), Y[late], kind[late], cv=5).mean()
    kept = f"trustworthiness {trustworthiness(X, Y, 10):.3f}, residual variance {residual_variance(X, Y):.3f}"
    print(f"{name:13s} fate told {told:.3f}, {kept}")

# %%
# The verdict looks at small neighborhoods as pieces of a surface, and a thin branch is none. It says no whatever the
# number of neighbors. Its score has two parts to note: what the picture loses across a branch (tangent loss), and how
# unevenly it stretches. So read from the picture which branch leaves where, and no lengths.

print(model.verdict_)
print(tangent_score(X, model.embedding_))
