"""A sparse roll seen from its end with the edges that were cut, and the embedding with and without them."""

import matplotlib.pyplot as plt

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors

roll = make_swiss_roll(300, random_state=1)
cut, kept = HNE().fit(roll.X), HNE(short_circuits="keep").fit(roll.X)

figure, (space, with_edges, without) = plt.subplots(1, 3, figsize=(9, 3.2), width_ratios=[1, 1.2, 1.2])
space.scatter(roll.X[:, 0], roll.X[:, 2], c=roll.chart[:, 0], s=10)
for first, second in cut.short_circuits_:
    space.plot(roll.X[[first, second], 0], roll.X[[first, second], 2], color="#d62728", linewidth=1.2)
space.set(title=f"from its end: {len(cut.short_circuits_)} edges jump", aspect="equal", xticks=[], yticks=[])
for axes, model, words in ((with_edges, kept, "edges kept"), (without, cut, "edges cut")):
    error = affine_errors(model.embedding_, roll.chart).mean()
    axes.scatter(*model.embedding_.T, c=roll.chart[:, 0], s=10)
    axes.set(title=f"{words}: error {error:.4f}", aspect="equal", xticks=[], yticks=[])
