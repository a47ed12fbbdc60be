"""
Blood cells in an AnnData object
================================

HNE beside the UMAP that comes with 700 blood cells of scanpy. In HNE's layout the ten nearest cells recover 82 % of the
cell types, in UMAP's 81 %, in PCA 77 %. HNE preserves more of the neighborhoods than UMAP, and more of the ranks of
distances along the data (correlation 0.70 and 0.60), though a layout is not made to preserve distances.
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
# tools look for them. Cells are not near a surface, so the coordinates are a layout: it preserves neighborhoods and
# groups, but not distances between groups, densities or sizes of groups.

cells = sc.datasets.pbmc68k_reduced()
components = cells.obsm["X_pca"]
model = HNE().fit(components)
cells.obsm["X_hne"] = model.embedding_

figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
for panel, basis, legend in zip(panels, ("umap", "hne"), ("none", "right margin"), strict=True):
    style = {"size": 40, "legend_loc": legend, "legend_fontsize": 8, "show": False}
    sc.pl.embedding(cells, basis, color="bulk_labels", ax=panel, title=basis.upper(), **style)
    panel.set_aspect("equal", adjustable="datalim")
plt.show()

# %%
# What is preserved? The share of cells whose type is recovered from the ten nearest; neighborhoods
# (:func:`hne.metrics.trustworthiness`); and ranks of distances along the neighbor graph
# (:func:`hne.metrics.geodesic_rank_correlation`). All 50 components recover only 80 % of the types: many T cells of
# different types are alike.


def recovered(Y):
    """Accuracy of the types predicted from the ten nearest other cells."""
    return cross_val_score(KNeighborsClassifier(10), Y, cells.obs["bulk_labels"].astype(str), cv=5).mean()


def measures(Y):
    """Preservation of types, neighborhoods and distances, as text."""
    near, far = trustworthiness(components, Y, 10), geodesic_rank_correlation(components, Y)
    return f"types {recovered(Y):.3f}, trustworthiness {near:.3f}, distances {far:.3f}"


pictures = {"HNE": model.embedding_, "PCA": components[:, :2], "UMAP": cells.obsm["X_umap"]}
pictures["t-SNE"] = baseline_embedding("tsne", components)
for name, Y in pictures.items():
    print(f"{name:6s} {measures(Y)}")
print(f"all 50 components: types {recovered(components):.3f}")
print(model.verdict_)

# %%
# scanpy keeps the distances to the neighbors of each cell in ``obsp["distances"]``. Pass that graph as ``neighbors``,
# and HNE does not search. All of scanpy's neighbors are used, here nine of each cell.

given = HNE(neighbors=cells.obsp["distances"]).fit(components)
cells.obsm["X_hne_graph"] = given.embedding_
print(f"neighbors: {given.neighbor_method_}, {given.n_neighbors_} of each cell")
print(f"HNE on scanpy's graph: {measures(given.embedding_)}")
