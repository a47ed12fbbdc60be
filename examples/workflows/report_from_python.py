"""
From a data frame to a report
=============================

``model.report`` writes an HTML page that anybody can open: a verdict, the embedding to zoom and
hover, and the measures behind it, with those of PCA beside them. This table gets a layout, which
preserves neighborhoods and groups, but not distances between groups, densities or sizes of groups.
"""

import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from hne import HNE
from hne.metrics import trustworthiness
from hne.viz import scatter

# %%
# 569 tumors, 30 measures of their cells. Areas are in the hundreds and concavities below 1, so the
# columns have to be scaled first. ``set_output`` keeps the data frame and its names.

tumors = load_breast_cancer(as_frame=True)
diagnosis = tumors.target.map({0: "malignant", 1: "benign"}).rename("diagnosis")
scaled = StandardScaler().set_output(transform="pandas").fit_transform(tumors.data)
model = HNE().fit(scaled)
print(model.verdict_)

# %%
# ``report`` writes the page. ``color`` is what dots are colored by at first. ``columns`` are what
# you can color by and read off a dot: here the values as they were measured, not as they were
# scaled.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tumors.html"
    model.report(path, color=diagnosis, columns=tumors.data, title="569 tumors")
    page = path.read_text(encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB, one file")

# %%
# What it holds, by its headings. Scripts and styles are within the file, so it opens without a
# network.

for heading in re.findall(r"<h2[^>]*>(.*?)</h2>", page, flags=re.DOTALL):
    print("-", re.sub(r"<.*?>", "", heading).strip())

# %%
# The same layout with matplotlib. Are the ten nearest in the layout near in the table, too?

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
scatter(model, color=diagnosis, axes=axes, title="569 tumors by 30 measures of their cells")
plt.show()

principal = PCA(2).fit_transform(scaled)
for name, Y in {"HNE": model.embedding_, "PCA": principal}.items():
    print(f"trustworthiness of {name}: {trustworthiness(scaled, Y, n_neighbors=10):.3f}")

# %%
# :func:`hne.metrics.trustworthiness` is 1 where no sample is new among the ten nearest in the layout.
# HNE preserves more of the neighborhoods than PCA, and neither preserves all of them. The same page
# from the command line:
#
# .. code-block:: console
#
#    $ hne embed tumors.csv --scale standard -o map.csv --report tumors.html
