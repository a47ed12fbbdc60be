"""LLC: the models of a mixture, each turned and shifted as a whole, laid out so that LLE's weights still rebuild.

Y. W. Teh and S. Roweis, Automatic alignment of local representations, NIPS 2002. A mixture gives sample i its
responsibilities r_ic and coordinates z_ic in each model c; row i of U is all r_ic * [z_ic, 1]. With M = (I-W)'(I-W) of
LLE, Y = U v with the bottom solutions of (U'MU) v = lambda (U'U) v after the constant one.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hne._runtime.threads import limit_blas_threads, thread_count
from hne.baselines.methods import Baseline, check_common, check_unique
from hne.core.parameters import check_integer, check_number
from hne.core.pieces.split import connected_pieces
from hne.core.records import FloatArray, Pieces, SparseMatrix, fix_signs
from hne.core.samples.canonical import check_within_reach
from hne.core.samples.check import check_new_samples, is_table, output_kind
from hne.estimators.projection import Span, span_of
from hne.exceptions import caller_stacklevel, quoted, refuse
from hne.settings import Settings
from hne_paper.baselines.clle import EmbeddingMixin, lle_weights
from hne_paper.baselines.mixture import FittedMixture, Memberships, fit_mixture, memberships

METHOD = Baseline("llc", "LLC", uses_reg=True)
# Models by default: MODELS_A_ROOT * sqrt(n). Even Swiss rolls, largest affine error in the median for 1, 1.5, 2 and 3
# of them: 0.22, 0.06, 0.05, 0.12 with n = 300, k = 5 (16 seeds, of which 10, 5, 5, 8 end above 0.1); 0.001 for all of
# them with n = 1000, k = 8 (8 seeds). More starts of k-means, or of EM by the likelihood, do not help.
MODELS_A_ROOT = 2.0
# But not so many that a model has fewer samples than this many times those that span it.
SAMPLES_A_DIMENSION = 2
MAX_ITER = 200
# Ten times less makes the same rolls neither better nor worse, and takes 1.2 to 1.8 times as many rounds.
TOL = 1e-3
# Directions of U shorter than this share of the longest are no directions: responsibilities are right to some 1e-10.
SHORTEST = 1e-8


@dataclass(frozen=True)
class Layout:
    """A mixture and the map from its memberships to coordinates, y = (u - center) coefficients."""

    span: Span
    fitted: FittedMixture
    center: FloatArray  # (m (d + 1),), the mean of U
    coefficients: FloatArray  # (m (d + 1), d)
    values: FloatArray  # (d,), |(I - W) y|^2, ascending
    Y: FloatArray  # (n, d), orthonormal columns
    pieces: Pieces  # of the neighbor graph

    def coordinates(self, X: FloatArray) -> FloatArray:
        """Coordinates of any samples, in the units of the fitted ones."""
        moved = X - self.span.mean
        inside = moved @ self.span.directions.T
        outside = ((moved - inside @ self.span.directions) ** 2).sum(axis=1)
        U = local_coordinates(memberships(self.fitted.mixture, inside, outside))
        Y: FloatArray = (U - self.center) @ self.coefficients
        return Y


class LLC(EmbeddingMixin):
    """Locally linear coordination: local models of a mixture, laid out together.

    A mixture of probabilistic principal component analyzers is fitted by EM. Each of its models has coordinates of its
    own; the embedding is linear in these within a model, and blends where samples belong to several. Which turns and
    shifts the models take is decided by the weights of locally linear embedding.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the neighbors of a sample that decide about the layout of the models.
    n_components : int, default=2
        d, the number of coordinates, and of axes of each model.
    n_models : int or None, default=None
        Models in the mixture. More follow sharper bends, but have fewer samples each. None takes 2 sqrt(n_samples), but
        at most one for 2 (d + 1) samples. Models that are left with less than d + 1 samples are dropped: see
        `n_models_`. One model gives a linear map.
    reg : float, default=1e-3
        Ridge of the small problems of LLE, relative to the trace of their Gram matrix.
    max_iter : int, default=200
        Rounds of EM at most; if they do not suffice, a `ConvergenceWarning` says so.
    tol : float, default=1e-3
        EM ends when a round raises the mean log-density of the samples by less.
    random_state : int, RandomState or None, default=0
        The clusters of k-means that EM starts from.
    n_jobs : int or None, default=None
        Threads: -1 or None for all cores, unless joblib names another number above one.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates; columns are orthonormal over the distinct samples.
    eigenvalues_ : ndarray of shape (n_components,)
        How badly LLE's weights rebuild each coordinate, |(I - W) y|^2, ascending.
    n_models_ : int
        Models in the mixture, without those that were dropped.
    n_iter_ : int
        Rounds of EM.
    log_likelihoods_ : ndarray of shape (n_rounds,)
        Mean log-density of the samples in each round since the last model was dropped; it never falls.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from hne_paper.baselines import LLC
    >>> line = np.outer([0.0, 1.0, 4.0, 8.0, 12.0], [3.0, 4.0])
    >>> model = LLC(n_neighbors=2, n_components=1, n_models=1).fit(line)
    >>> model.transform([[0.0, 0.0], [15.0, 20.0], [30.0, 40.0]])[:, 0].round(9) + 0.0
    array([-0.5,  0. ,  0.5])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        n_models: int | None = None,
        reg: float = 1e-3,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.n_models = n_models
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Fit the mixture and embed the samples of X.

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
        max_iter = check_integer("max_iter", self.max_iter, 1, f"Try max_iter={MAX_ITER}")
        tol = check_number("tol", self.tol)
        if not 0 <= tol < math.inf:
            refuse("tol", "must be a number of at least 0", quoted(tol), f"Try tol={TOL}")
        n_models = None if self.n_models is None else check_integer("n_models", self.n_models, 1, "Try n_models=None")
        distinct, units, inside = check_unique(X, settings)
        layout = llc(inside, settings, n_models, max_iter, tol)
        warn_of_llc(layout, settings)
        # Nothing is assigned before all is known: a fit that fails leaves the model as it was.
        validate_data(self, X, skip_check_array=True)
        self._layout, self._units = layout, units
        self.embedding_ = layout.Y[distinct.inverse].astype(output_kind(X), copy=False)
        self.eigenvalues_ = layout.values
        self.n_models_ = layout.fitted.mixture.n_models
        self.n_iter_ = layout.fitted.n_rounds
        self.log_likelihoods_ = layout.fitted.log_likelihoods
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Coordinates of samples by the models that they belong to.

        A sample beside the data is projected onto the models; one beyond it goes on as the nearest model does.

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
        if is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        matrix = check_new_samples(X, self._layout.span.directions)
        if not is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        inside = check_within_reach(matrix, self._units)
        return self._layout.coordinates(inside).astype(output_kind(X), copy=False)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that single precision stays single."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def llc(
    X: FloatArray, settings: Settings, n_models: int | None = None, max_iter: int = MAX_ITER, tol: float = TOL
) -> Layout:
    """Go from distinct samples to the mixture and the layout of its models."""
    n, d = len(X), settings.n_components
    n_models = default_models(n, d) if n_models is None else n_models
    if n_models > n:
        refuse(f"n_models={n_models}", "needs at least as many different samples", str(n), "Lower n_models")
    # Matrices are too small for BLAS to share out: on a busy machine its threads take ten times as long as one.
    with limit_blas_threads(1):
        span = span_of(X)
        rank = len(span.lengths)
        if rank < d:
            rule = f"needs samples that span at least {d} dimensions"
            refuse(f"n_components={d}", rule, str(rank), "Lower n_components")
        fitted = fit_mixture(span.left * span.lengths, n_models, d, X.shape[1], settings.random_state, max_iter, tol)
        graph, W = lle_weights(X, settings, thread_count(settings.n_jobs))
        U = local_coordinates(fitted.memberships)
        center = U.mean(axis=0)
        values, coefficients = bottom_solutions(U - center, W, d)
        Y = (U - center) @ coefficients
    return Layout(span, fitted, center, coefficients, values, Y, connected_pieces(graph))


