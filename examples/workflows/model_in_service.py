"""
A saved model in service
========================

Fit once, save, load elsewhere, and place samples as they arrive, each in some milliseconds. A
sample unlike all fitted ones gets a place too, and the place does not show it. Its distance to its
nearest fitted samples does.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from hne import HNE

# %%
# The fit. The file holds numbers and text, no pickle: loading it runs no code that somebody put
# there.

digits = load_digits()
fitted, unseen = train_test_split(digits.data, train_size=1200, stratify=digits.target, random_state=0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "digits.hne"
HNE().fit(fitted).save(path)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")

# %%
# The service. It loads the model and learns what is usual: how far fitted samples are from their
# own nearest ones, by :class:`sklearn.neighbors.NearestNeighbors`. What is farther than 99 % of
# those is refused. The choice is yours: a lower limit finds more, and refuses more good ones.

model = HNE.load(path)
search = NearestNeighbors(n_neighbors=model.n_neighbors_).fit(fitted)
limit = np.quantile(search.kneighbors()[0].mean(axis=1), 0.99)


def serve(sample):
    """Coordinates of one sample, and whether to believe them."""
    distance = search.kneighbors([sample])[0].mean()
    return model.transform([sample])[0], distance <= limit


# %%
# What arrives: 150 digits, 40 that were scanned upside down, and 20 negatives.

usual, turned, negative = unseen[:150], unseen[150:190, ::-1], 16 - unseen[190:210]
arriving = {"digits": usual, "upside down": turned, "negatives": negative}
samples = np.vstack(list(arriving.values()))
kind = np.repeat(list(arriving), [len(group) for group in arriving.values()])
start = time.perf_counter()
answers = [serve(sample) for sample in samples]
seconds = time.perf_counter() - start
places, is_good = (np.array(column) for column in zip(*answers, strict=True))
print(f"{1000 * seconds / len(samples):.1f} ms a sample, on this machine")
for name in arriving:
    print(f"{name}: {(~is_good[kind == name]).sum()} of {(kind == name).sum()} refused")

# %%
# Refused samples are placed among the others: a layout preserves neighborhoods, not distances, so
# that a position does not show how far a sample is from the fitted ones.

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
axes.scatter(*model.embedding_.T, color="lightgray", s=8, label="fitted")
axes.scatter(*places[is_good].T, color="tab:blue", s=16, label="placed")
axes.scatter(*places[~is_good].T, color="tab:red", s=38, marker="x", label="refused")
axes.set(aspect="equal", xlabel="layout coordinate 1", ylabel="layout coordinate 2")
axes.set_title(f"{is_good.sum()} samples placed, {(~is_good).sum()} refused")
axes.legend(loc="best")
plt.show()

# %%
# Some of each. Upside-down images that pass look like digits: an 8, or a 9 that has become a 6. A
# limit on distances finds what is unlike the fitted samples, not what is wrong and looks right.

shown = (("digits", True), ("upside down", True), ("upside down", False), ("negatives", False))
figure, grid = plt.subplots(4, 10, figsize=(8, 3.8), layout="constrained")
for line, (name, good) in zip(grid, shown, strict=True):
    for panel, sample in zip(line, samples[(kind == name) & (is_good == good)], strict=False):
        panel.imshow(sample.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        panel.set(xticks=[], yticks=[])
    label = f"{name},\n{'placed' if good else 'refused'}"
    line[0].set_ylabel(label, rotation=0, ha="right", va="center")
plt.show()
folder.cleanup()
