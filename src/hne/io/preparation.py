"""What was done to the columns of a file before a fit, so that new samples are treated alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, SparseMatrix
from hne.exceptions import InputError

SCALINGS = ("none", "standard", "robust")
# A normal distribution's quartiles lie so many standard deviations apart: robust and standard scale agree on it.
NORMAL_QUARTILES = 1.3489795003921634


@dataclass(frozen=True)
class Preparation:
    """Columns that were fitted, and how their values were filled and scaled: `transform` does the same to others."""

    feature_names: tuple[str, ...]
    scaling: str = "none"
    fill: FloatArray | None = None  # what stands in for missing values, a number for each feature
    center: FloatArray | None = None  # subtracted first
    scale: FloatArray | None = None  # divided by then
    image_shape: tuple[int, ...] | None = None  # of samples that are images
    pixel_scale: float | None = None  # what their pixels were divided by as they were read; None where nothing was

    @property
    def changes_values(self) -> bool:
        """Whether samples are others afterwards."""
        return self.fill is not None or self.scale is not None

    def transform(self, X: ArrayLike | SparseMatrix) -> Any:
        """Fill and scale samples as those of the fit were, (n, D); what came in stays as it is."""
        values: Any = X if issparse(X) else np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.feature_names):
            msg = f"X must have {len(self.feature_names)} columns, got shape {values.shape}. Pass those of the fit."
            raise InputError(msg)
        if issparse(values):
            return values if self.scale is None else csr_array(values / self.scale)
        if self.fill is not None:
            values = np.where(np.isnan(values), self.fill, values)
        if self.center is not None:
            values = values - self.center
        return values if self.scale is None else values / self.scale


def learned(X: Any, feature_names: tuple[str, ...], scaling: str, *, fills: bool) -> Preparation:
    """Medians to fill with and scales, of these samples."""
    if issparse(X):
        return _learned_sparse(X, feature_names, scaling)
    fill = np.nanmedian(X, axis=0) if fills else None
    if scaling == "none":
        return Preparation(feature_names, scaling, fill)
    known: FloatArray = X if fill is None else np.where(np.isnan(X), fill, X)
    if scaling == "standard":
        center, spread = known.mean(axis=0), known.std(axis=0)
    else:
        low, center, high = np.percentile(known, [25, 50, 75], axis=0)
        spread = (high - low) / NORMAL_QUARTILES
        # Columns whose middle half is one value: the quartiles know no scale, the standard deviation does.
        spread = np.where(spread > 0, spread, known.std(axis=0))
    return Preparation(feature_names, scaling, fill, center, np.where(spread > 0, spread, 1.0))


def _learned_sparse(X: SparseMatrix, feature_names: tuple[str, ...], scaling: str) -> Preparation:
    """Standard deviations; a sparse matrix is not centered, or it would be sparse no more."""
    if scaling == "robust":
        msg = "--scale robust needs a dense table, got a sparse matrix, most of it zeros. Choose --scale standard."
        raise InputError(msg)
    return Preparation(feature_names, scaling, scale=_deviations(X) if scaling != "none" else None)


def _deviations(X: SparseMatrix) -> FloatArray:
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    return np.where(spread > 0, spread, 1.0)
