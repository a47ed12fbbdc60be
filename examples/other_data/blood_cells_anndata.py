"""
Blood cells in an AnnData object
================================

HNE beside the UMAP that comes with 700 blood cells of scanpy. UMAP draws tighter groups and tells a little more of the
cell types: the ten nearest cells name 81 % of them, in HNE's picture 78 %, in PCA's 77 %. HNE follows distances along
the data better, with a rank correlation of .83 where UMAP has .60.
"""

import matplotlib.pyplot as plt
import scanpy as sc
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import geodesic_rank_correlation, trustworthiness

# %%
# The object ships with scanpy: 700 cells, their 50 principal components, a neighbor graph, UMAP's coordinates, and
# names of cell types. HNE takes the components as they are (do not scale them), and its coordinates go where scanpy's
# tools look for them. With 30 neighbors the arrangement of the groups stays when cells are left out; with the default
# of 5 it does not, although it tells as many types.

cells = sc.datasets.pbmc68k_reduced()
components = cells.obsm["X_pca"]
model = HNE(n_neighbors=30).fit(components)
cells.obsm["X_hne"] = model.embedding_

figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
for panel, basis, legend in zip(panels, ("umap", "hne"), ("none", "right margin"), strict=True):
    style = {"size": 40, "legend_loc": legend, "legend_fontsize": 8, "show": False}
    sc.pl.embedding(cells, basis, color="bulk_labels", ax=panel, title=basis.upper(), **style)
    panel.set_aspect("equal", adjustable="datalim")
plt.show()

# %%
# What do the pictures keep? The type that the ten nearest cells name; near cells that stay near
# (:func:`hne.metrics.trustworthiness`); and ranks of distances along the neighbor graph
# (:func:`hne.metrics.geodesic_rank_correlation`). Even all 50 components tell only 80 % of the types: many T cells of
# unlike names look alike.


def told(Y):
    """Share of cells whose type the ten nearest others name."""
    return cross_val_score(KNeighborsClassifier(10), Y, cells.obs["bulk_labels"].astype(str), cv=5).mean()


def measures(Y):
    """What is kept of types, neighbors and distances, as text."""
    near, far = trustworthiness(components, Y, 10), geodesic_rank_correlation(components, Y)
    return f"type told {told(Y):.3f}, trustworthiness {near:.3f}, distances {far:.3f}"


pictures = {"HNE": model.embedding_, "PCA": components[:, :2], "UMAP": cells.obsm["X_umap"]}
pictures["t-SNE"] = baseline_embedding("tsne", components)
for name, Y in pictures.items():
    print(f"{name:6s} {measures(Y)}")
print(f"all 50 components: type told {told(components):.3f}")
print(model.verdict_)

# %%
# scanpy keeps the distances to the neighbors of each cell in ``obsp["distances"]``. Pass that graph as ``neighbors``,
# and HNE searches none of its own. All of scanpy's count, here nine of each cell, and the picture is about as good.

given = HNE(neighbors=cells.obsp["distances"]).fit(components)
cells.obsm["X_hne_graph"] = given.embedding_
print(f"neighbors: {given.neighbor_method_}, {given.n_neighbors_} of each cell")
print(f"HNE on scanpy's graph: {measures(given.embedding_)}")
