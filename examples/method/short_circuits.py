"""
Cut short circuits
==================

A short circuit is an edge of the neighbor graph that jumps across a gap, here to the next sheet of
a roll. 54 of 2 058 edges are enough to ruin the embedding. HNE finds all of them without knowing
the truth, and cuts them before anything else.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors

# %%
# The same roll with short circuits kept, as the published method does, and cut, which is the
# default.

roll = make_swiss_roll(300, random_state=0)
kept = HNE(short_circuits="keep").fit(roll.X)
cut = HNE().fit(roll.X)


def edges(model):
    """The edges of the neighbor graph that a model was made from, a pair of samples each."""
    return np.unique(np.sort(np.column_stack(model.inner_weights_.nonzero()), axis=1), axis=0)


def jumps(pairs):
    """Whether the way along the sheet is more than twice as long as that through space."""
    along = np.linalg.norm(np.diff(roll.chart[pairs], axis=1), axis=2)
    through = np.linalg.norm(np.diff(roll.X[pairs], axis=1), axis=2)
    return (along > 2 * through)[:, 0]


# %%
# ``short_circuits_`` lists the pairs, whether they were cut or kept. On real data nobody knows the
# truth; here the true chart tells which edges do jump.

for name, model in {"keep": kept, "cut": cut}.items():
    pairs, suspects = edges(model), model.short_circuits_
    print(f"{name}: {len(pairs)} edges, {jumps(pairs).sum()} of them jump")
    print(f"  {len(suspects)} suspected, {jumps(suspects).sum()} of these jump")
    print(f"  affine error {affine_errors(model.embedding_, roll.chart).mean():.4f}")
    print(f"  {model.verdict_}")

# %%
# Red edges are the suspects: in space, in the embedding that keeps them, and, dashed, where they
# would have been in the embedding without them. Color is the true arc length.

pairs, suspects = edges(cut), cut.short_circuits_
figure = plt.figure(figsize=(9, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.35))
space = left.add_subplot(projection="3d")
space.add_collection3d(Line3DCollection(roll.X[pairs], colors="lightgray", linewidths=0.5))
space.add_collection3d(Line3DCollection(roll.X[suspects], colors="red", linewidths=1.1))
space.scatter(*roll.X.T, c=roll.chart[:, 0], cmap="plasma", s=9, depthshade=False)
space.view_init(8, -83)
space.set_box_aspect(np.ptp(roll.X, axis=0), zoom=1.25)
space.set_axis_off()
space.set_title("300 samples, 12 neighbors each")

panels = right.subplots(2, 1)
for axes, (name, model) in zip(panels, {"keep": kept, "cut": cut}.items(), strict=True):
    Y = model.embedding_
    axes.add_collection(LineCollection(Y[pairs], colors="lightgray", linewidths=0.5))
    style = "-" if name == "keep" else (0, (5, 4))
    axes.add_collection(LineCollection(Y[suspects], colors="red", linewidths=0.8, linestyles=style))
    axes.scatter(*Y.T, c=roll.chart[:, 0], cmap="plasma", s=9, zorder=3)
    axes.set(title=f'short_circuits="{name}"', aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# An edge is suspected where it is long and leaves the tangent planes at both of its ends. It is cut
# if the way around it, over other edges, is many times as long. That can go wrong. With 8
# neighbors, some of the suspects are right:

eight = HNE(n_neighbors=8).fit(roll.X)
print(f"{len(eight.short_circuits_)} suspected, {jumps(eight.short_circuits_).sum()} of these jump")
print(f"affine error {affine_errors(eight.embedding_, roll.chart).mean():.4f}")

# %%
# Here they do no harm. Where they do, ``keep_edges=[(12, 57)]`` puts single edges back, and
# ``cut_edges`` cuts those that nobody suspects.
