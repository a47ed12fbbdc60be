"""
Data in pieces
==============

A piece is a connected component of the neighbor graph: no chain of neighbors leads from it to
another, so the position of two components relative to each other is not known. Near a surface, HNE
draws a chart of each and places them side by side. You can also join them, or keep the largest
alone. (A layout, the default far from surfaces, places all components together.) ``bridges_`` lists
the edges without which a component would fall in two.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from hne import HNE
from hne.datasets import make_s_curve, make_swiss_roll
from hne.metrics import affine_errors

# %%
# A roll, and an S-curve with a gap across its middle. One sample stands in the gap, a stepping
# stone.

roll, curve = make_swiss_roll(400, random_state=0), make_s_curve(400, random_state=0)
is_beside_gap = np.abs(curve.chart[:, 0] - 1.5 * np.pi) > 0.5
stone = [0.0, 1.0, 0.0]
X = np.vstack([0.12 * roll.X + [4.5, 0, 0], curve.X[is_beside_gap], stone])
half = np.where(curve.chart[is_beside_gap, 0] < 1.5 * np.pi, 1, 2)
part = np.concatenate([np.zeros(400), half, [3]]).astype(int)

separate = HNE().fit(X)
print("pieces of", np.bincount(separate.piece_labels_), "samples")
print(separate.verdict_)

# %%
# Without the stone there would be three pieces. ``bridges_`` has its links to one half of the S:
# they are all that holds that half. If this one sample is wrong, so is how the halves lie to each
# other.

print("the stone is sample", len(X) - 1)
print("bridges:", separate.bridges_.tolist())

# %%
# The three policies. Gray lines are links between neighbors, red ones bridges.

models = {policy: HNE(pieces=policy).fit(X) for policy in ("separate", "join", "largest")}
names = ("roll", "one half of the S", "other half", "stepping stone")
colors = np.array(["tab:blue", "tab:orange", "tab:green", "black"])
figure = plt.figure(figsize=(9, 4.8), layout="constrained")
space = figure.add_subplot(2, 2, 1, projection="3d")
for number, name in enumerate(names):
    style = {"color": colors[number], "s": 6 if number < 3 else 30, "clip_on": False}
    space.scatter(*X[part == number].T, label=name, **style)
space.view_init(10, -80)
space.set_box_aspect(np.ptp(X, axis=0), zoom=1.8)
space.set_axis_off()
space.set_title("in space")
for place, (policy, model) in enumerate(models.items(), start=2):
    axes = figure.add_subplot(2, 2, place)
    Y = model.embedding_
    links = np.column_stack(model.inner_weights_.nonzero())
    axes.add_collection(LineCollection(Y[links], colors="lightgray", linewidths=0.4))
    axes.add_collection(LineCollection(Y[model.bridges_], colors="red", linewidths=1.6, zorder=3))
    axes.scatter(*Y.T, c=colors[part], s=np.where(part == 3, 30, 6), zorder=2)
    axes.set(title=f'pieces="{policy}"', aspect="equal", xticks=[], yticks=[])
keys = space.get_legend_handles_labels()
figure.legend(*keys, loc="outside lower center", ncols=4, frameon=False, markerscale=1.5)
plt.show()

# %%
# How well is each part laid out on its own? The affine error to its true coordinates, 0 for
# perfect:

for policy, model in models.items():
    roll_error = affine_errors(model.embedding_[:400], roll.chart).mean()
    print(f"{policy}: {model.is_embedded_.sum()} samples, roll {roll_error:.4f}", end="")
    if policy != "largest":
        S_error = affine_errors(model.embedding_[400:-1], curve.chart[is_beside_gap]).mean()
        print(f", S {S_error:.4f}", end="")
    print()

# %%
# - ``"separate"``, the default, keeps each piece right. No distance can be read off the gap between
#   pieces.
# - ``"join"`` adds the shortest links between pieces, and here it spoils what was right. Use it
#   where you know that pieces belong together.
# - ``"largest"`` gives NaN for all other samples; ``is_embedded_`` tells which.
