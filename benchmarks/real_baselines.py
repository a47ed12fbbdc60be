"""Baselines on real data, each with its library's defaults: X -> a picture of two dimensions."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hne.core.records import FloatArray

SEED = 0


def _pca(X: FloatArray) -> Any:
    from sklearn.decomposition import PCA

    return PCA(n_components=2, random_state=SEED).fit_transform(X)


def _isomap(X: FloatArray) -> Any:
    from sklearn.manifold import Isomap

    return Isomap(n_components=2).fit_transform(X)


def _locally_linear(method: str, X: FloatArray) -> Any:
    from sklearn.manifold import LocallyLinearEmbedding

    return LocallyLinearEmbedding(n_components=2, method=method, random_state=SEED).fit_transform(X)


def _spectral(X: FloatArray) -> Any:
    from sklearn.manifold import SpectralEmbedding

    return SpectralEmbedding(n_components=2, random_state=SEED).fit_transform(X)


def _tsne(X: FloatArray) -> Any:
    from sklearn.manifold import TSNE

    return TSNE(n_components=2, random_state=SEED).fit_transform(X)


def _umap(X: FloatArray) -> Any:
    from umap import UMAP

    return UMAP(n_components=2, random_state=SEED).fit_transform(X)


def _phate(X: FloatArray) -> Any:
    from phate import PHATE

    return PHATE(n_components=2, random_state=SEED, verbose=0).fit_transform(X)


def _pacmap(X: FloatArray) -> Any:
    from pacmap import PaCMAP

    return PaCMAP(n_components=2, random_state=SEED).fit_transform(X)


# Those that keep distances or weights of neighbors, and those that arrange samples by attraction and repulsion.
CLASSIC: dict[str, Callable[[FloatArray], Any]] = {
    "PCA": _pca,
    "Isomap": _isomap,
    "LLE": partial(_locally_linear, "standard"),
    "MLLE": partial(_locally_linear, "modified"),
    "LTSA": partial(_locally_linear, "ltsa"),
    "SpectralEmbedding": _spectral,
}
ARRANGING: dict[str, Callable[[FloatArray], Any]] = {
    "UMAP": _umap,
    "t-SNE": _tsne,
    "PHATE": _phate,
    "PaCMAP": _pacmap,
}
BASELINES = CLASSIC | ARRANGING
_PACKAGES = {"UMAP": "umap-learn", "PHATE": "phate", "PaCMAP": "pacmap"}


def library_of(baseline: str) -> str:
    """Return the package that a baseline is from, with its version if it is installed."""
    package = _PACKAGES.get(baseline, "scikit-learn")
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
