"""
A map from distances alone
==========================

Given nothing but great-circle distances between 1028 airports, HNE draws the map of the United States. On average an
airport is 5 km from its place on a map made to keep lengths; the farthest two are 4574 km apart. Longitude and
latitude, drawn on one scale, are much farther from that map.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import KernelPCA
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import haversine_distances
from sklearn.neighbors import KNeighborsTransformer
from vega_datasets import local_data

from hne import HNE
from hne.metrics import procrustes_error

# %%
# Every third airport of the 48 contiguous states, and eight large ones to find one's way. ``distances`` is all that
# HNE will see; with ``metric="precomputed"`` it takes such a matrix in place of samples.

cities = {"SEA": "Seattle", "LAX": "Los Angeles", "DEN": "Denver", "DFW": "Dallas", "MSP": "Minneapolis"}
cities |= {"ORD": "Chicago", "MIA": "Miami", "BOS": "Boston"}
airports = local_data.airports()
airports = airports[airports.latitude.between(24, 50) & airports.longitude.between(-125.5, -66)]
airports = airports[(np.arange(len(airports)) % 3 == 0) | airports.iata.isin(cities)].reset_index(drop=True)

latitude, longitude = np.radians(airports[["latitude", "longitude"]].to_numpy().T)
earth = 6371  # radius in km
distances = earth * haversine_distances(np.column_stack([latitude, longitude]))

model = HNE(metric="precomputed").fit(distances)
print(f"{len(distances)} airports. {model.verdict_}")

# %%
# The truth is an azimuthal equal-area map centered on Kansas, which changes lengths in the country by 2 % at most. An
# embedding knows no north: turn it, mirrored if need be, onto that map. Colors run from west to east.

middle = np.radians([39.0, -96.0])
cosine = np.sin(middle[0]) * np.sin(latitude) + np.cos(middle[0]) * np.cos(latitude) * np.cos(longitude - middle[1])
east = np.cos(latitude) * np.sin(longitude - middle[1])
north = np.cos(middle[0]) * np.sin(latitude) - np.sin(middle[0]) * np.cos(latitude) * np.cos(longitude - middle[1])
true_map = earth * np.sqrt(2 / (1 + cosine))[:, None] * np.column_stack([east, north])

center = true_map.mean(axis=0)
rotation, _ = orthogonal_procrustes(model.embedding_, true_map - center)
turned = model.embedding_ @ rotation + center

figure, panels = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained", sharex=True, sharey=True)
plane = earth * np.column_stack([(longitude - middle[1]) * np.cos(middle[0]), latitude - middle[0]])
titles = ("longitude and latitude", "HNE, from distances alone")
for panel, places, title in zip(panels, (plane, turned), titles, strict=True):
    panel.scatter(*places.T, c=longitude, cmap="viridis", s=5)
    panel.set(title=title, xlabel="km", aspect="equal")
    for code, city in cities.items():
        at = places[airports.iata == code][0]
        panel.plot(*at, "o", color="black", markersize=4)
        outline = [withStroke(linewidth=2.5, foreground="white")]
        panel.annotate(city, at, (0, 4), textcoords="offset points", fontsize=8, ha="center", path_effects=outline)
panels[0].set(ylabel="km", xlim=(-2800, 2800), ylim=(-1800, 1700))
plt.show()

# %%
# :func:`hne.metrics.procrustes_error` is the share of the true map that no shift, turn and scale of a picture explains.
# With all distances at hand, classical scaling is better still, and simpler: the country is nearly flat. HNE and Isomap
# look at near neighbors only, and of these two HNE is the closer.

scaling = KernelPCA(2, kernel="precomputed").fit_transform(-0.5 * distances**2)
isomap = Isomap(n_neighbors=12, metric="precomputed").fit_transform(distances)
off = np.linalg.norm(turned - true_map, axis=1)
print(f"HNE: airports are {off.mean():.1f} km off on average, {off.max():.0f} km at most")
pictures = {"HNE": model.embedding_, "classical scaling": scaling, "Isomap": isomap, "longitude, latitude": plane}
for name, Y in pictures.items():
    print(f"{name:20s} Procrustes error {procrustes_error(Y, true_map):.6f}")

# %%
# That pays where far distances are not known. Keep each airport's distances to its 240 nearest and drop the rest:
# classical scaling needs the full matrix, and HNE still draws the map, with an error five times as large.

near = KNeighborsTransformer(n_neighbors=240, metric="precomputed").fit_transform(distances)
known = HNE(n_neighbors=6, metric="precomputed").fit(near)
print(f"{100 * near.nnz / distances.size:.0f} % of the distances: {procrustes_error(known.embedding_, true_map):.6f}")
