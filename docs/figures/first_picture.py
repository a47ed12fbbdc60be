"""The Swiss roll in space, and unrolled."""

import matplotlib.pyplot as plt

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.viz import scatter

roll = make_swiss_roll(300, random_state=0)
model = HNE().fit(roll.X)

figure = plt.figure(figsize=(8.4, 3))
space = figure.add_subplot(1, 3, 1, projection="3d")
space.scatter(*roll.X.T, c=roll.chart[:, 0], s=8)
space.set(title="in space", xticks=[], yticks=[], zticks=[])
scatter(model, color=roll.chart[:, 0], axes=figure.add_subplot(1, 3, (2, 3)), title="HNE()")
