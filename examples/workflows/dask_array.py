"""
Fit a Dask array
================

Hand a Dask array to ``fit`` and the workers of the cluster search the neighbors and compute the
weights, block by block. The coordinates come back as a Dask array with the same chunks, and they
equal those of a fit in memory bit for bit: nothing shows where the chunks meet.
"""

import logging

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from hne import HNE
from hne.datasets import make_swiss_hole
from hne.metrics import affine_errors

# %%
# Two workers, here as threads of this process. On a cluster, ``Client("tcp://node1:8786")`` is all
# that changes, and ``HNE(checkpoint="/shared/run")`` names a folder that client and workers share.

here = {"processes": False, "dashboard_address": None, "silence_logs": logging.ERROR}
cluster = LocalCluster(n_workers=2, threads_per_worker=1, **here)
client = Client(cluster)

# %%
# A roll with a hole, sorted along the roll, in four chunks. Yours would come from files, as by
# ``da.from_zarr``: the workers read them, and samples are never gathered.

roll = make_swiss_hole(4000, random_state=0)
order = np.argsort(roll.chart[:, 0])
X, chart = roll.X[order], roll.chart[order]
lazy = da.from_array(X, chunks=(1000, 3))

model = HNE().fit(lazy)
print(model.embedding_)
print(model.verdict_)

# %%
# The same in memory, and the error to the true coordinates of the strip, 0 for perfect.

Y = model.embedding_.compute()
in_memory = HNE().fit(X)
print("same bits as in memory:", bool((in_memory.embedding_ == Y).all()))
print(f"affine error: {affine_errors(Y, chart).max():.6f}")

chunk = np.arange(len(X)) // 1000
figure = plt.figure(figsize=(9, 3.2), layout="constrained")
space = figure.add_subplot(1, 3, 1, projection="3d")
space.scatter(*X.T, c=plt.cm.Set2(chunk), s=3, depthshade=False)
space.view_init(12, -75)
space.set_box_aspect(np.ptp(X, axis=0), zoom=1.3)
space.set_axis_off()
space.set_title("4 000 samples in four chunks")
plane = figure.add_subplot(1, 3, (2, 3))
for number in range(4):
    plane.scatter(*Y[chunk == number].T, color=plt.cm.Set2(number), s=5, label=f"chunk {number}")
plane.set(aspect="equal", xlabel="chart coordinate 1", ylabel="chart coordinate 2")
plane.set_title("their embedding")
plane.legend(loc="upper center", bbox_to_anchor=(0.5, -0.32), ncols=4, frameon=False, markerscale=3)
plt.show()

# %%
# ``transform`` takes Dask arrays as well, and is lazy: nothing is placed until somebody asks for
# the result.

placed = model.transform(lazy + 0.01)
print(placed)
print("same bits as in memory:", bool((placed.compute() == in_memory.transform(X + 0.01)).all()))

client.close()
cluster.close()

# %%
# For samples that fit into memory this is slower than a plain ``fit``: blocks travel through files.
# It pays when samples do not fit, or when many workers share the search. The client still finds the
# eigenvectors and holds all coordinates. Settings of ``"auto"`` and sparse samples are refused.
