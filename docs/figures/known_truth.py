"""Eight data sets of hne.datasets in space, colored by their first true coordinate."""

import matplotlib.pyplot as plt

from hne import datasets

made = (
    datasets.make_swiss_roll(600, random_state=0),
    datasets.make_swiss_hole(600, random_state=0),
    datasets.make_clusters(300, random_state=0),
    datasets.make_two_surfaces(150, random_state=0),
    datasets.make_s_curve(500, random_state=0),
    datasets.make_severed_sphere(600, random_state=0),
    datasets.make_twin_peaks(600, random_state=0),
    datasets.make_trefoil(300, random_state=0),
)
figure, panels = plt.subplots(2, 4, figsize=(9, 4.6), subplot_kw={"projection": "3d"})
for axes, data in zip(panels.flat, made, strict=True):
    color = data.chart[:, 0] if data.chart.size else data.labels
    axes.scatter(*data.X.T, c=color, s=4)
    axes.set(title=data.name, xticks=[], yticks=[], zticks=[])
