"""
Cells that branch into four fates
=================================

A simulation of blood formation: stem cells become progenitors, and these one of four cell types. A chart by HNE
separates all four branches and preserves distances along them, if the number of neighbors is chosen. HNE's layout and
t-SNE separate them too, but do not preserve distances. PCA and Isomap place two of the branches on each other.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scanpy as sc
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from hne import HNE
from hne.baselines import baseline_embedding
from hne.exceptions import UntrustworthyWarning
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
# The samples are near curves, so :class:`hne.HNE` draws a chart. Fit with several numbers of neighbors, and take the
# chart whose distances follow those along the neighbor graph best. :func:`hne.metrics.residual_variance` measures that
# without labels; 0 is perfect. Some fits warn that one coordinate is nearly a function of the other, as it is in a thin
# tree.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UntrustworthyWarning)
    models = {k: HNE(n_neighbors=k).fit(X) for k in (10, 12, 15, 20, 30, 40)}
left = {k: residual_variance(X, model.embedding_) for k, model in models.items()}
best = min(left, key=left.get)
model = models[best]
print("residual variance:", ", ".join(f"{value:.3f} (k={k})" for k, value in left.items()))

layout = HNE(coordinates="layout").fit(X)
embeddings = {name: baseline_embedding(name, X) for name in ("pca", "isomap", "tsne")}
embeddings |= {"layout": layout.embedding_, "chart": model.embedding_}
titles = {"pca": "PCA", "isomap": "Isomap", "tsne": "t-SNE", "layout": "HNE, layout"}
titles["chart"] = f"HNE, chart, {best} neighbors"
panels = compare(embeddings, kind, columns=3, titles=titles)
for panel in panels:
    panel.set_aspect("equal", adjustable="datalim")
    panel.collections[0].set(edgecolor="face", sizes=[14])  # no white rims where dots make up a line
plt.show()

# %%
# The fate of a cell in the later half of its run is predicted from the five nearest of these. The layout preserves
# neighborhoods best, the chart distances. With its 12 neighbors, the chart of ``HNE()`` preserves less of both.

late = kind != "progenitor"
embeddings["HNE()"] = models[12].embedding_
for name, Y in embeddings.items():
    right = cross_val_score(KNeighborsClassifier(5), Y[late], kind[late], cv=5).mean()
    kept = f"trustworthiness {trustworthiness(X, Y, 10):.3f}, residual variance {residual_variance(X, Y):.3f}"
    print(f"{name:7s} right fate {right:.3f}, {kept}")

# %%
# The verdict regards small neighborhoods as parts of a surface, which a thin branch is not. It advises against all of
# these charts, whatever the number of neighbors. Its score has two parts to note: what is lost across a branch (tangent
# loss), and how unevenly the chart is stretched.

print(model.verdict_)
print(tangent_score(X, model.embedding_))
