"""CLLE: two LLE matrices, of overlapping parts of the samples, added where they share samples.

Self-correspondence after J. Ham, D. Lee and L. Saul, Semisupervised alignment of manifolds, AISTATS 2005: two sets of
samples of which some correspond are embedded together. Here both are parts of one set, and what they have in common
corresponds to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from hne._runtime.threads import limit_blas_threads, thread_count
from hne.baselines.methods import Baseline, check_common, check_unique
from hne.core.eigen.alignment import Alignment, alignment
from hne.core.eigen.certificate import EigenPairs
from hne.core.eigen.solve import bottom_eigenpairs
from hne.core.neighbors.graph import knn_graph
from hne.core.parameters import check_number
from hne.core.pieces.split import connected_pieces
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces, SparseMatrix, Weights
from hne.core.samples.check import output_kind
from hne.core.trust.verdict import close_eigenvalues, emit_warnings
from hne.core.weights.layers import layer_weights
from hne.exceptions import BaselineError, EigenSolverError, quoted, refuse
from hne.settings import Settings

METHOD = Baseline("clle", "CLLE", uses_reg=True)
SHARED, FIRST, SECOND = 0, 1, 2
# The share of samples in both parts with which CLLE was compared with HNE in the paper's experiments.
SHARE = 0.6


class EmbeddingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Estimators that keep the coordinates of the fitted samples in `embedding_`."""

    embedding_: NDArray[Any]

    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray[Any]:  # noqa: ARG002
        """Embed the samples of X and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, one a row.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The coordinates, `embedding_`.
        """
        Y: NDArray[Any] = self.fit(X).embedding_
        return Y

    @property
    def _n_features_out(self) -> int:
        """Number of coordinates, which names the output columns."""
        return int(self.embedding_.shape[1])


class CLLE(EmbeddingMixin):
    """Locally linear embedding of two overlapping parts of the samples, aligned by what they share.

    A share of the samples is in both parts, the others are halved. Each part has neighbors and weights within itself
    alone; the two LLE matrices are added where they share samples, and the bottom eigenvectors of the sum are the
    coordinates of all.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the neighbors of a sample in each part that it is in. Larger smooths over noise, smaller follows finer
        structure.
    n_components : int, default=2
        d, the number of coordinates.
    reg : float, default=1e-3
        Ridge of the small problems, relative to the trace of their Gram matrix.
    shared : float, default=0.6
        Share of the samples that are in both parts, more than 0; with 1.0 this is plain LLE. Smaller shares leave
        each part more sparsely sampled.
    random_state : int, RandomState or None, default=0
        Which samples are shared, and which part each of the others is in.
    n_jobs : int or None, default=None
        Threads: -1 or None for all cores, unless joblib names another number above one.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates; columns are orthonormal over the distinct samples.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the sum of both matrices, ascending.
    subset_labels_ : ndarray of shape (n_samples,)
        0 for a shared sample, 1 and 2 for one that is in the first and the second part only. Copies of a sample are
        one sample.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from hne_paper.baselines import CLLE
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> model = CLLE(n_neighbors=2, n_components=1).fit(line)
    >>> np.bincount(model.subset_labels_)  # 12 shared, the other 8 halved
    array([12,  4,  4])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        reg: float = 1e-3,
        shared: float = SHARE,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.shared = shared
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, one a row.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings = check_common(self.get_params(deep=False))
        shared = check_number("shared", self.shared)
        if not 0 < shared <= 1:
            refuse("shared", "must be more than 0 and at most 1", quoted(shared), f"Try shared={SHARE}")
        distinct, _, inside = check_unique(X, settings)
        halves, pairs = clle(inside, settings, shared)
        warn_of_clle(halves, pairs, settings)
        # Nothing is assigned before all is known: a fit that fails leaves the model as it was.
        validate_data(self, X, skip_check_array=True)
        self.embedding_ = pairs.vectors[distinct.inverse].astype(output_kind(X), copy=False)
        self.eigenvalues_ = pairs.values
        self.subset_labels_ = halves.labels[distinct.inverse]
        return self


@dataclass(frozen=True)
class Halves:
    """Two overlapping parts of the samples, and what is left of the samples when either rebuilds its own."""

    labels: IndexArray  # (n,), SHARED, FIRST or SECOND
    alignment: Alignment  # A of shared and first, B of shared and second: rows of samples that are not in it are empty
    pieces: Pieces  # of both neighbor graphs together


def clle(X: FloatArray, settings: Settings, shared: float = SHARE) -> tuple[Halves, EigenPairs]:
    """Go from distinct samples to their two parts and the bottom eigenpairs of both parts' matrices together."""
    n_threads = thread_count(settings.n_jobs)
    with limit_blas_threads(n_threads):
        halves = halve(X, settings, shared, n_threads)
        try:
            return halves, bottom_eigenpairs(halves.alignment, settings, n_threads, X)
        except EigenSolverError as error:
            msg = f"method='clle' must have bottom eigenvectors, got EigenSolverError: {error}"
            raise BaselineError(msg) from error


def warn_of_clle(halves: Halves, pairs: EigenPairs, settings: Settings) -> None:
    """Warn of what makes the coordinates less than they seem."""
    METHOD.warn_of_pieces(halves.pieces, settings)
    if halves.pieces.count == 1 and not pairs.certificate.is_resolved:
        emit_warnings([close_eigenvalues(pairs.values, pairs.next_value)])


def halve(X: FloatArray, settings: Settings, shared: float, n_threads: int = 1) -> Halves:
    """Divide the samples, a random share in both parts and the others halved, and let each part rebuild its own."""
    n, k = len(X), settings.n_neighbors
    n_shared = max(1, round(shared * n))
    order = check_random_state(settings.random_state).permutation(n)
    labels = np.full(n, SECOND, dtype=np.intp)
    labels[order[: n_shared + (n - n_shared) // 2]] = FIRST
    labels[order[:n_shared]] = SHARED
    weights, lists = [], np.full((n, 2 * k), -1, dtype=np.intp)
    for slot, left_out in enumerate((SECOND, FIRST)):
        members = np.flatnonzero(labels != left_out)
        if len(members) <= k:
            rule = f"needs at least {k + 1} different samples in each of both parts"
            got = f"{len(members)} of {n} with shared={shared:g}"
            refuse(f"n_neighbors={k}", rule, got, "Lower n_neighbors, or raise shared")
        graph, W = lle_weights(X[members], settings, n_threads)
        lists[members, slot * k : (slot + 1) * k] = members[graph.indices]
        into = csr_array((np.ones(len(members)), members, np.arange(len(members) + 1)), shape=(len(members), n))
        weights.append((into.T @ W @ into).tocsr())
    both = NeighborGraph(lists, np.where(lists >= 0, 1.0, np.inf), "given")
    aligned = alignment(Weights(W=weights[0], J=weights[1]), gamma=1.0)
    return Halves(labels, aligned, connected_pieces(both))


def lle_weights(X: FloatArray, settings: Settings, n_threads: int = 1) -> tuple[NeighborGraph, SparseMatrix]:
    """Find the neighbors among these samples and LLE's weights, a row for each sample."""
    graph = knn_graph(X, settings.n_neighbors, n_threads, "exact")
    # Both layers come together; of the outer ones, which nobody uses here, these are the quickest.
    return graph, layer_weights(X, graph, replace(settings, variant="ihne"), n_threads).W
