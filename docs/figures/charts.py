"""A band that winds around a cylinder: its first two eigenvectors, and its chart."""

import matplotlib.pyplot as plt
import numpy as np

from hne import HNE
from hne.metrics import affine_errors

angle, across = np.random.default_rng(0).random((2, 900)) * [[6 * np.pi], [1.5]]
band = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), across + angle / 2])
flat = np.column_stack([2 * angle, across])

figure = plt.figure(figsize=(8.6, 4.2))
space, *panels = (
    figure.add_subplot(1, 3, 1, projection="3d"),
    *(figure.add_subplot(2, 3, (row, row + 1)) for row in (2, 5)),
)
space.scatter(*band.T, c=across, s=4)
space.set(title="in space, colored across", box_aspect=(1, 1, 2.2), xticks=[], yticks=[], zticks=[])
titles = {
    "eigenvectors": "the first two eigenvectors",
    "chart": "the chart of twenty eigenvectors",
}
for axes, (coordinates, title) in zip(panels, titles.items(), strict=True):
    Y = HNE(coordinates=coordinates, assess=False).fit_transform(band)
    error = affine_errors(Y, flat)
    axes.scatter(*Y.T, c=across, s=4)
    axes.set(title=f"{title}: error {error[0]:.3f} along, {error[1]:.3f} across", xticks=[], yticks=[])
