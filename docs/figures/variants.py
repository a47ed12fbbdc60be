"""The joint weights that the three variants give the same sample."""

import matplotlib.pyplot as plt
import numpy as np

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll

roll = make_swiss_roll(600, random_state=3)
flat = roll.chart
sample = np.linalg.norm(flat - [45, 10], axis=1).argmin()

figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.2), sharex=True, sharey=True)
for axes, variant in zip(panels, ("ihne", "rhne", "bhne"), strict=True):
    settings = PUBLISHED | {"n_neighbors": 5, "variant": variant, "short_circuits": "cut", "include_self": False}
    row = HNE(**settings).fit(roll.X).joint_weights_[[sample]]
    axes.plot(*flat.T, "o", color="#dde1e6", markersize=3, zorder=0)
    drawn = axes.scatter(*flat[row.indices].T, c=row.data, s=70, cmap="coolwarm", vmin=-0.6, vmax=0.6, edgecolor="grey")
    axes.plot(*flat[sample], "k+", markersize=11)
    axes.set(title=f"{variant.upper()}: weights {row.data.min():.2f} to {row.data.max():.2f}", aspect="equal")
    axes.set(xticks=[], yticks=[])
low, high = flat[row.indices].min(axis=0) - 2, flat[row.indices].max(axis=0) + 2
panels[0].set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
figure.colorbar(drawn, ax=panels, label="joint weight", shrink=0.8)
