"""
Walk through the plane, back to images
======================================

``inverse_transform`` turns any point of the plane into a sample. A walk from the fives to the
threes shows digits that are not in the data. Place such an image again: within a group it comes
back near to where it was taken from. Beyond the last samples it does not, and should not be
trusted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from hne import HNE

# %%
# Images of fives and threes, a quarter of them held out.

digits = load_digits()
is_chosen = np.isin(digits.target, (3, 5))
fitted, unseen, label, _ = train_test_split(
    digits.data[is_chosen], digits.target[is_chosen], test_size=0.25, random_state=0
)
model = HNE().fit(fitted)

# %%
# A straight walk in eleven steps, from the middle of the fives through that of the threes and on,
# out of the data.

start, middle = (np.median(model.embedding_[label == digit], axis=0) for digit in (5, 3))
steps = start + np.linspace(0, 1.7, 11)[:, None] * (middle - start)
images = model.inverse_transform(steps)

# %%
# Two ways to doubt an image. How far is it from the nearest image that somebody wrote? And if you
# place it in the plane, does it come back to where it was taken from?

search = NearestNeighbors(n_neighbors=1).fit(fitted)
usual = np.median(search.kneighbors()[0])
distance = search.kneighbors(images)[0][:, 0]
way = np.linalg.norm(model.transform(images) - steps, axis=1)
print(f"the groups are {np.linalg.norm(middle - start):.0f} apart in the plane")
print(f"a fitted image is {usual:.0f} from the nearest other")
for number, values in enumerate(zip(distance, way, strict=True)):
    print("step {:2d}: {:3.0f} from the nearest image, comes back {:3.0f} off".format(number, *values))

figure = plt.figure(figsize=(8.4, 5), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(3, 1))
plane = top.subplots()
for digit, color in ((5, "tab:orange"), (3, "tab:blue")):
    plane.scatter(*model.embedding_[label == digit].T, color=color, s=12, label=f"fitted {digit}")
plane.plot(*steps.T, "o-", color="black", markersize=5, label="steps")
for number, step in enumerate(steps):
    plane.annotate(str(number), step, (0, 6), textcoords="offset points", ha="center", fontsize=9)
plane.set(aspect="equal", xticks=[], yticks=[])
plane.set_title("a walk from the fives through the threes")
plane.legend(loc="best")
for number, panel in enumerate(bottom.subplots(1, 11)):
    panel.imshow(images[number].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    panel.set(xticks=[], yticks=[], title=number, xlabel=f"{way[number]:.0f} off")
plt.show()

# %%
# Below each image is the distance by which it comes back off. It is larger in the gap between the
# groups, and largest out of the data, steps 9 and 10: gaps and margins of a layout contain no
# samples. The distance to the nearest image shows less: all images are averages of fitted ones, and
# averages are near to them.
#
# On the held-out images, there and back through the two coordinates:

principal = PCA(2).fit(fitted)
rebuilt = {
    "HNE": model.inverse_transform(model.transform(unseen)),
    "PCA": principal.inverse_transform(principal.transform(unseen)),
    "mean image": np.tile(fitted.mean(axis=0), (len(unseen), 1)),
    "nearest fitted image": fitted[search.kneighbors(unseen)[1][:, 0]],
}
for name, values in rebuilt.items():
    print(f"{name}: {np.linalg.norm(values - unseen, axis=1).mean():.1f} off")

# %%
# Two coordinates of HNE preserve more of an image than two of PCA, about as much as the nearest
# fitted image, which is found with all 64 pixels.
