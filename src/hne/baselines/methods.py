"""The baselines by name: what each is called and needs, and whether what it gives is an embedding."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._runtime.memory import available_bytes, gigabytes
from hne.core.parameters import check_settings, is_auto
from hne.core.records import FloatArray, Pieces, UniqueSamples
from hne.core.samples.canonical import InputScaling, canonicalize
from hne.core.samples.check import check_matrix, check_samples
from hne.exceptions import (
    BaselineError,
    DisconnectedGraphWarning,
    InputTypeError,
    MissingExtraError,
    TooLargeError,
    caller_stacklevel,
    refuse,
)
from hne.settings import Settings

# The parameters that all baselines have, and HNE too.
COMMON = ("n_neighbors", "n_components", "reg", "random_state", "n_jobs")
# Lengths below this share of the longest are rounding: eigenvectors of eigenvalues near zero, as those of these
# methods, mix with each other to 1e-7 and less, and a coordinate that is one of them has the length of all others.
# Principal components may be as short as they like, but for their own rounding.
COLLAPSED, ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True)
class Baseline:
    """What there is to know about a method before it runs.

    Attributes
    ----------
    name : str
        The method as `baseline_embedding` takes it.
    label : str
        The method as tables and figures show it.
    uses_reg : bool
        Whether the parameter `reg` changes its answer.
    least_neighbors : callable
        The smallest n_neighbors that it can take, as a function of the number of components.
    least_rule : str
        The same in words.
    leaves_out_self : bool
        Whether a sample is left out of its own neighborhood.
    estimator : str
        The class that runs with its own defaults; empty for LLE and its relatives.
    neighbors : str
        The parameter of that class that n_neighbors is passed to; empty where it has none.
    library : str
        The library of that class, as pip knows it.
    pair_bytes : int
        Bytes that the method takes for each pair of samples; 0 where it does not hold all pairs.

    See Also
    --------
    hne.baselines.BASELINES : One of these for each method.
    hne.baselines.baseline_embedding : Runs a method.

    Examples
    --------
    >>> from hne.baselines import BASELINES
    >>> hlle = BASELINES["hlle"]
    >>> hlle.label, hlle.uses_reg, hlle.least_neighbors(2)
    ('HLLE', False, 6)
    """

    name: str
    label: str
    uses_reg: bool = False
    least_neighbors: Callable[[int], int] = lambda _: 1
    least_rule: str = "at least 1"
    leaves_out_self: bool = False
    estimator: str = ""
    neighbors: str = ""
    library: str = "scikit-learn"
    pair_bytes: int = 0

    @property
    def graph(self) -> str:
        """What must hang together for the method to have an answer."""
        return "graph of who is in one neighborhood with whom" if self.leaves_out_self else "neighbor graph"

    @property
    def is_installed(self) -> bool:
        """Whether the library of the method is there."""
        return not self.estimator or find_spec(self.estimator.partition(".")[0]) is not None

    def check_installed(self) -> None:
        """Raise where the library of the method is not there."""
        if not self.is_installed:
            remedy = f"Run: pip install {self.library}"
            refuse(f"method={self.name!r}", f"needs {self.library}", "none installed", remedy, MissingExtraError)

    def check_memory(self, n: int) -> None:
        """Raise `hne.exceptions.TooLargeError` where the pairs of so many samples do not fit into free memory.

        Parameters
        ----------
        n : int
            Number of samples.
        """
        needed, free = self.pair_bytes * n**2, available_bytes()
        if needed > free:
            rule = f"needs about {gigabytes(needed)} for all pairs of {n} samples"
            remedy = "Pass fewer samples, or choose another method"
            refuse(f"method={self.name!r}", rule, f"{gigabytes(free)} free", remedy, TooLargeError)

    def check_neighbors(self, settings: Settings) -> None:
        """Raise `hne.exceptions.BaselineError` where neighborhoods are too small for the method.

        Parameters
        ----------
        settings : Settings
            The checked parameters.
        """
        k, d = settings.n_neighbors, settings.n_components
        least = self.least_neighbors(d)
        if k < least:
            rule = f"needs n_neighbors of {self.least_rule}, here {least} with n_components={d}"
            remedy = "Raise n_neighbors, or choose another method"
            refuse(f"method={self.name!r}", rule, f"n_neighbors={k}", remedy, BaselineError)

    def check_answer(self, Y: FloatArray, pieces: Pieces, settings: Settings) -> FloatArray:
        """Return the coordinates, or raise `hne.exceptions.BaselineError` where they are no embedding.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_components)
            What the method gave.
        pieces : Pieces
            The connected components of its graph.
        settings : Settings
            The checked parameters.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The same coordinates.
        """
        method, k, d = f"method={self.name!r}", settings.n_neighbors, settings.n_components
        # Those with defaults of their own know best how many neighbors they take.
        first = f"Lower n_components (now {d})" if self.estimator else f"Raise n_neighbors (now {k})"
        remedy = f"{first}, or choose another method"
        n_others = int((~np.isfinite(Y)).sum())
        if n_others:
            refuse(method, "must give finite coordinates", f"{n_others} others", remedy, BaselineError)
        if pieces.count > 1 and _spread_within(Y, pieces) < COLLAPSED:
            got = f"{_counted(pieces)}, each of which it puts at one point"
            remedy = f"Raise n_neighbors (now {k}), or embed the pieces one by one"
            refuse(method, f"needs a connected {self.graph}", got, remedy, BaselineError)
        lengths = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False)
        rounding = ROUNDING if self.estimator else COLLAPSED
        rank = int((lengths > rounding * lengths[0]).sum()) if lengths[0] > 0 else 0
        if rank < d:
            got = f"{rank} and a constant or a repeat"
            refuse(method, f"must give {d} coordinates that differ", got, remedy, BaselineError)
        return Y

    def warn_of_pieces(self, pieces: Pieces, settings: Settings) -> None:
        """Warn where the graph of the method is in pieces.

        Parameters
        ----------
        pieces : Pieces
            The connected components of its graph.
        settings : Settings
            The checked parameters.
        """
        if pieces.count > 1:
            msg = (
                f"the {self.graph} has {_counted(pieces)}: coordinates of method={self.name!r} may tell them apart "
                f"and nothing else. Raise n_neighbors (now {settings.n_neighbors}), or embed the pieces one by one."
            )
            warnings.warn(msg, DisconnectedGraphWarning, stacklevel=caller_stacklevel())


def _counted(pieces: Pieces) -> str:
    sizes = ", ".join(map(str, pieces.sizes[:5])) + (", ..." if pieces.count > 5 else "")
    return f"{pieces.count} pieces (of {sizes} distinct samples)"


def _spread_within(Y: FloatArray, pieces: Pieces) -> float:
    """Length of the coordinates around the means of their pieces, relative to that around the mean of all."""
    sums = np.zeros((pieces.count, Y.shape[1]))
    np.add.at(sums, pieces.labels, Y)
    means = sums / pieces.sizes[:, None]
    whole = np.linalg.norm(Y - Y.mean(axis=0))
    return float(np.linalg.norm(Y - means[pieces.labels]) / whole) if whole > 0 else 0.0


def check_common(parameters: Mapping[str, Any]) -> Settings:
    """Return those parameters as Settings that all baselines have."""
    common = {name: parameters[name] for name in COMMON if name in parameters}
    for name, value in common.items():
        if is_auto(value):
            refuse(name, "of a baseline must be a number", "'auto'", "Only HNE chooses by itself", InputTypeError)
    return check_settings(common)


def check_unique(X: ArrayLike, settings: Settings) -> tuple[UniqueSamples, InputScaling, FloatArray]:
    """Return which samples are distinct, the units of the computation, and the distinct samples in them."""
    # Sparse samples stop here; what is a matrix already passes the second check at no cost.
    samples = check_samples(check_matrix(X), settings)
    distinct, units, inside, _ = canonicalize(samples, settings)
    return distinct, units, inside


_ALL = (
    Baseline("lle", "LLE", uses_reg=True),
    # scikit-learn's ridge of MLLE is 1e-3 whatever it is told.
    Baseline("mlle", "MLLE", least_neighbors=lambda d: d, least_rule="at least n_components"),
    Baseline(  # Hessian eigenmaps
        "hlle",
        "HLLE",
        # A constant, d slopes and d(d+1)/2 products are taken out of k values, and something must be left.
        least_neighbors=lambda d: d * (d + 3) // 2 + 1,
        least_rule="more than n_components * (n_components + 3) / 2",
        leaves_out_self=True,
    ),
    Baseline(  # local tangent space alignment
        "ltsa",
        "LTSA",
        # With fewer, the local coordinates and the constant explain any k values: nothing is left to be minimized.
        least_neighbors=lambda d: d + 2,
        least_rule="at least n_components + 2",
        leaves_out_self=True,
    ),
    Baseline("pca", "PCA", estimator="sklearn.decomposition.PCA"),
    # 9.4 GB for 20 000 samples.
    Baseline("isomap", "Isomap", estimator="sklearn.manifold.Isomap", neighbors="n_neighbors", pair_bytes=24),
    # Laplacian eigenmaps.
    Baseline("spectral", "Spectral", estimator="sklearn.manifold.SpectralEmbedding", neighbors="n_neighbors"),
    Baseline("tsne", "t-SNE", estimator="sklearn.manifold.TSNE"),
    Baseline("umap", "UMAP", estimator="umap.UMAP", neighbors="n_neighbors", library="umap-learn"),
    Baseline("phate", "PHATE", estimator="phate.PHATE", neighbors="knn", library="phate"),
)
#: What is known of each method, by its name: a mapping of `str` to `hne.baselines.Baseline`.
BASELINES = {baseline.name: baseline for baseline in _ALL}
#: Names of the methods that `hne.baselines.baseline_embedding` takes.
METHODS = tuple(BASELINES)
