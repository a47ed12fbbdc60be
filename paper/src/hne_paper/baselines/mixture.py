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
# Axes (m, q, d), their variances (m, d) and the variance besides (m,).
Spectra = tuple[FloatArray, FloatArray, FloatArray]


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
        rest = np.arange(self.n_models) != model
        shares = self.shares[rest] / self.shares[rest].sum()
        means, axes, variances = self.means[rest], self.axes[rest], self.variances[rest]
        return Mixture(shares, means, axes, variances, self.noise[rest], self.n_features)


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


def fit_mixture(
    X: FloatArray, n_models: int, n_axes: int, n_features: int, random_state: object, max_iter: int, tol: float
) -> FittedMixture:
    """Fit by EM from the clusters of k-means until a round gains less than `tol` a sample.

    X are centered coordinates (n, q), of samples with `n_features` features.
    """
    labels = KMeans(n_models, n_init=1, random_state=random_state).fit(X).labels_
    responsibilities = np.eye(n_models)[labels]
    floor = FLOOR * float((X**2).sum()) / (len(X) * n_features)
    log_likelihoods: list[float] = []
    n_rounds, has_converged = 0, False
    while n_rounds < max_iter and not has_converged:
        n_rounds += 1
        mixture = best_models(X, responsibilities, n_axes, n_features, floor)
        members = memberships(mixture, X)
        # Models with fewer samples than span their axes go, the smallest first: its samples go to the others.
        while mixture.n_models > 1 and members.responsibilities.sum(axis=0).min() < n_axes + 1:
            mixture = mixture.without(int(members.responsibilities.sum(axis=0).argmin()))
            members = memberships(mixture, X)
        if mixture.n_models < responsibilities.shape[1]:
            log_likelihoods.clear()
        responsibilities = members.responsibilities
        log_likelihoods.append(float(members.log_densities.mean()))
        has_converged = len(log_likelihoods) > 1 and log_likelihoods[-1] - log_likelihoods[-2] < tol
    if mixture.n_models < n_models:
        n_dropped = n_models - mixture.n_models
        logger.info("mixture: %d of %d models dropped, of less than %d samples", n_dropped, n_models, n_axes + 1)
    return FittedMixture(mixture, members, np.array(log_likelihoods), n_rounds, has_converged)


def best_models(
    X: FloatArray,
    responsibilities: FloatArray,
    n_axes: int,
    n_features: int,
    floor: float,
    many_coordinates: int = MANY_COORDINATES,
) -> Mixture:
    """The likeliest models of samples that belong to them to these degrees, no variance below the floor."""
    totals = responsibilities.sum(axis=0)
    means = responsibilities.T @ X / totals[:, None]
    spectra = _spectra_of_moments if X.shape[1] <= many_coordinates else _spectra_of_members
    axes, leading, rest = spectra(X, responsibilities, means, n_axes)
    noise = np.maximum(rest / max(1, n_features - n_axes), floor)
    variances = np.maximum(leading, noise[:, None])
    return Mixture(totals / len(X), means, axes, variances, noise, n_features)


def _spectra_of_moments(X: FloatArray, responsibilities: FloatArray, means: FloatArray, n_axes: int) -> Spectra:
    """Axes and variances from second moments less squared means.

    What that loses is a rounding of the largest moment, nine digits below the floor of the variances.
    """
    n, q = X.shape
    products = (X[:, :, None] * X[:, None, :]).reshape(n, q * q)
    moments = (responsibilities.T @ products) / responsibilities.sum(axis=0)[:, None]
    covariances = moments.reshape(-1, q, q) - means[:, :, None] * means[:, None, :]
    values, vectors = np.linalg.eigh(covariances)
    values = np.maximum(values[:, ::-1], 0.0)
    return vectors[:, :, ::-1][:, :, :n_axes], values[:, :n_axes], values[:, n_axes:].sum(axis=1)


def _spectra_of_members(X: FloatArray, responsibilities: FloatArray, means: FloatArray, n_axes: int) -> Spectra:
    """The same model by model, from its members alone: with many features a sample belongs to one or two models."""
    m, q = means.shape
    axes, leading, rest = np.zeros((m, q, n_axes)), np.zeros((m, n_axes)), np.zeros(m)
    for model in range(m):
        members = np.flatnonzero(responsibilities[:, model] > NEGLIGIBLE)
        share = responsibilities[members, model] / responsibilities[members, model].sum()
        rows = np.sqrt(share)[:, None] * (X[members] - means[model])
        if len(rows) < q:
            _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
            values, vectors = lengths**2, directions.T
        else:
            values, vectors = np.linalg.eigh(rows.T @ rows)
            values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        # Fewer members than axes have no variance along the others, whichever these are.
        count = min(n_axes, len(values))
        axes[model, :, :count] = vectors[:, :count]
        leading[model, :count] = values[:count]
        rest[model] = values[count:].sum()
    return axes, leading, rest


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
