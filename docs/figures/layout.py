"""The robust PCA start of a layout of handwritten digits, and the layout."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from hne import embed
from hne.core.layout.start import starting_coordinates

X, y = load_digits(return_X_y=True)
result = embed(X[:600], assess=False)
start = starting_coordinates(result.core.X, result.settings)[result.distinct.inverse]

_, panels = plt.subplots(1, 2, figsize=(8.6, 4.2))
titles = {"start: robust principal coordinates": start, "layout": result.Y}
for axes, (title, Y) in zip(panels, titles.items(), strict=True):
    axes.scatter(*Y.T, c=y[:600], s=5, cmap="tab10")
    axes.set(title=title, xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
