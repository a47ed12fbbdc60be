"""The scikit-learn face of the walk: parameters in, fitted attributes out, no algebra."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hne._callbacks import CallbackSupportMixin, called_back, with_callbacks
from hne._embed import STAGES, walk
from hne._extension import place
from hne._progress import shown, stage
from hne._reconstruction import rebuild
from hne._types import Embedding, FloatArray
from hne._units import check_within_reach, units_of
from hne._validation import check_new_samples, check_samples, check_settings

__all__ = ["HNE", "HierarchicNeighborsEmbedding"]


class HierarchicNeighborsEmbedding(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Hierarchic Neighbors Embedding: unroll a manifold from two layers of neighbors.

    Locally linear embedding rebuilds each sample from its k neighbors. HNE rebuilds it from its neighbors'
    neighbors as well, and reads coordinates that keep both off the bottom eigenvectors of one sparse matrix.
    It holds where samples are few or areas hang together by threads.

    Parameters
    ----------
    n_neighbors : int, default=6
        k, the neighbors of a sample in each layer. Larger smooths over noise and gaps, until neighborhoods
        reach across folds; smaller follows finer structure, until the graph falls into pieces. 5 to 12 are
        usual, with `reg` to go with it; 6 suits surfaces. Time grows with k^4.
    n_components : int, default=2
        d, the number of coordinates, at most the number of features.
    variant : {"bhne", "ihne", "rhne"}, default="bhne"
        How the outer layer is weighed. "ihne": each neighbor's neighborhood rebuilds the sample on its own
        (affine invariance first). "rhne": all of them at once (reconstruction first). "bhne": in turn, each
        rebuilding what the others leave (balanced; the least sensitive to `reg`).
    reg : float, default=1e-4
        Ridge of the small problems, relative to the trace of their Gram matrix. Too large bends straight
        lines, up to a coordinate that is a parabola of another; too small chases noise, and does less harm.
        About 1e-4 (k/6)^3.3 for k from 5 to 12; clean, dense surfaces also take 1e-5.
    outer_reg : float or None, default=None
        Ridge of the outer problems; None takes `reg`.
    gamma : float, default=1.0
        Weight of the inner layer in the objective. Between 0.5 and 10 it hardly matters.
    n_rounds : int, default=1
        Rounds of "bhne" after its first; other variants do not use it. 0 is worse, more than 1 costs time
        and changes little.
    include_self : bool, default=True
        Whether a sample stays in its own outer layer, as a neighbor of its neighbors. True as in the paper,
        whose reconstruction errors are small in part because of it.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbors are searched. "exact" takes a tree up to 12 features, and else time of n^2 D.
        "approximate" (the extra `approx`) takes a quarter of that or less at n = 100 000, D = 100, and aims at missing
        one neighbor in a hundred: see `neighbor_recall_`. "auto" is exact up to n^2 D = 5e11, which is 70 000
        samples of 100 features and under a minute on 2 cores; beyond, it is approximate where the extra is installed.
        Below 5 000 samples, or with k beyond n / 32, "approximate" is exact, which is faster there.
    eigen_solver : {"auto", "dense", "direct", "iterative"}, default="auto"
        "dense" is LAPACK on the full matrix; "direct" a shift-invert iteration on a sparse factorization, for
        samples on curves and surfaces; "iterative" does without a factorization, for samples that fill so many
        dimensions that factors get too large (on surfaces it is far slower). "auto" takes "dense" up to 500
        samples, beyond that what is fastest by the predicted size of the factors and fits into free memory; if
        that fails, the next.
    tol : float, default=1e-7
        Angle in radians by which the embedding plane may still move when an iteration stops.
    n_jobs : int or None, default=-1
        Threads of every stage: -1 for all cores, None for one unless joblib says otherwise. The bits of
        the result do not depend on it up to the eigensolver, whose BLAS may round differently.
    random_state : int, RandomState or None, default=0
        Start vectors of the iterations, on which the answer does not depend beyond rounding, and the index
        of approximate neighbors. A fixed default makes every run give the same bits.
    verbose : int, default=0
        What standard error sees of `fit` and `transform`: 1 shows a line for each stage with counts and its time,
        and a counter while it runs; 2 adds a line for each task of a stage; 0 shows nothing.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates Y: orthonormal, centered columns of fixed sign.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the columns, gamma |A y|^2 + |B y|^2, ascending.
    eigen_residuals_ : ndarray of shape (n_components,)
        Lengths of G y - lambda y.
    eigen_certificate_ : Certificate
        The proof that columns of `embedding_` are eigenvectors, measured on themselves: `residuals`, the `gap` to
        the next eigenvalue, `relative_residuals`, `orthogonality`, `ritz_error`, `rounding`, and whether the
        eigenvalues can be told apart (`is_resolved`).
    eigen_solver_ : str
        The solver that ran.
    inner_weights_, joint_weights_ : CSR arrays of shape (n_samples, n_samples)
        W and J: with which weights the neighbors, and the neighbors' neighbors, rebuild each sample.
    reconstruction_errors_ : ndarray of shape (n_samples,)
        Length of each sample minus its rebuilt self, through the joint weights.
    reconstruction_error_ : float
        Their mean, the error of the paper's tables.
    neighbor_method_ : str
        The search that ran: "tree" and "brute" are exact, "approximate" is not.
    neighbor_recall_ : float
        Share of neighbors that are true ones: 1.0 where the search was exact, else measured on a sample of
        rows. Less than 0.9 raises a `NeighborRecallWarning`.
    n_pieces_ : int
        Connected pieces of the neighbor graph. More than one raises a `DisconnectedGraphWarning`.
    piece_labels_ : ndarray of shape (n_samples,)
        The piece of each sample, 0 the largest.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> t = np.linspace(0, np.pi, 40)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> y = HNE(n_neighbors=2, n_components=1).fit_transform(arc)[:, 0]
    >>> bool((np.diff(y) > 0).all() or (np.diff(y) < 0).all())  # the arc is laid out in order
    True
    """

    def __init__(
        self,
        n_neighbors: int = 6,
        *,
        n_components: int = 2,
        variant: str = "bhne",
        reg: float = 1e-4,
        outer_reg: float | None = None,
        gamma: float = 1.0,
        n_rounds: int = 1,
        include_self: bool = True,
        neighbors: str = "auto",
        eigen_solver: str = "auto",
        tol: float = 1e-7,
        n_jobs: int | None = -1,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.variant = variant
        self.reg = reg
        self.outer_reg = outer_reg
        self.gamma = gamma
        self.n_rounds = n_rounds
        self.include_self = include_self
        self.neighbors = neighbors
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, one a row. A float64 array is kept, not copied: do not change it while the model is
            in use.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings = check_settings(self.get_params(deep=False))
        samples = check_samples(X, settings)
        with called_back(self, X, y, len(STAGES)):
            result = walk(samples, settings)
            # Nothing is assigned before all is known: a fit that fails leaves the model as it was.
            validate_data(self, X, skip_check_array=True)
            self._samples = samples
            self._set_fitted(result)
        return self

    def _set_fitted(self, result: Embedding) -> None:
        self._fitted = result
        self.embedding_ = result.Y
        self.eigenvalues_ = result.eigenpairs.values
        self.eigen_residuals_ = result.eigenpairs.residuals
        self.eigen_certificate_ = result.eigenpairs.certificate
        self.eigen_solver_ = result.eigenpairs.solver
        self.inner_weights_ = result.weights.W
        self.joint_weights_ = result.weights.J
        self.reconstruction_errors_ = result.reconstruction_errors
        self.reconstruction_error_ = float(result.reconstruction_errors.mean())
        self.neighbor_method_ = result.graph.method
        self.neighbor_recall_ = result.graph.recall
        self.n_pieces_ = result.pieces.count
        self.piece_labels_ = result.pieces.labels

    def fit_transform(self, X: ArrayLike, y: object = None) -> FloatArray:  # noqa: ARG002
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
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Place samples among the fitted ones.

        A fitted sample gets exactly its own coordinates. A new one is rebuilt from its `n_neighbors` nearest
        fitted samples (weights w) and, as in the fit, from those samples' neighbors (joint weights j). Its
        coordinates are (gamma w Y + j Y) / (gamma + 1), which minimize its share of the objective while the
        fitted samples stay where they are. Each row is placed on its own, whatever else X holds. The one
        difference from the fit: nobody has a new sample as a neighbor, so it is not in its own outer layer.
        Of fitted samples that are exact copies of each other, the first one's coordinates are returned. A sample
        far from all fitted ones is placed somewhere among its nearest, without a warning.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Samples in the units of the fitted ones.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            Their coordinates.
        """
        check_is_fitted(self)
        units = units_of(self._samples)
        matrix = check_new_samples(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        new = check_within_reach(matrix, units)
        with shown(self._fitted.settings.verbose):
            return stage("placing", place, new, units.of(self._samples), self._fitted)

    def reconstruct(self) -> FloatArray:
        """Rebuild the fitted samples from their neighbors' neighbors.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The samples through `joint_weights_`; `reconstruction_errors_` says how far off each is.
        """
        check_is_fitted(self)
        units = units_of(self._samples)
        return units.undo(rebuild(units.of(self._samples), self.joint_weights_))

    @property
    def _n_features_out(self) -> int:
        """Number of coordinates, which names the output columns."""
        return int(self.embedding_.shape[1])


HNE = HierarchicNeighborsEmbedding
