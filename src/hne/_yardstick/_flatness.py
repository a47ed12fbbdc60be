"""X -> how much of the samples lies in tangent planes: whether they are near a surface."""

from typing import Any

import numpy as np

from hne._neighbors import nearest_by
from hne._progress import unheard
from hne._samples import Distances, Samples, width
from hne._types import IndexArray
from hne._yardstick._frames import BLOCK_BYTES, are_known, principal

# Neighborhoods that are looked at: of fewer neighbors for sparse surfaces, whose folds more would reach, of more for
# noise, which they see past. Those of more only where they are no more than half of all samples.
NEIGHBORS, MORE_NEIGHBORS, ROWS = 12, 30, 500
# Share of the local variance in d directions from which samples are near a surface of d dimensions: rolls and S-curves
# of 100 to 3 000 samples, with noise up to .6, .93 to 1; a roll with 47 columns of noise beside it .92; of 17 tables,
# spectra and image sets, .84 at most.
NEAR_SURFACE = 0.88


def flat_share(X: Samples, n_components: int, metric: Any, params: Any, n_threads: int) -> float:
    """Mean share of the variance of a neighborhood that lies in so many directions, at the scale where it is largest.

    NaN where no neighborhood is known.
    """
    n = X.shape[0]
    sizes = [min(NEIGHBORS, n - 1), *([MORE_NEIGHBORS] if n > 2 * MORE_NEIGHBORS else [])]
    rows = np.arange(n) if n <= ROWS else np.sort(np.random.RandomState(0).choice(n, ROWS, replace=False))
    with unheard():
        near, _, _ = nearest_by(metric, params, X, X if len(rows) == n else X[rows], sizes[-1], rows, n_threads)
    members = np.column_stack([rows, near])
    shares = [_share(X, members[:, : size + 1], n_components) for size in sizes]
    return float(np.nanmax(shares)) if not np.isnan(shares).all() else float("nan")


def _share(X: Samples, members: IndexArray, d: int) -> float:
    members = members[are_known(X, members)]
    m = members.shape[1]
    step = max(1, BLOCK_BYTES // (8 * m * (m + (1 if isinstance(X, Distances) else width(X)))))
    held = []
    for start in range(0, len(members), step):
        variances, _ = principal(X, members[start : start + step])
        total = variances.sum(axis=1)
        held.append(variances[total > 0, :d].sum(axis=1) / total[total > 0])
    found = np.concatenate([np.empty(0), *held])
    return float(found.mean()) if len(found) else float("nan")
