"""The matrices W, J and G of a small roll, samples in the order of their arc length, and the bottom of G's spectrum."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll

roll = make_swiss_roll(200, even=True, random_state=0)
model = HNE(**PUBLISHED).fit(roll.X[np.argsort(roll.chart[:, 0])])
W, J = model.inner_weights_, model.joint_weights_
A, B = sparse.eye_array(200) - W, sparse.eye_array(200) - J
G = A.T @ A + B.T @ B

figure, panels = plt.subplots(1, 4, figsize=(10, 2.7))
for axes, (name, matrix) in zip(panels, {"W": W, "J": J, "G = A'A + B'B": G}.items(), strict=False):
    axes.spy(matrix, markersize=0.35, color="#1f77b4")
    axes.set(title=f"{name}: {matrix.nnz / 200:.0f} entries a row", xticks=[], yticks=[])
eigenvalues = np.linalg.eigvalsh(G.toarray())
panels[3].semilogy(range(2, 26), eigenvalues[1:25], "o-", markersize=3, color="#7f7f7f")
panels[3].semilogy([2, 3], eigenvalues[1:3], "o", color="#d62728", label="published: these two")
panels[3].set(title="eigenvalues of G, from the second", xlabel="number")
panels[3].legend(fontsize=7)
