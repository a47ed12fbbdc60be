"""
Choose settings by cross-validation
===================================

A grid search over two settings of HNE in a pipeline, scored by a classifier on the coordinates.
More coordinates help the classifier, many neighbors hurt it. The five neighbors that
:class:`hne.HNE` takes by itself, without labels, are the best of the grid or near it; two
coordinates are not.
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
# thirds of the training samples. ``assess=False`` saves time: a fit in a search needs no verdict on
# how far to trust it.

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.data, digits.target, train_size=500, stratify=digits.target, random_state=0
)
pipeline = Pipeline([("hne", HNE(assess=False)), ("classify", KNeighborsClassifier())])
grid = {"hne__n_components": [2, 3, 5], "hne__n_neighbors": [3, 5, 10]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X_train, y_train)
scores = search.cv_results_["mean_test_score"].reshape(3, 3)

# %%
# ``HNE()`` is told neither. It makes two coordinates, and takes a number of neighbors that suits
# the samples.

own = pipeline.fit(X_train, y_train)
taken = grid["hne__n_neighbors"].index(own["hne"].n_neighbors_)
spread = search.cv_results_["std_test_score"][search.best_index_]
print(f"best of the grid: {search.best_params_}")
print(f"  cross-validated {search.best_score_:.3f} (standard deviation {spread:.3f})")
print(f"  on unseen digits {search.score(X_test, y_test):.3f}")
print(f"HNE() by itself: {own['hne'].n_neighbors_} neighbors, {own['hne'].n_components_} coordinates")
print(f"  cross-validated {scores[0, taken]:.3f}")
print(f"  on unseen digits {own.score(X_test, y_test):.3f}")

# %%
# The square is the best of the grid, the circle what ``HNE()`` takes.

figure, axes = plt.subplots(figsize=(6, 4.6), layout="constrained")
image = axes.imshow(scores, cmap="viridis", origin="lower")
for (row, column), score in np.ndenumerate(scores):
    color = "white" if score < 0.88 else "black"
    axes.text(column, row, f"{score:.3f}", ha="center", va="center", color=color)
row, column = np.unravel_index(scores.argmax(), scores.shape)
corner = (column - 0.47, row - 0.47)
axes.add_patch(plt.Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="red", linewidth=2.5))
axes.plot(taken, 0, "o", markersize=52, fillstyle="none", color="black")
axes.set_xticks(range(3), grid["hne__n_neighbors"])
axes.set_yticks(range(3), grid["hne__n_components"])
axes.set(xlabel="n_neighbors", ylabel="n_components")
axes.set_title("Accuracy by three-fold cross-validation")
figure.colorbar(image, label="accuracy")
plt.show()

# %%
# Do not read too much into the best cell. With 400 training samples instead of 500, three neighbors
# win in every row. What stays is the trend: coordinates help, and ten neighbors are too many.
#
# The search needs labels and 28 fits. Without labels, ``HNE(n_neighbors="auto", reg="auto",
# variant="auto")`` tries settings too, and scores each by what small neighborhoods lose. And what
# is good for a classifier need not be good to look at: five coordinates cannot be drawn.
