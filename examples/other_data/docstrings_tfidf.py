"""
What SciPy's functions are about
================================

The docstrings of some 600 functions of SciPy, as a sparse matrix of word weights (TF-IDF), go straight into HNE.
Functions of a subpackage come to lie together: the ten nearest points in the picture name the subpackage of 93 % of
them. PCA's picture names 77 %, that of t-SNE 96 %.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import trustworthiness
from hne.viz import scatter

# %%
# Collect what the functions of eight subpackages say about themselves. Classes and docstrings of less than 200 letters
# stay out, and so does ``scipy.special``, whose 350 functions would be a third of the picture. The options of the
# vectorizer matter: with none of them, the picture below would name 89 % of the subpackages.

packages = ["fft", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "stats"]
texts, names, package_of = [], [], []
for package in packages:
    module = importlib.import_module(f"scipy.{package}")
    for name in module.__all__:
        item = getattr(module, name)
        text = inspect.getdoc(item) or ""
        if callable(item) and hasattr(item, "__name__") and not inspect.isclass(item) and len(text) >= 200:
            texts.append(text)
            names.append(name)
            package_of.append(package)

letters = r"[A-Za-z]{3,}"
words = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True, token_pattern=letters)
X = words.fit_transform(texts)
print(f"{X.shape[0]} docstrings, {X.shape[1]} words, {100 * X.nnz / np.prod(X.shape):.1f} % of the matrix is filled")

# %%
# The matrix stays sparse all the way. Rows of TF-IDF have length one, so ``metric="cosine"`` and the Euclidean default
# give the same embedding. Of 5 (the default here), 8, 10, 15 and 20 neighbors, 8 tell the subpackages best, the others
# 90 to 92 %. Reducing to 50 singular vectors before the fit changes little (90 to 94 %).

model = HNE(n_neighbors=8, metric="cosine").fit(X)
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
scatter(model, package_of, axes=axes, title=f"{len(names)} functions of SciPy by the words of their docstrings")
axes.set_axis_off()
shown = ["binary_erosion", "block_array", "butter", "dct", "expm", "find_peaks", "gaussian_filter", "gmean", "lstsq"]
shown += ["make_interp_spline", "minimize", "random_array", "ttest_ind"]
for name in shown:
    at = model.embedding_[names.index(name)]
    axes.plot(*at, "o", color="black", markersize=3.5, zorder=3)
    outline = [withStroke(linewidth=2.5, foreground="white")]
    axes.annotate(name, at, (4, 3), textcoords="offset points", fontsize=8.5, path_effects=outline)
plt.show()

# %%
# How much of the subpackage do the ten nearest points tell, and do neighbors among the texts stay neighbors in the
# picture (:func:`hne.metrics.trustworthiness`)? t-SNE gets the first 50 singular vectors, as is common for texts.


def told(Y):
    """Share of functions whose subpackage the ten nearest others name."""
    return cross_val_score(KNeighborsClassifier(10), Y, package_of, cv=5).mean()


reduced = TruncatedSVD(50, random_state=0).fit_transform(X)
pictures = {"HNE": model.embedding_, "PCA": baseline_embedding("pca", X.toarray())}
pictures["t-SNE"] = baseline_embedding("tsne", reduced)
for name, Y in pictures.items():
    print(f"{name:13s} subpackage told {told(Y):.3f}, trustworthiness {trustworthiness(X, Y, 10):.3f}")
print(f"{'all the words'} subpackage told {told(X):.3f}")
print(model.verdict_)
