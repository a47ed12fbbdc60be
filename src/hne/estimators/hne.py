"""scikit-learn's face of the pipeline: parameters in, fitted attributes out, no algebra."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hne._runtime.progress import Stopwatch, listening, run_stage, show_progress
from hne.core.eigen.certificate import Certificate, EigenPairs
from hne.core.eigenpairs import solve_eigenpairs
from hne.core.parameters import check_parameters
from hne.core.pieces.bridges import find_bridges
from hne.core.pipeline import compute_embedding, is_elsewhere, n_stages
from hne.core.records import Embedding, FloatArray, IndexArray, SparseMatrix
from hne.core.samples.canonical import check_within_reach
from hne.core.samples.check import check_new_samples, check_points, is_table, output_kind
from hne.core.samples.kinds import Distances
from hne.core.trust.assess import assess
from hne.core.trust.verdict import Assessment
from hne.core.weights.layers import reconstruct
from hne.estimators.mixins import CallbackSupportMixin, ReportedMixin, SavedMixin, called_back, with_callbacks
from hne.estimators.out_of_sample import extend, preimage
from hne.exceptions import InputError
from hne.settings import PRECOMPUTED, Parameters, Settings, parameters_section

if TYPE_CHECKING:
    from hne.estimators.model_file import ModelFile

__all__ = ["HNE", "HierarchicNeighborsEmbedding"]


class HierarchicNeighborsEmbedding(  # numpydoc ignore=PR03, parameters are documented in the order of need
    SavedMixin,
    ReportedMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    Parameters,
):
    r"""Embed samples by two layers of neighbors: Hierarchic Neighbors Embedding (HNE).

    Locally linear embedding (LLE) reconstructs each sample from its k neighbors. HNE also reconstructs it from its
    neighbors' neighbors. What the coordinates preserve of these weights depends on the data:

    - Near a surface they are a chart, which preserves distances. Edges of the neighbor graph that jump across a gap
      (short circuits) are cut, and the bottom eigenvectors of one sparse matrix are combined so that distances between
      near samples are those of the data.
    - Elsewhere, as for tables, images, spectra, cells and texts, they are a layout, which preserves neighborhoods and
      groups. The weights are affinities, and t-SNE's loss is minimized from a PCA start, so that the layout changes
      little when samples are left out. Distances between groups, densities and sizes of groups are not meaningful.

    Every fit ends with a verdict on how far to trust it. `HNE(**hne.PUBLISHED)` is the method as it was published.

    `HNE` is a short name for this class. Parameters are listed by how often they are needed; `HNE()` needs none.

    {parameters}

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates Y: columns centered over the distinct samples and of fixed sign; orthonormal where they are
        eigenvectors. float32 where X is, computed in float64. Copies of a sample share one place and count once.
    verdict_ : str
        Whether to trust the embedding, in a sentence.
    trust_ : Assessment
        What the verdict rests on: `level`, `findings`, `score`, `dimension` and more.
    n_neighbors_, n_components_, variant_, reg_ : int, int, str, float
        The settings of the fit, given or chosen.
    tuning_ : Tuning or None
        The search that chose them; None where nothing was "auto", and for a loaded model.
    coordinates_ : {"chart", "layout", "eigenvectors"}
        What `embedding_` holds, given or chosen.
    chart_ : Chart or None
        How the chart of the largest connected component was found and how well it preserves distances, see
        `hne.core.records.Chart`. None for other coordinates, and for a handful of samples.
    kl_divergence_ : float
        Kullback-Leibler divergence of a layout after the descent, t-SNE's loss; NaN for other coordinates.
    short_circuits_ : ndarray of shape (n_edges, 2)
        Pairs of samples whose edge jumps across a gap, the worst first: cut, or kept as `short_circuits` says. Those of
        `cut_edges` and `keep_edges` are not among them.
    n_pieces_ : int
        Number of pieces (connected components) of the neighbor graph.
    piece_labels_ : ndarray of shape (n_samples,)
        The piece of each sample, 0 the largest.
    bridges_ : ndarray of shape (n_links, 2)
        Pairs of samples without whose edges a piece would fall apart.
    is_embedded_ : ndarray of shape (n_samples,)
        Whether each sample has coordinates: all True, except with `pieces="largest"`.
    n_distinct_ : int
        Number of samples that differ.
    same_as_ : ndarray of shape (n_samples,)
        The first sample that each one equals: itself, except for copies.
    eigenvalues_ : ndarray of shape (n_components,)
        The first eigenvalues, :math:`\gamma |A y|^2 + |B y|^2`, ascending. With several pieces, this and what follows
        about eigenvectors is about the largest; empty where that is too small to have any. A layout needs no
        eigenvectors: they are computed when one of these attributes is first read.
    eigen_residuals_ : ndarray of shape (n_components,)
        Lengths of G y - lambda y.
    eigen_certificate_ : Certificate or None
        The proof that the embedding is made of eigenvectors, see `hne.core.eigen.certificate.Certificate`.
    eigen_solver_ : str
        The solver that ran; "landmarks" with `n_landmarks`.
    inner_weights_, joint_weights_ : CSR arrays of shape (n_samples, n_samples)
        W and J, the weights with which the neighbors, and the neighbors' neighbors, rebuild each sample.
    reconstruction_errors_ : ndarray of shape (n_samples,)
        Distance of each sample to its rebuilt self, through the joint weights; NaN for one without neighbors.
    reconstruction_error_ : float
        Their mean, the error of the paper's tables. No guide to `reg`, with which it falls long after
        the embedding has gone wrong.
    reconstruction_includes_self_ : bool
        Whether samples took part in rebuilding themselves, which makes these errors small: `include_self` of the fit.
    neighbor_method_ : str
        The search that ran: "tree", "brute" and "metric" (all distances) are exact, "approximate" is not;
        "precomputed" or "given" where you passed distances or neighbors.
    neighbor_recall_ : float
        Share of the true neighbors that were found: 1.0 where the search was exact, else measured on some rows. Less
        than 0.9 raises `hne.exceptions.NeighborRecallWarning`.
    timings_ : dict of str to float
        Seconds of each stage of the fit; empty for a loaded model.
    preparation_ : ColumnPreprocessor or None
        What `hne embed` did to the columns of a file before the fit; its `transform` does the same to new samples. None
        for samples that came as they are.
    n_features_in_ : int
        Number of features seen in `fit`; of samples, where X holds distances.
    feature_names_in_ : ndarray of str
        Names of the features, where X has them.

    See Also
    --------
    hne.embed : The same as a function that returns the record of every stage.
    hne.LinearHNE : The same objective over linear maps.
    hne.tuning.tune : Choose `n_neighbors`, `reg` and `variant`.
    hne.forecast : Predict memory and time.
    hne.explore : Change parameters and watch, in a notebook.
    sklearn.manifold.LocallyLinearEmbedding : LLE and its relatives.

    Notes
    -----
    Row i of the inner weights W rebuilds :math:`x_i` from its k neighbors :math:`N(i)` [2]_. It solves, with r = `reg`
    and the Gram matrix :math:`C_i` of the differences :math:`x_j - x_i`,

    .. math::

        \min_w \Bigl\| x_i - \sum_{j \in N(i)} w_j x_j \Bigr\|^2 + r \operatorname{tr}(C_i) \, \|w\|^2,
        \qquad \sum_j w_j = 1 .

    Row i of the joint weights J rebuilds :math:`x_i` from the neighbors of its neighbors [1]_. With "ihne",
    :math:`v^{(l)}` solves the same problem for :math:`x_i` and the samples of :math:`N(l)`, and

    .. math::

        J_{im} = \sum_{l \in N(i)} W_{il} \, v^{(l)}_m .

    Every row of W and J sums to one. With :math:`A = I - W` and :math:`B = I - J`, the published coordinates minimize

    .. math::

        \operatorname{tr}(Y^\top G Y) = \gamma \|A Y\|_F^2 + \|B Y\|_F^2,
        \qquad G = \gamma A^\top A + B^\top B, \qquad Y^\top Y = I,

    so they are eigenvectors 2 to d + 1 of G; the first is constant, with eigenvalue 0. A chart is :math:`Y = V M` for
    the bottom m eigenvectors V and an m x d matrix M (`chart_.B`). Near a surface, M makes the stress small,

    .. math::

        \operatorname{mean}_{(i, j)} \bigl( \|y_i - y_j\| / \|x_i - x_j\| - 1 \bigr)^2,

    over pairs within two steps of the neighbor graph, starting from the map of largest variance that keeps their
    lengths [3]_.

    References
    ----------
    .. [1] Liu, S., Yu, Y., Liu, Y., Qiao, H., Feng, L. and Feng, J. (2019). Hierarchic Neighbors Embedding.
       arXiv:1909.07142.
    .. [2] Roweis, S. T. and Saul, L. K. (2000). Nonlinear dimensionality reduction by locally linear embedding. Science
       290, 2323-2326.
    .. [3] Weinberger, K. Q., Sha, F., Zhu, Q. and Saul, L. K. (2006). Graph Laplacian regularization for large-scale
       semidefinite programming. Advances in Neural Information Processing Systems 19.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> roll = make_swiss_roll(300, random_state=0)
    >>> model = HNE().fit(roll.X)
    >>> print(model.verdict_)
    Can be believed: the chart keeps the lengths between near samples (stress 0.00025).
    >>> model.embedding_.shape, model.transform(roll.X[:5]).shape
    ((300, 2), (5, 2))
    """

    @with_callbacks
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed the samples of X.

        A fit that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, one a row: an array, a data frame of numbers, a sparse matrix (which stays sparse); or with
            `metric="precomputed"` their distances, (n_samples, n_samples). Or a Dask array or data frame, whose
            `embedding_` is a Dask array of the same chunks.
        y : object, default=None
            Ignored; scikit-learn's pipelines pass it.

        Returns
        -------
        HierarchicNeighborsEmbedding
            The fitted estimator itself.

        Raises
        ------
        hne.exceptions.InputError
            For values that cannot be worked with, such as NaN or more neighbors than samples.
        hne.exceptions.TooLargeError
            For what does not fit into free memory, before it is computed.

        Warns
        -----
        hne.exceptions.UntrustworthyWarning
            For an embedding that has collapsed or repeats a coordinate.
        """
        parameters = self._saved_parameters()
        check_parameters(parameters)
        samples: Any = X
        if is_elsewhere(X):
            from hne.scale.sources import read_by_workers  # noqa: PLC0415, loaded only when asked for

            samples = read_by_workers(X, self.executor)
        watch = Stopwatch()
        is_kept = self.executor is not None or self.checkpoint is not None or samples is not X
        with called_back(self, X, y, n_stages(parameters) + is_kept):
            with listening(watch):
                result = compute_embedding(samples, parameters, self.executor, self.checkpoint)
            # Nothing is assigned before all is known: a fit that fails leaves the model as it was.
            if type(X) is np.ndarray:
                # It has no names: scikit-learn finds that out in 10 ms, the first time.
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
            else:
                validate_data(self, X if samples is X else samples.without_rows(X), skip_check_array=True)
            self._set_fitted(result)
            if samples is not X:
                self.embedding_ = samples.rows_like(result.Y)
            self.timings_, self.preparation_, self.tuning_ = watch.seconds, None, result.tuning
        return self

    @classmethod
    def from_embedding(cls, embedding: Embedding, preparation: Any = None) -> Self:
        """Make a fitted model of what `hne.embed` returned, to transform, save or report with.

        Parameters
        ----------
        embedding : Embedding
            The record. It does not keep the names of features of a data frame.
        preparation : ColumnPreprocessor, default=None
            What was done to the columns before; kept as `preparation_`.

        Returns
        -------
        HierarchicNeighborsEmbedding
            The model that `fit` would have made of the same samples and parameters.

        See Also
        --------
        hne.embed : Makes the record.

        Examples
        --------
        >>> import numpy as np
        >>> from hne import HNE, embed
        >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
        >>> record = embed(line, n_neighbors=2, n_components=1)
        >>> bool((HNE.from_embedding(record).transform(line) == record.Y).all())
        True
        """
        model = cls(**{field.name: getattr(embedding.settings, field.name) for field in fields(Settings)})
        X = embedding.core.X
        model.n_features_in_ = embedding.distinct.n_samples if isinstance(X, Distances) else int(X.shape[1])
        model._set_fitted(embedding)
        model.timings_, model.tuning_, model.preparation_ = {}, None, preparation
        return model

    def _set_fitted(self, result: Embedding) -> None:
        self._fitted = result
        settings = result.settings
        self.n_neighbors_, self.n_components_ = settings.n_neighbors, settings.n_components
        self.variant_, self.reg_ = settings.variant, settings.reg
        self.embedding_ = result.Y
        self.coordinates_, self.chart_ = settings.coordinates, result.chart
        self.kl_divergence_ = result.core.kl_divergence
        self.short_circuits_ = result.short_circuits
        self._eigenpairs_of_layout: tuple[EigenPairs | None] | None = None
        self.reconstruction_errors_ = result.reconstruction_errors
        self.reconstruction_error_ = result.reconstruction_error
        self.reconstruction_includes_self_ = result.settings.include_self
        self.neighbor_method_ = result.core.graph.method
        self.neighbor_recall_ = result.core.graph.recall
        self.n_pieces_ = result.pieces.count
        self.piece_labels_ = result.pieces.labels
        self.is_embedded_ = ~np.isnan(result.Y).any(axis=1)
        self.n_distinct_ = result.distinct.n_places
        self.same_as_ = result.distinct.same_as

    def _eigenpairs(self) -> EigenPairs | None:
        """Eigenpairs of the largest connected component; those of a layout are computed here, once."""
        check_is_fitted(self)
        if self.coordinates_ == "layout" and self._eigenpairs_of_layout is None:
            self._eigenpairs_of_layout = (solve_eigenpairs(self._fitted),)
        return self._eigenpairs_of_layout[0] if self._eigenpairs_of_layout else self._fitted.eigenpairs

    @property
    def eigenvalues_(self) -> FloatArray:
        """The first eigenvalues, ascending."""
        pairs = self._eigenpairs()
        return np.empty(0) if pairs is None else pairs.values[: self.n_components_]

    @property
    def eigen_residuals_(self) -> FloatArray:
        """Lengths of G y - lambda y."""
        pairs = self._eigenpairs()
        return np.empty(0) if pairs is None else pairs.residuals[: self.n_components_]

    @property
    def eigen_certificate_(self) -> Certificate | None:
        """The proof that the eigenvectors are those of the smallest eigenvalues."""
        pairs = self._eigenpairs()
        return None if pairs is None else pairs.certificate

    @property
    def eigen_solver_(self) -> str:
        """The solver that ran, or "none"."""
        pairs = self._eigenpairs()
        return "none" if pairs is None else pairs.solver

    @property
    def trust_(self) -> Assessment:
        """What the verdict rests on, measured without knowing the truth: a `hne.core.trust.verdict.Assessment`.

        After `load` and with `assess=False` it is measured when you first read it.
        """
        check_is_fitted(self)
        if self._fitted.trust is None:
            trust = assess(self._fitted.core, self._fitted.settings).of_samples(self._fitted.distinct.index)
            self._fitted = replace(self._fitted, trust=trust)
        return self._fitted.trust

    @property
    def verdict_(self) -> str:
        """One sentence: can the embedding be trusted, why, and what to do if not."""
        return self.trust_.verdict

    @property
    def inner_weights_(self) -> SparseMatrix:
        """W, the weights with which the neighbors rebuild each sample, as a CSR array."""
        check_is_fitted(self)
        return self._fitted.weights.W

    @property
    def joint_weights_(self) -> SparseMatrix:
        """J, the weights with which the neighbors' neighbors rebuild each sample, as a CSR array."""
        check_is_fitted(self)
        return self._fitted.weights.J

    @property
    def bridges_(self) -> IndexArray:
        """Pairs of samples without whose edges a piece would fall apart.

        Each edge alone holds two parts together, or is one of those from a single sample to a part, larger than a
        neighborhood, that hangs by it.
        """
        check_is_fitted(self)
        pairs = np.sort(self._fitted.distinct.index[find_bridges(self._fitted.core.graph).pairs], axis=1)
        return pairs[np.lexsort(pairs.T[::-1])]

    def fit_transform(self, X: ArrayLike, y: object = None) -> FloatArray:  # noqa: ARG002
        """Embed the samples of X and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, one a row, as in `fit`.
        y : object, default=None
            Ignored; scikit-learn's pipelines pass it.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The coordinates, `embedding_`.
        """
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        r"""Place new samples among the fitted ones, which stay where they are.

        A fitted sample gets exactly its own coordinates. Each row is placed on its own, whatever else X holds. A sample
        far from all fitted ones is placed somewhere among its nearest, without a warning: look at distances first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples in the units of the fitted ones; with `metric="precomputed"` their distances to the fitted samples.
            Or a Dask array or data frame, whose chunks are placed by whoever computes the Dask array returned.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            Their coordinates; NaN with `pieces="largest"` where the nearest fitted sample is not embedded.

        See Also
        --------
        hne.LinearHNE : An explicit linear map instead.

        Notes
        -----
        A new sample is rebuilt from its `n_neighbors` nearest fitted samples (weights w) and, as in the fit, from those
        samples' neighbors (joint weights j), all in the piece of the nearest. Its coordinates minimize its share of the
        objective:

        .. math::

            y = (\gamma \, w Y + j Y) / (\gamma + 1) .

        In a layout they minimize their part of its loss,

        .. math::

            \sum_l p_l \log(1 + |y - y_l|^2) + \frac{n}{Z} \sum_j \frac{1}{1 + |y - y_j|^2} ,

        where p are the positive weights of both layers, and Z is the normalization of the layout's similarities.

        Unlike in the fit, it is in no outer layer, its own included: no fitted sample has it as a neighbor.
        """
        check_is_fitted(self)
        if is_elsewhere(X):
            from hne.scale.sources import transform_lazily  # noqa: PLC0415, loaded only when asked for

            return transform_lazily(self, X)
        fitted = self._fitted
        # Of a table, other columns than those of the fit are the first thing to be told; of an array, its kind.
        if is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        matrix = check_new_samples(X, fitted.core.X)
        if not is_table(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        new = check_within_reach(matrix, fitted.units)
        with show_progress(fitted.settings.verbose):
            return run_stage("placing", extend, new, fitted).astype(output_kind(X), copy=False)

    def inverse_transform(self, Y: ArrayLike) -> FloatArray | SparseMatrix:
        """Go back from points of the embedding to samples that would have these coordinates.

        Weights rebuild each point from its nearest fitted samples in the embedding and their neighbors; the same
        weights then add up the samples themselves. A fitted sample's own coordinates give that sample.

        Parameters
        ----------
        Y : array-like of shape (n_points, n_components)
            Points of the embedding.

        Returns
        -------
        ndarray of shape (n_points, n_features)
            Their samples; a CSR array where X was sparse.

        Raises
        ------
        hne.exceptions.InputError
            For a model that was fitted to distances.
        """
        check_is_fitted(self)
        self._check_has_coordinates("inverse_transform")
        points = check_points(Y, self._n_features_out)
        with show_progress(self._fitted.settings.verbose):
            samples = self._fitted.units.inverse_transform(run_stage("lifting", preimage, points, self._fitted))
        return samples.astype(self.embedding_.dtype, copy=False)

    def reconstruct(self) -> FloatArray | SparseMatrix:
        """Rebuild the fitted samples from their neighbors' neighbors.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            `joint_weights_` times the samples; `reconstruction_errors_` says how far off each is. NaN for samples
            without neighbors. A CSR array where X was sparse, in which rows of such samples are empty.
        """
        check_is_fitted(self)
        self._check_has_coordinates("reconstruct")
        core, distinct = self._fitted.core, self._fitted.distinct
        rebuilt = self._fitted.units.inverse_transform(reconstruct(core.X, core.weights.J))
        if isinstance(rebuilt, np.ndarray):
            rebuilt[np.diff(core.weights.J.indptr) == 0] = np.nan
        return rebuilt[distinct.inverse].astype(self.embedding_.dtype, copy=False)

    @staticmethod
    def _checked_parameters(parameters: dict[str, Any]) -> Settings:
        return check_parameters(parameters)[0]

    def _saved_fit(self) -> tuple[dict[str, Any], dict[str, Any]]:
        fitted = self._fitted
        fit = {"distinct": fitted.distinct, "units": fitted.units, "core": fitted.core}
        settings = {field.name: getattr(fitted.settings, field.name) for field in fields(Settings)}
        return {**fit, "dtype": np.dtype(fitted.dtype).name}, settings

    def _restore(self, file: ModelFile, fit: dict[str, Any], settings: Settings) -> None:
        from hne.estimators.model_file import read_embedding  # noqa: PLC0415, nobody who only fits needs it

        self._set_fitted(read_embedding(file, fit, settings))
        self.timings_, self.tuning_ = {}, None

    def _check_has_coordinates(self, method: str) -> None:
        if isinstance(self._fitted.core.X, Distances):
            msg = f"{method} needs samples with coordinates, got distances in fit. Fit coordinates with another metric."
            raise InputError(msg)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == PRECOMPUTED
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of coordinates, which names the output columns."""
        return int(self.embedding_.shape[1])


HierarchicNeighborsEmbedding.__doc__ = (
    cleandoc(HierarchicNeighborsEmbedding.__doc__ or "").replace("{parameters}", parameters_section()) + "\n"
)
HNE = HierarchicNeighborsEmbedding
