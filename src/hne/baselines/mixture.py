"""Samples -> Mixture: local probabilistic PCA models by EM, whose log-likelihood never falls.

M. Tipping and C. Bishop, Mixtures of probabilistic principal component analyzers, Neural Computation 1999. A model has
a mean, d axes with a variance each, and one variance, the noise, for all other directions of the D features:

    covariance = sum over the axes of variance * axis axis' + noise * (I - sum of axis axis')

Samples are given by their q <= n - 1 coordinates within the span of the fitted ones, which loses nothing: axes lie in
the span, and what a model says of the other D - q directions is the noise there, counted with them. No matrix has the
size of D. EM is over the memberships alone: given these, the best model is known in closed form.
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from hne.core.records import FloatArray

logger = logging.getLogger("hne")

# Least variance of a direction, relative to the mean variance of a feature: a thousandth of the data's extent in
# length. Flat samples have no noise at all, and their density no bound.
FLOOR = 1e-6
# Coordinates up to which covariances come from products of all samples at once.
MANY_COORDINATES = 32
# Responsibility below which a sample is no member: all samples together would not change a digit of a model.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class Mixture:
    """m models of d dimensions among q coordinates; the D - d directions besides the axes share the noise."""

    shares: FloatArray  # (m,), of the samples; they sum to one
    means: FloatArray  # (m, q)
    axes: FloatArray  # (m, q, d), orthonormal columns
    variances: FloatArray  # (m, d), along the axes; none is below the noise
    noise: FloatArray  # (m,)
    n_features: int  # D

    @property
    def n_models(self) -> int:
        """Number of models, m."""
        return len(self.shares)

    def without(self, model: int) -> "Mixture":
        """The mixture of the other models."""
        rest = np.delete(np.arange(self.n_models), model)
        return Mixture(
            shares=self.shares[rest] / self.shares[rest].sum(),
            means=self.means[rest],
            axes=self.axes[rest],
            variances=self.variances[rest],
            noise=self.noise[rest],
            n_features=self.n_features,
        )


@dataclass(frozen=True)
class Memberships:
    """What a mixture makes of samples."""

    responsibilities: FloatArray  # (n, m), how much of a sample belongs to each model; rows sum to one
    latent: FloatArray  # (n, m, d), coordinates along the axes in units of their standard deviations
    log_densities: FloatArray  # (n,)


@dataclass(frozen=True)
class FittedMixture:
    """A mixture, what it makes of its own samples, and how it came about."""

    mixture: Mixture
    memberships: Memberships
    log_likelihoods: FloatArray  # mean log-density of the samples in each round since the last model was dropped
    n_rounds: int
    has_converged: bool
    n_dropped: int  # models that were left with fewer samples than span their axes


def fit_mixture(
    X: FloatArray, n_models: int, n_axes: int, n_features: int, random_state: object, max_iter: int, tol: float
) -> FittedMixture:
    """Fit by EM from the clusters of k-means until a round gains less than `tol` a sample.

    X are centered coordinates (n, q), of samples with `n_features` features.
    """
    labels = KMeans(n_models, n_init=1, random_state=random_state).fit(X).labels_
    responsibilities = np.eye(n_models)[labels]
    floor = FLOOR * float((X**2).sum()) / (len(X) * n_features)
    gains: list[float] = []
    n_dropped, n_rounds, has_converged = 0, 0, False
    while n_rounds < max_iter and not has_converged:
        n_rounds += 1
        mixture = best_models(X, responsibilities, n_axes, n_features, floor)
        mixture, found = _without_small_models(X, mixture, n_axes)
        if mixture.n_models < responsibilities.shape[1]:
            n_dropped += responsibilities.shape[1] - mixture.n_models
            gains.clear()
        responsibilities = found.responsibilities
        gains.append(float(found.log_densities.mean()))
        has_converged = len(gains) > 1 and gains[-1] - gains[-2] < tol
    if n_dropped:
        logger.info("mixture: %d of %d models dropped, of less than %d samples", n_dropped, n_models, n_axes + 1)
    return FittedMixture(mixture, found, np.array(gains), n_rounds, has_converged, n_dropped)


def _without_small_models(X: FloatArray, mixture: Mixture, n_axes: int) -> tuple[Mixture, Memberships]:
    """Drop models with fewer samples than span their axes, the smallest first: its samples go to the others."""
    found = memberships(mixture, X)
    while mixture.n_models > 1 and found.responsibilities.sum(axis=0).min() < n_axes + 1:
        mixture = mixture.without(int(found.responsibilities.sum(axis=0).argmin()))
        found = memberships(mixture, X)
    return mixture, found


def best_models(X: FloatArray, responsibilities: FloatArray, n_axes: int, n_features: int, floor: float) -> Mixture:
    """The likeliest models of samples that belong to them to these degrees, no variance below the floor."""
    totals = responsibilities.sum(axis=0)
    means = responsibilities.T @ X / totals[:, None]
    if X.shape[1] <= MANY_COORDINATES:
        spectra = _spectra_of_moments(X, responsibilities, means, n_axes)
    else:
        spectra = _spectra_of_members(X, responsibilities, means, n_axes)
    axes, leading, rest = spectra
    noise = np.maximum(rest / max(1, n_features - n_axes), floor)
    variances = np.maximum(leading, noise[:, None])
    return Mixture(totals / len(X), means, axes, variances, noise, n_features)


def _spectra_of_moments(
    X: FloatArray, responsibilities: FloatArray, means: FloatArray, n_axes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Axes (m, q, d), their variances (m, d) and the variance besides (m,), from second moments less squared means.

    What that loses is a rounding of the largest moment, nine digits below the floor of the variances.
    """
    n, q = X.shape
    products = (X[:, :, None] * X[:, None, :]).reshape(n, q * q)
    moments = (responsibilities.T @ products) / responsibilities.sum(axis=0)[:, None]
    covariances = moments.reshape(-1, q, q) - means[:, :, None] * means[:, None, :]
    values, vectors = np.linalg.eigh(covariances)
    values = np.maximum(values[:, ::-1], 0.0)
    return vectors[:, :, ::-1][:, :, :n_axes], values[:, :n_axes], values[:, n_axes:].sum(axis=1)


