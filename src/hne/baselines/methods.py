"""The rival methods by name: what they are called, what they need, and which parameters they use."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from hne._runtime.memory import available_bytes, gigabytes
from hne.core.records import Settings
from hne.exceptions import BaselineError, MissingExtraError, TooLargeError


@dataclass(frozen=True)
class Rival:
    """What there is to know about a rival method before it runs."""

    name: str  # as `baseline_embedding` takes it
    label: str  # as tables and figures show it
    title: str
    uses_reg: bool = False  # whether the parameter `reg` changes its answer
    least_neighbors: Callable[[int], int] = lambda _: 1  # of the number of components
    least_rule: str = "at least 1"  # the same in words
    leaves_out_self: bool = False  # whether a sample is in its neighbors' neighborhoods alone, and not in its own
    estimator: str = ""  # the class that runs with its own defaults; empty for LLE and its relatives
    neighbors: str = ""  # the parameter of that class for n_neighbors; empty where it has none
    library: str = "scikit-learn"  # whose class it is, as pip knows it
    pair_bytes: int = 0  # that it takes for each pair of samples; 0 where it does not hold all pairs

    @property
    def links(self) -> str:
        """What must hang together for the method to have an answer."""
        return "graph of who is in one neighborhood with whom" if self.leaves_out_self else "neighbor graph"

    @property
    def is_installed(self) -> bool:
        """Whether the library of the method is there."""
        return not self.estimator or find_spec(self.estimator.partition(".")[0]) is not None

    def check_installed(self) -> None:
        """Raise where the library of the method is not there."""
        if not self.is_installed:
            msg = f"method={self.name!r} needs {self.library}, got none installed. Run: pip install {self.library}."
            raise MissingExtraError(msg)

    def check_memory(self, n: int) -> None:
        """Raise where the pairs of so many samples do not fit into free memory."""
        needed, free = self.pair_bytes * n**2, available_bytes()
        if needed > free:
            msg = (
                f"method={self.name!r} needs about {gigabytes(needed)} for all pairs of {n} samples, got "
                f"{gigabytes(free)} free. Pass fewer samples, or choose another method."
            )
            raise TooLargeError(msg)

    def check_neighbors(self, settings: Settings) -> None:
        """Raise where neighborhoods are too small for the method."""
        k, d = settings.n_neighbors, settings.n_components
        least = self.least_neighbors(d)
        if k < least:
            msg = (
                f"method={self.name!r} needs n_neighbors of {self.least_rule}, here {least} with n_components={d}, "
                f"got n_neighbors={k}. Raise n_neighbors, or choose another method."
            )
            raise BaselineError(msg)


_ALL = (
    Rival("lle", "LLE", "Locally linear embedding", uses_reg=True),
    # scikit-learn's ridge of MLLE is 1e-3 whatever it is told.
    Rival("mlle", "MLLE", "Modified locally linear embedding", False, lambda d: d, "at least n_components"),
    Rival(
        "hlle",
        "HLLE",
        "Hessian eigenmaps",
        False,
        # A constant, d slopes and d(d+1)/2 products are taken out of k values, and something must be left.
        lambda d: d * (d + 3) // 2 + 1,
        "more than n_components * (n_components + 3) / 2",
        leaves_out_self=True,
    ),
    # With fewer, the local coordinates and the constant explain any k values: nothing is left to be minimized.
    Rival(
        "ltsa",
        "LTSA",
        "Local tangent space alignment",
        False,
        lambda d: d + 2,
        "at least n_components + 2",
        leaves_out_self=True,
    ),
    Rival("clle", "CLLE", "LLE of two overlapping parts", uses_reg=True),
    Rival("llc", "LLC", "Locally linear coordination", uses_reg=True),
    Rival("pca", "PCA", "Principal component analysis", estimator="sklearn.decomposition.PCA"),
    Rival(
        "isomap",
        "Isomap",
        "Isometric mapping",
        estimator="sklearn.manifold.Isomap",
        neighbors="n_neighbors",
        # 9.4 GB for 20 000 samples.
        pair_bytes=24,
    ),
    Rival(
        "spectral",
        "Spectral",
        "Laplacian eigenmaps",
        estimator="sklearn.manifold.SpectralEmbedding",
        neighbors="n_neighbors",
    ),
    Rival("tsne", "t-SNE", "t-distributed stochastic neighbor embedding", estimator="sklearn.manifold.TSNE"),
    Rival(
        "umap",
        "UMAP",
        "Uniform manifold approximation and projection",
        estimator="umap.UMAP",
        neighbors="n_neighbors",
        library="umap-learn",
    ),
    Rival(
        "phate",
        "PHATE",
        "Potential of heat-diffusion for affinity-based trajectory embedding",
        estimator="phate.PHATE",
        neighbors="knn",
        library="phate",
    ),
)
RIVALS = {rival.name: rival for rival in _ALL}
METHODS = tuple(RIVALS)
