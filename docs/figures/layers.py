"""One sample of a surface, rebuilt from its neighbors, and from its neighbors' neighbors."""

import matplotlib.pyplot as plt
import numpy as np

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll

roll = make_swiss_roll(600, random_state=3)
flat = roll.chart
model = HNE(**PUBLISHED | {"n_neighbors": 5, "short_circuits": "cut"}).fit(roll.X)
sample = np.linalg.norm(flat - [45, 10], axis=1).argmin()

figure, (inner, outer) = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True)
neighbors = model.inner_weights_[[sample]].indices
reached = np.unique(model.joint_weights_[[sample]].indices)
for axes, title in ((inner, "one layer: 5 neighbors"), (outer, "two layers: their neighbors as well")):
    axes.plot(*flat.T, "o", color="#c9ced6", markersize=3)
    axes.set(title=title, aspect="equal", xticks=[], yticks=[])
for neighbor in neighbors:
    for axes in (inner, outer):
        axes.plot(*flat[[sample, neighbor]].T, color="#1f77b4", linewidth=1.8)
    for second in model.inner_weights_[[neighbor]].indices:
        outer.plot(*flat[[neighbor, second]].T, color="#ff7f0e", linewidth=0.9, zorder=1)
outer.plot(*flat[reached].T, "o", color="#ff7f0e", markersize=4.5, label="neighbors' neighbors")
for axes in (inner, outer):
    axes.plot(*flat[neighbors].T, "o", color="#1f77b4", markersize=5.5, label="neighbors")
    axes.plot(*flat[sample], "o", color="black", markersize=7, label="the sample")
around = flat[reached]
low, high = around.min(axis=0) - 2.5, around.max(axis=0) + 2.5
inner.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
outer.legend(loc="upper left", fontsize=8, framealpha=0.9)
