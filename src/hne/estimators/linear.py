"""LinearHNE: the scikit-learn face of the linear map, parameters in, fitted attributes out, no algebra."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hne._runtime.progress import run_stage, show_progress
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.eigen.alignment import alignment
from hne.core.neighbors.graph import neighbor_graph
from hne.core.parameters import check_choice, check_settings
from hne.core.records import FloatArray, IndexArray, ShortCircuits, UniqueSamples, Weights
from hne.core.samples.canonical import canonicalize
from hne.core.samples.check import check_new_samples, check_points, check_samples, is_table, output_kind
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import cut_short_circuits
from hne.core.trust.verdict import close_eigenvalues, emit_warnings, recall_warnings
from hne.core.weights.layers import layer_weights
from hne.estimators.mixins import CallbackSupportMixin, SavedMixin, called_back, with_callbacks
from hne.estimators.projection import CONSTRAINTS, Projection, in_units_of_data, preimage, project, projection
from hne.exceptions import InputError, InputTypeError
from hne.settings import DEFAULTS, PRECOMPUTED, Settings, known_settings

if TYPE_CHECKING:
    from hne.estimators.model_file import ModelFile

__all__ = ["LinearHNE"]

STAGES = ("neighbors", "short circuits", "weights", "projection")
# What a fitted model consists of: attributes without their underscore, and their kinds.
FITTED: dict[str, Any] = {
    **dict.fromkeys(("components", "loadings", "mean", "eigenvalues"), FloatArray),
    "embedding": FloatArray | NDArray[np.float32],
    "rank": int,
    **dict.fromkeys(("inner_weights", "joint_weights"), csr_array),
    "short_circuits": IndexArray,
    "neighbor_method": str,
    "neighbor_recall": float,
}


@dataclass(repr=False, eq=False)
class LinearHNE(SavedMixin, CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Project onto the directions that keep two layers of neighborhoods best: linear HNE.

    The objective of `hne.HierarchicNeighborsEmbedding` [1]_ over linear maps of X, as neighborhood preserving embedding
    (NPE) [2]_ is LLE over linear maps. It cannot unroll what is rolled up. In return the map is explicit, and a new
    sample costs one matrix product.

    To see what a coordinate means, look at `loadings_`: entries of `components_` are large where a feature hardly
    varies. Where features are many, drop those that are nearly constant, or put a PCA in front.

    Parameters
    ----------
    n_neighbors : int, default=6
        Number k of neighbors of a sample in each layer. Larger smooths over noise, smaller follows finer structure. A
        neighbor graph in several pieces does no harm: one map serves them all.
    n_components : int, default=2
        Number d of coordinates, at most the number of dimensions that the samples span. More keep more of X.
    constraint : {"uncorrelated", "orthonormal"}, default="uncorrelated"
        What keeps the map from shrinking to nothing.

        - "uncorrelated": coordinates of the fitted samples are orthonormal, as in NPE. Directions count by how well
          they are rebuilt relative to their spread. With at least as many features as samples every embedding is
          linear, and this one is that of `HNE(coordinates="eigenvectors")`.
        - "orthonormal": rows of `components_` are orthonormal, as in [3]_. Distances are never stretched, but
          directions in which the samples hardly differ come first: put a PCA in front.
    variant, reg, outer_reg, gamma, n_rounds, include_self : str, float, float or None, float, int, bool
        How both layers are weighed, as in `hne.HierarchicNeighborsEmbedding`, by default as published.
    metric, metric_params, neighbors, short_circuits : str or callable, dict or None, str or graph, {"cut", "keep"}
        How neighbors are searched and which edges are cut, as there.
    n_jobs, random_state, verbose : int or None, int, RandomState or None, int
        As there; nothing but the index of approximate neighbors is random.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, one coordinate a row: the transpose of P.
    loadings_ : ndarray of shape (n_components, n_features)
        The way back: how X changes with each coordinate, by least squares over the fitted samples.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted samples, which the map takes to zero.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the fitted samples, what `transform` makes of them; signs as in
        `hne.HierarchicNeighborsEmbedding`.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of each coordinate in the objective, :math:`\gamma |A y|^2 + |B y|^2`, ascending. With orthonormal
        components it is in squared units of X, and 0 or inf where float64 cannot hold squares.
    rank_ : int
        Number of dimensions that the samples span, as far as float64 can tell; others do not enter the map.
    inner_weights_, joint_weights_ : CSR arrays of shape (n_samples, n_samples)
        W and J, the weights with which the neighbors, and the neighbors' neighbors, rebuild each sample.
    short_circuits_, neighbor_method_, neighbor_recall_ : ndarray of shape (n_edges, 2), str, float
        Edges across a gap, and how neighbors were searched, as in `hne.HierarchicNeighborsEmbedding`.
    preparation_, n_features_in_, feature_names_in_ : ColumnPreprocessor or None, int, ndarray of str
        What is known of the features, as there.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : The embedding that is not linear, which defines W, J and G.
    sklearn.decomposition.PCA : The projection that keeps most variance.

    Notes
    -----
    With centered samples :math:`X_c`, coordinates :math:`Y = X_c P` and G as in `hne.HierarchicNeighborsEmbedding`, P
    minimizes :math:`\operatorname{tr}(P^\top X_c^\top G X_c P)`. Its columns are the bottom eigenvectors of

    .. math::

        X_c^\top G X_c \, p &= \lambda \, X_c^\top X_c \, p \quad \text{with } Y^\top Y = I \text{ (uncorrelated)}, \\
        X_c^\top G X_c \, p &= \lambda \, p \quad \text{with } P^\top P = I \text{ (orthonormal)}.

    They are computed from a singular value decomposition of :math:`X_c`; none of these products is formed.

    References
    ----------
    .. [1] Liu, S., Yu, Y., Liu, Y., Qiao, H., Feng, L. and Feng, J. (2019). Hierarchic Neighbors Embedding.
       arXiv:1909.07142.
    .. [2] He, X., Cai, D., Yan, S. and Zhang, H.-J. (2005). Neighborhood preserving embedding. ICCV, 1208-1213.
    .. [3] Kokiopoulou, E. and Saad, Y. (2007). Orthogonal neighborhood preserving projections: a projection-based
       dimensionality reduction technique. IEEE Transactions on Pattern Analysis and Machine Intelligence 29, 2143-2156.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import LinearHNE
    >>> line = np.outer([0.0, 1.0, 4.0, 8.0, 12.0], [3.0, 4.0])
    >>> model = LinearHNE(n_neighbors=2, n_components=1).fit(line)
    >>> model.mean_, model.components_, model.embedding_[:, 0]
    (array([15., 20.]), array([[0.012, 0.016]]), array([-0.5, -0.4, -0.1,  0.3,  0.7]))
    """

    n_neighbors: int = Settings.n_neighbors
    _: KW_ONLY
    n_components: int = Settings.n_components
    constraint: str = "uncorrelated"
    variant: str = Settings.variant
    reg: float = Settings.reg
    outer_reg: float | None = Settings.outer_reg
    gamma: float = Settings.gamma
    n_rounds: int = Settings.n_rounds
    include_self: bool = Settings.include_self
    metric: Any = Settings.metric
    metric_params: dict[str, Any] | None = Settings.metric_params
    neighbors: Any = Settings.neighbors
    short_circuits: str = DEFAULTS["short_circuits"]
    n_jobs: int | None = Settings.n_jobs
    random_state: Any = Settings.random_state
    verbose: int = Settings.verbose

    @with_callbacks
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the projection of the samples of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, one a row. Those features of a sparse matrix that have values are centered, which makes them
            dense; what does not fit into free memory raises `hne.exceptions.TooLargeError`.
        y : object, default=None
            Ignored; scikit-learn's pipelines pass it.

        Returns
        -------
        LinearHNE
            The fitted estimator itself.
        """
        settings = self._checked_parameters(self.get_params(deep=False))
        if settings.metric == PRECOMPUTED:
            msg = f"metric must have coordinates that a map could take, got '{PRECOMPUTED}'. Use HNE, or pass X."
            raise InputError(msg, parameter="metric", value=PRECOMPUTED)
        samples = check_samples(X, settings)
        with called_back(self, X, y, len(STAGES)):
            distinct, circuits, weights, linear_map = _fit_map(samples, settings, self.constraint)
            embedding = project(samples, linear_map.mean, linear_map.components)
            # Nothing is assigned before all is known: a fit that fails leaves the model as it was.
            validate_data(self, X, skip_check_array=True)
            self.components_, self.loadings_, self.mean_ = linear_map.components, linear_map.loadings, linear_map.mean
            self.embedding_ = embedding.astype(output_kind(X), copy=False)
            self.eigenvalues_, self.rank_ = linear_map.values, linear_map.rank
            self.inner_weights_ = distinct.spread(weights.W)
            self.joint_weights_ = distinct.spread(weights.J)
            self.short_circuits_ = distinct.pairs(circuits.pairs)
            self.neighbor_method_ = circuits.graph.method
            self.neighbor_recall_ = circuits.graph.recall
            self.preparation_ = None
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Project samples: `(X - mean_) @ components_.T`, each row on its own.

        Computed in float64; single precision comes back in single precision.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples in the units of the fitted ones.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            Their coordinates.
        """
        check_is_fitted(self)
        if is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        # Sparse ones stay so: the map takes either kind.
        matrix = check_new_samples(X, X if issparse(X) else self.mean_)
        if not is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        return project(matrix, self.mean_, self.components_).astype(output_kind(X), copy=False)

    def inverse_transform(self, Y: ArrayLike) -> NDArray[Any]:
        """Go back from coordinates to samples: of all that have them, those the fitted ones make likeliest.

        Parameters
        ----------
        Y : array-like of shape (n_new, n_components)
            Coordinates.

        Returns
        -------
        ndarray of shape (n_new, n_features)
            `Y @ loadings_ + mean_`. What `transform` dropped stays lost; with as many components as `rank_` it
            dropped nothing.
        """
        check_is_fitted(self)
        points = check_points(Y, len(self.components_))
        return preimage(points, self.mean_, self.loadings_).astype(self.embedding_.dtype, copy=False)

    @staticmethod
    def _checked_parameters(parameters: dict[str, Any]) -> Settings:
        """Those parameters as Settings that HNE has too; `constraint` is checked beside them."""
        check_choice("constraint", parameters["constraint"], CONSTRAINTS)
        # What suits the samples is known for charts alone.
        for name in ("n_neighbors", "reg"):
            if parameters[name] is None:
                remedy = known_settings()[name].remedy
                raise InputTypeError(parameter=name, rule="must be a number", value=None, remedy=remedy)
        return check_settings({name: value for name, value in parameters.items() if name != "constraint"})

    def _saved_fit(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {name: getattr(self, f"{name}_") for name in FITTED}, {}

    def _restore(self, file: ModelFile, fit: dict[str, Any], settings: Settings) -> None:  # noqa: ARG002, nobody asks
        from hne.estimators.model_file import FINITE, check_weights  # noqa: PLC0415, nobody who only fits needs it

        file.check_kinds("its fit", fit, FITTED)
        (n, d), D = fit["embedding"].shape, self.n_features_in_
        for name, shape in {"components": (d, D), "loadings": (d, D), "mean": (D,), "embedding": (n, d)}.items():
            file.check_numbers(name, fit[name], shape, -FINITE, FINITE)
        file.check_numbers("eigenvalues", fit["eigenvalues"], (d,), 0, np.inf)
        file.check_numbers("rank", fit["rank"], (), d, D)
        file.check_numbers("short_circuits", fit["short_circuits"], (None, 2), 0, n - 1)
        file.check_numbers("neighbor_recall", fit["neighbor_recall"], (), 0, 1, nan=True)
        check_weights(file, {name: fit[name] for name in ("inner_weights", "joint_weights")}, n)
        for name, value in fit.items():
            setattr(self, f"{name}_", value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of coordinates, which names the output columns."""
        return len(self.components_)


def _fit_map(
    X: Samples, settings: Settings, constraint: str
) -> tuple[UniqueSamples, ShortCircuits, Weights, Projection]:
    """Checked samples, without copies -> neighbors -> weights -> the map; and what was on the way."""
    distinct, units, X, settings = canonicalize(X, settings)
    n_threads = thread_count(settings.n_jobs)
    with limit_blas_threads(n_threads), show_progress(settings.verbose):
        graph = run_stage("neighbors", neighbor_graph, X, settings, distinct, n_threads)
        circuits = run_stage("short circuits", cut_short_circuits, X, graph, settings)
        weights = run_stage("weights", layer_weights, X, circuits.graph, settings, n_threads)
        aligned = alignment(weights, settings.gamma)
        linear_map = run_stage("projection", projection, aligned, X, settings.n_components, constraint)
    emit_warnings(recall_warnings(graph))
    if not linear_map.is_resolved:
        emit_warnings([close_eigenvalues(linear_map.values, linear_map.next_value)])
    return distinct, circuits, weights, in_units_of_data(linear_map, units)
