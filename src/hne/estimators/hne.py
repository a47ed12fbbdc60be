"""scikit-learn's face of the pipeline: parameters in, fitted attributes out, no algebra."""

from __future__ import annotations

from dataclasses import fields, replace
from textwrap import indent
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hne._runtime.progress import Stopwatch, listening, run_stage, show_progress
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


class HierarchicNeighborsEmbedding(
    SavedMixin,
    ReportedMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    Parameters,
):
    """Hierarchic Neighbors Embedding: unroll a manifold from two layers of neighbors.

    Locally linear embedding rebuilds each sample from its k neighbors. HNE rebuilds it from its neighbors'
    neighbors as well, and finds coordinates that keep both in the span of the bottom eigenvectors of one sparse matrix.
    It holds where samples are few or areas hang together by threads. Edges of the neighbor graph that lead across a gap
    are cut first, and the coordinates are a chart, in the lengths of the samples. `HNE(**hne.PUBLISHED)` is the method
    as it was published.

    {parameters}

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates Y: columns centered over the distinct samples, of fixed sign, and orthonormal where they are
        eigenvectors. float32 where X is, computed in float64. Copies of a sample share one place and count once.
    chart_ : Chart or None
        How the coordinates of the largest piece were found: `route` ("unfolded" near a surface; elsewhere
        what keeps ranks of neighbors best of "along the graph", "between graph and straight lines", "straight lines"
        and "first eigenvectors"), `stress` (mean squared relative error of the lengths of near pairs), `spectrum`
        (where its eigenvalues fall off tells the dimension), `B` (the map of the eigenvectors), `n_put_back` (edges
        that were cut and that the chart closes). None where `coordinates` are no chart, and for a handful of samples.
    short_circuits_ : ndarray of shape (n_edges, 2)
        Pairs of samples whose edge leads across a gap, the worst first: cut, or kept as `short_circuits` says. Those of
        `cut_edges` and `keep_edges` are not among them.
    rescaled_embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates in the lengths of X, along their principal axes: the chart, and where `coordinates` are no
        chart the rescaled eigenvectors. Lengths hold within a piece, as far as the surface can be laid flat.
    rescaling_ : ndarray of shape (n_eigenvectors, n_components) or None
        The matrix whose product with the eigenvectors of the largest piece has the lengths of X. None
        for one of a handful of samples, which is drawn by its principal components.
    trust_ : Assessment
        How far the embedding can be believed, measured without knowing the truth: `level` ("good", "doubtful", "bad",
        or "unknown" where there is nothing to tell it by, as for images), `verdict`, `findings` (what speaks against
        it, and what to do), `score`, `dimension` and more. One that has collapsed or repeats a coordinate
        raises an `UntrustworthyWarning`.
    verdict_ : str
        The same in a sentence: can it be believed, why, and what to do if not.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the columns, gamma |A y|^2 + |B y|^2, ascending. With several pieces, this and what else is
        said of eigenvectors is about the largest; empty where that is too small to have any.
    eigen_residuals_ : ndarray of shape (n_components,)
        Lengths of G y - lambda y.
    eigen_certificate_ : Certificate or None
        The proof that what `embedding_` is made of are eigenvectors, measured on themselves: `residuals`, the `gap` to
        the next eigenvalue, `relative_residuals`, `orthogonality`, `ritz_error`, `rounding`, and whether the
        eigenvalues can be told apart (`is_resolved`).
    eigen_solver_ : str
        The solver that ran; "landmarks" with `n_landmarks`.
    inner_weights_, joint_weights_ : CSR arrays of shape (n_samples, n_samples)
        W and J: with which weights the neighbors, and the neighbors' neighbors, rebuild each sample.
    reconstruction_errors_ : ndarray of shape (n_samples,)
        Length of each sample minus its rebuilt self, through the joint weights; NaN for one without neighbors.
    reconstruction_error_ : float
        Their mean, the error of the paper's tables.
    reconstruction_includes_self_ : bool
        Whether samples took part in rebuilding themselves, which makes these errors small: `include_self` of the fit.
    neighbor_method_ : str
        The search that ran: "tree", "brute" and "metric" (all distances) are exact, "approximate" is not;
        "precomputed" and "given" where distances or neighbors were.
    neighbor_recall_ : float
        Share of neighbors that are true ones: 1.0 where the search was exact, else measured on a sample of
        rows. Less than 0.9 raises a `NeighborRecallWarning`.
    n_pieces_ : int
        Connected pieces of the neighbor graph. More than one is told in `verdict_`, or among the findings of `trust_`.
    piece_labels_ : ndarray of shape (n_samples,)
        The piece of each sample, 0 the largest.
    is_embedded_ : ndarray of shape (n_samples,)
        Whether each sample has coordinates: all True but with pieces="largest".
    bridges_ : ndarray of shape (n_links, 2)
        Pairs of samples whose link is all that holds two parts of a piece together, or that are all links of one sample
        to a part, larger than a neighborhood, that hangs by it.
    n_distinct_ : int
        Samples that differ: all but copies.
    same_as_ : ndarray of shape (n_samples,)
        The first sample that each one equals: itself, but for copies.
    n_neighbors_, n_components_, variant_, reg_ : int, int, str, float
        The settings of the fit: those given, or those chosen for "auto".
    tuning_ : Tuning or None
        What they were chosen by; None where nothing was, and for a loaded model.
    timings_ : dict of str to float
        Seconds of each stage of the fit; empty for a loaded model.
    preparation_ : ColumnPreprocessor or None
        What `hne embed` did to the columns of a file before the fit, in a model that it saved: its `transform` does
        the same to others. None for samples that came as they are.
    n_features_in_ : int
        Features seen in `fit`; samples, where X holds distances.
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

    @with_callbacks
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, one a row: an array, a data frame of numbers, a sparse matrix (which stays sparse); or with
            metric="precomputed" their distances, (n_samples, n_samples). Or a Dask array or data frame, whose
            `embedding_` is a Dask array of the same chunks.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
            The fitted estimator.
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
        """Make a fitted model of what :func:`hne.embed` made, to place others, to save or to report.

        Parameters
        ----------
        embedding : Embedding
            The record; its samples may not have been a data frame, whose names of features it does not keep.
        preparation : ColumnPreprocessor, default=None
            What was done to columns before, which goes with the model as `preparation_`.

        Returns
        -------
        estimator
            The model that `fit` would have made of the same samples and parameters.

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
        A = result.core.rescaled.matrices[0]
        self.rescaling_ = None if A is None else result.units.restore_lengths(A)
        self.chart_ = result.chart
        self.short_circuits_ = result.short_circuits
        pairs = result.eigenpairs
        d = settings.n_components
        self.eigenvalues_ = np.empty(0) if pairs is None else pairs.values[:d]
        self.eigen_residuals_ = np.empty(0) if pairs is None else pairs.residuals[:d]
        self.eigen_certificate_ = None if pairs is None else pairs.certificate
        self.eigen_solver_ = "none" if pairs is None else pairs.solver
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

    @property
    def rescaled_embedding_(self) -> FloatArray:
        """Y in the lengths of X, made when asked for."""
        check_is_fitted(self)
        return self._fitted.rescaled_Y

    @property
    def trust_(self) -> Assessment:
        """How far it can be believed; of a loaded model, measured when asked for."""
        check_is_fitted(self)
        if self._fitted.trust is None:
            trust = assess(self._fitted.core, self._fitted.settings).of_samples(self._fitted.distinct.index)
            self._fitted = replace(self._fitted, trust=trust)
        return self._fitted.trust

    @property
    def verdict_(self) -> str:
        """The sentence of `trust_`."""
        return self.trust_.verdict

    @property
    def inner_weights_(self) -> SparseMatrix:
        """W, made when asked for."""
        check_is_fitted(self)
        return self._fitted.weights.W

    @property
    def joint_weights_(self) -> SparseMatrix:
        """J, made when asked for."""
        check_is_fitted(self)
        return self._fitted.weights.J

    @property
    def bridges_(self) -> IndexArray:
        """Bridges, searched when asked for."""
        check_is_fitted(self)
        pairs = np.sort(self._fitted.distinct.index[find_bridges(self._fitted.core.graph).pairs], axis=1)
        return pairs[np.lexsort(pairs.T[::-1])]

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
        Neighbors are those of the piece that its nearest one is in; with pieces="largest", a sample whose nearest is
        not embedded gets NaN. A sample far from all fitted ones is placed somewhere among its nearest, without a
        warning.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples in the units of the fitted ones; with metric="precomputed" their distances to the fitted samples.
            Or a Dask array or data frame, whose chunks are placed by whoever computes the Dask array returned.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            Their coordinates.
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
        """Samples whose coordinates would be these points of the embedding.

        The way of `transform` gone back: weights rebuild a point from its nearest fitted samples in the embedding and
        their neighbors, and the samples themselves are added up with these weights. A fitted sample's own
        coordinates give that sample.

        Parameters
        ----------
        Y : array-like of shape (n_points, n_components)
            Points of the embedding.

        Returns
        -------
        ndarray of shape (n_points, n_features)
            Their samples; a CSR array where X was sparse.
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
            The samples through `joint_weights_`; `reconstruction_errors_` says how far off each is. NaN for samples
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


HierarchicNeighborsEmbedding.__doc__ = (HierarchicNeighborsEmbedding.__doc__ or "").replace(
    "{parameters}", indent(parameters_section(), " " * 4).strip()
)
HNE = HierarchicNeighborsEmbedding
