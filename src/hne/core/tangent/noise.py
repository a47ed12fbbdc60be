"""X (n, D) -> scores (n, r) without isotropic noise, where the samples have such noise around r > d dimensions.

The sample covariance of isotropic noise has eigenvalues between (1 - sqrt(D / n))^2 and (1 + sqrt(D / n))^2 times the
variance of the noise (Marchenko and Pastur 1967). Directions of a signal are above that range. The noise is isotropic
if no eigenvalue is below it: in tables, images and spectra, the smallest eigenvalues are much smaller.
"""

import numpy as np

from hne.core.records import FloatArray
from hne.core.samples.kinds import Samples, is_dense

# Samples per feature from which on the range of the eigenvalues is sharp, and most samples of the covariance.
SAMPLES_PER_FEATURE, MAX_SAMPLES_PER_FEATURE, MAX_SAMPLES = 2, 4, 2000
# Most features whose covariance is decomposed: a tenth of a second.
MAX_FEATURES = 500
# Smallest eigenvalue as a share of the lower end of the range: rolls beside 5 to 100 columns of noise have 0.92 to 1.2,
# of 42 real data sets one has more than 0.78 (1.4, principal components of cells, which are not near a surface).
SMALLEST_EIGENVALUE = 0.85


def remove_noise(X: Samples, n_components: int, metric: object) -> FloatArray | None:
    """Project samples onto the principal axes above isotropic noise; None if there is no such noise.

    Also None if no more than `n_components` axes are above it (principal components then show everything that is not
    noise), or half of the axes and more.
    """
    if not is_dense(X) or metric != "euclidean":
        return None
    varies = np.ptp(X, axis=0) > 0
    X = X if varies.all() else X[:, varies]
    n, n_features = X.shape
    if not n_components < n_features <= min(MAX_FEATURES, n // SAMPLES_PER_FEATURE):
        return None
    most = max(MAX_SAMPLES, MAX_SAMPLES_PER_FEATURE * n_features)
    rows = X if n <= most else X[np.random.RandomState(0).choice(n, most, replace=False)]
    ratio, covariance = np.sqrt(n_features / len(rows)), np.atleast_2d(np.cov(rows.T))
    values, axes = np.linalg.eigh(covariance)
    if not values[0] > 0:
        # Columns that depend linearly on others have no noise.
        return None
    n_above, noise = -1, float(values.mean())
    while (count := int(np.count_nonzero(values > (1 + ratio) ** 2 * noise))) > n_above:
        n_above, noise = count, float(values[: n_features - count].mean())
    # A few eigenvalues are within the range by chance.
    is_mostly_noise = n_components < n_above < n_features / 2
    if not is_mostly_noise or values[0] < SMALLEST_EIGENVALUE * (1 - ratio) ** 2 * noise:
        return None
    scores: FloatArray = (X - X.mean(axis=0)) @ axes[:, -n_above:]
    return scores
