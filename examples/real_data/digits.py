"""
Handwritten digits
==================

1 797 images of digits, embedded without their labels: most digits have a region of their own. Ones
and nines, which people write in more than one way, have two. PCA mixes the digits; t-SNE and UMAP
keep slightly more of the groups.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import trustworthiness
from hne.viz import scatter_images

digits = load_digits()
X, names = digits.data, digits.target.astype(str)

# %%
# A sample is an image of 8 x 8 pixels, so it has 64 features. :class:`hne.HNE` takes five neighbors
# here when you give no number. Its verdict is a sentence that says how far to trust the picture:
print(HNE().fit(X).verdict_)

# %%
# The verdict names a remedy: more neighbors. With eight, the neighbor graph is connected.
# :func:`hne.viz.scatter_images` draws the picture with some of the images beside their dots.
model = HNE(n_neighbors=8).fit(X)
print(model.verdict_)

figure, axes = plt.subplots(figsize=(7.2, 5.4), layout="constrained")
scatter_images(model, digits.images, names, axes=axes, n_images=24, zoom=3.2)
axes.set_axis_off()
plt.show()

# %%
# Images are near no surface, so the verdict does not judge them. Measure instead: trustworthiness
# is near 1 where neighbors in the picture are neighbors in the data
# (:func:`hne.metrics.trustworthiness`), and the second number says how often most of the five
# nearest images in the picture have the right digit. By the same count and with their default
# settings, t-SNE gets 0.989 right and UMAP 0.988.


def voted(Y):
    """The digit that most of the five nearest other images in Y have."""
    nearest = NearestNeighbors(n_neighbors=5).fit(Y).kneighbors(return_distance=False)
    return np.eye(10)[digits.target[nearest]].sum(axis=1).argmax(axis=1)


for method, Y in {"HNE": model.embedding_, "PCA": baseline_embedding("pca", X)}.items():
    kept, right = trustworthiness(X, Y, n_neighbors=10), np.mean(voted(Y) == digits.target)
    print(f"{method}: trustworthiness {kept:.3f}, right digit {right:.3f}")

# %%
# Which digits run into each other? Count the edges of the neighbor graph that join two digits;
# ``inner_weights_`` has a weight for each edge.
first, second = model.inner_weights_.nonzero()
pairs, counts = np.unique(np.sort(digits.target[[first, second]], axis=0), axis=1, return_counts=True)
is_mixed = pairs[0] != pairs[1]
print(f"{counts[is_mixed].sum() / counts.sum():.1%} of the edges join two digits; most often")
for number in np.argsort(-counts * is_mixed)[:5]:
    print(f"  {pairs[0, number]} and {pairs[1, number]}: {counts[number]} edges")

# %%
# The images that lie among another digit are often hard to read for us, too. Above each: the digit
# that was meant, and the one that most of its neighbors in the picture are.
told = voted(model.embedding_)
figure, panels = plt.subplots(2, 9, figsize=(8, 2.4), layout="constrained")
for panel, row in zip(panels.flat, np.flatnonzero(told != digits.target), strict=False):
    panel.imshow(digits.images[row], cmap="gray_r")
    panel.set_title(f"{digits.target[row]} among {told[row]}s", fontsize=8)
    panel.set_axis_off()
plt.show()