def _spectra_of_members(
    X: FloatArray, responsibilities: FloatArray, means: FloatArray, n_axes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same model by model, from its members alone: with many features a sample belongs to one or two models."""
    m, q = means.shape
    axes, leading, rest = np.zeros((m, q, n_axes)), np.zeros((m, n_axes)), np.zeros(m)
    for model in range(m):
        members = np.flatnonzero(responsibilities[:, model] > NEGLIGIBLE)
        share = responsibilities[members, model] / responsibilities[members, model].sum()
        rows = np.sqrt(share)[:, None] * (X[members] - means[model])
        values, vectors = _principal(rows)
        # Fewer members than axes have no variance along the others, whichever these are.
        count = min(n_axes, len(values))
        axes[model, :, :count] = vectors[:, :count]
        leading[model, :count] = values[:count]
        rest[model] = values[count:].sum()
    return axes, leading, rest


def _principal(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of rows' rows, descending, and eigenvectors, a column each; without zeros where rows are few."""
    if len(rows) < rows.shape[1]:
        _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
        return lengths**2, directions.T
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def memberships(mixture: Mixture, X: FloatArray, outside: FloatArray | float = 0.0) -> Memberships:
    """What the mixture makes of samples with these coordinates, and squared distances `outside` of the span.

    In the slow notation, for sample x and model c with axes V: latent = V'(x - mean) / sqrt(variances), and

        log density = -(D log(2 pi) + log det covariance + |latent|^2 + (|x - mean|^2 - |V'(x - mean)|^2) / noise) / 2
    """
    m, q, d = mixture.axes.shape
    n_features, noise = mixture.n_features, mixture.noise
    flat_axes = mixture.axes.transpose(1, 0, 2).reshape(q, m * d)
    along = (X @ flat_axes).reshape(-1, m, d) - np.einsum("mq,mqd->md", mixture.means, mixture.axes)
    squares = (X**2).sum(axis=1)[:, None] - 2 * X @ mixture.means.T + (mixture.means**2).sum(axis=1)
    beside = np.maximum(squares - (along**2).sum(axis=2), 0.0) + np.reshape(outside, (-1, 1))
    latent = along / np.sqrt(mixture.variances)
    log_volumes = np.log(mixture.variances).sum(axis=1) + (n_features - d) * np.log(noise)
    distances = (latent**2).sum(axis=2) + beside / noise
    joint = np.log(mixture.shares) - (n_features * np.log(2 * np.pi) + log_volumes + distances) / 2
    log_densities = logsumexp(joint, axis=1)
    return Memberships(np.exp(joint - log_densities[:, None]), latent, log_densities)
