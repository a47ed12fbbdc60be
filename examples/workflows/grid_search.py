"""
Choose settings by cross-validation
===================================

A grid search over two settings of HNE in a pipeline, scored by a classifier on the coordinates. The
accuracy changes little; one coordinate with 10 neighbors or more is worst. The defaults of
:class:`hne.HNE`, which use no labels, are about one standard deviation below the best of the grid.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from hne import HNE

# %%
# Settings of a step are named ``step__parameter``, as in any :class:`sklearn.pipeline.Pipeline`.
# :class:`sklearn.model_selection.GridSearchCV` fits each of the nine pairs three times, on two
# thirds of the training samples. ``assess=False`` saves time: a fit in a search needs no verdict.
# The coordinates are those of a layout, which preserves neighborhoods and groups, but not distances
# between groups, densities or sizes of groups.

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.data, digits.target, train_size=500, stratify=digits.target, random_state=0
)
pipeline = Pipeline([("hne", HNE(assess=False)), ("classify", KNeighborsClassifier())])
grid = {"hne__n_components": [1, 2, 3], "hne__n_neighbors": [5, 10, 20]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X_train, y_train)
scores = search.cv_results_["mean_test_score"].reshape(3, 3)

# %%
# ``HNE()`` has two coordinates and, for a layout, ten neighbors.

own = pipeline.fit(X_train, y_train)
chosen = {"hne__n_components": own["hne"].n_components_, "hne__n_neighbors": own["hne"].n_neighbors_}
taken = tuple(values.index(chosen[name]) for name, values in grid.items())
spread = search.cv_results_["std_test_score"][search.best_index_]
print(f"best of the grid: {search.best_params_}")
print(f"  cross-validated {search.best_score_:.3f} (standard deviation {spread:.3f})")
print(f"  on unseen digits {search.score(X_test, y_test):.3f}")
print(f"HNE(): {own['hne'].n_neighbors_} neighbors, {own['hne'].n_components_} coordinates")
print(f"  cross-validated {scores[taken]:.3f}")
print(f"  on unseen digits {own.score(X_test, y_test):.3f}")

# %%
# The square is the best of the grid, the circle is ``HNE()``.

figure, axes = plt.subplots(figsize=(6, 4.6), layout="constrained")
image = axes.imshow(scores, cmap="viridis", origin="lower")
for (row, column), score in np.ndenumerate(scores):
    color = "white" if score < scores.mean() else "black"
    axes.text(column, row, f"{score:.3f}", ha="center", va="center", color=color)
row, column = np.unravel_index(scores.argmax(), scores.shape)
corner = (column - 0.47, row - 0.47)
axes.add_patch(plt.Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="red", linewidth=2.5))
axes.plot(taken[1], taken[0], "o", markersize=52, fillstyle="none", color="black")
axes.set_xticks(range(3), grid["hne__n_neighbors"])
axes.set_yticks(range(3), grid["hne__n_components"])
axes.set(xlabel="n_neighbors", ylabel="n_components")
axes.set_title("Accuracy by three-fold cross-validation")
figure.colorbar(image, label="accuracy")
plt.show()

# %%
# Do not read too much into the best cell: several others are within its standard deviation.
#
# The search needs labels and 28 fits. Without labels, ``HNE(n_neighbors="auto", reg="auto",
# variant="auto")`` tries settings too, and scores each layout by the neighborhoods that it preserves.
