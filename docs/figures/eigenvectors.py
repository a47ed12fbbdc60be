"""The bottom eigenvectors of a roll, painted on the strip that it was rolled up from."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from hne import HNE
from hne.datasets import make_swiss_roll

roll = make_swiss_roll(800, random_state=0)
model = HNE(assess=False).fit(roll.X)
A, B = (sparse.eye_array(800) - weights for weights in (model.inner_weights_, model.joint_weights_))
_, vectors = np.linalg.eigh((A.T @ A + B.T @ B).toarray())

figure, panels = plt.subplots(3, 2, figsize=(8, 4.4), sharex=True, sharey=True)
for number, axes in enumerate(panels.flat, start=2):
    axes.scatter(*roll.chart.T, c=vectors[:, number - 1], s=6, cmap="coolwarm")
    axes.set(title=f"eigenvector {number}", aspect="equal", xticks=[], yticks=[])
figure.supxlabel("arc length along the roll", fontsize=9)
figure.supylabel("height", fontsize=9)