def local_coordinates(members: Memberships) -> FloatArray:
    """U (n, m (d + 1)): row i has r_ic * [z_ic, 1] for every model c.

    The scale of a column does not matter: z in units of standard deviations will do for the posterior means, which
    differ from it by a factor a column.
    """
    ones = np.ones((*members.latent.shape[:2], 1))
    blocks = members.responsibilities[:, :, None] * np.concatenate([members.latent, ones], axis=2)
    U: FloatArray = blocks.reshape(len(blocks), -1)
    return U


def bottom_solutions(centered: FloatArray, W: SparseMatrix, count: int) -> tuple[FloatArray, FloatArray]:
    """Bottom solutions of (U'MU) v = lambda (U'U) v, the constant one left out: lambda ascending, and v, a column each.

    The responsibilities of a row sum to one, so that the constant is among the combinations of U's columns; all others
    that are orthogonal to it are those of U less its mean. U'U may be singular: in an orthonormal basis Q of the
    columns, directions that are rounding left out, the problem is an ordinary one, and the singular vectors of
    (I - W) Q solve it without the products that would lose digits.
    """
    Q, lengths, turned = np.linalg.svd(centered, full_matrices=False)
    kept = lengths > SHORTEST * lengths[0]
    Q, lengths, turned = Q[:, kept], lengths[kept], turned[kept]
    _, roots, bottom = np.linalg.svd(Q - W @ Q, full_matrices=False)
    rotation = bottom[::-1][:count].T
    rotation = rotation * np.sign((fix_signs(Q @ rotation) * (Q @ rotation)).sum(axis=0))
    return roots[::-1][:count] ** 2, turned.T @ (rotation / lengths[:, None])


def warn_of_llc(layout: Layout, settings: Settings) -> None:
    """Warn of what makes the coordinates less than they seem."""
    METHOD.warn_of_pieces(layout.pieces, settings)
    if not layout.fitted.has_converged:
        msg = (
            f"EM of method='llc' should come to rest, got no end in max_iter={layout.fitted.n_rounds} rounds. "
            "Raise max_iter, raise tol, or lower n_models."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=caller_stacklevel())


def default_models(n: int, d: int) -> int:
    """Number of models for n samples in d dimensions."""
    return max(1, min(round(MODELS_A_ROOT * math.sqrt(n)), n // (SAMPLES_A_DIMENSION * (d + 1))))
