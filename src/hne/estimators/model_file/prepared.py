"""What was done to samples before the fit -> header and arrays, and back."""

import math
import sys
from typing import Any

from hne.estimators.model_file.archive import Archive
from hne.estimators.model_file.values import Arrays
from hne.io.preprocess import SCALINGS, ColumnPreprocessor

KEY = "preparation"
# Rows, columns and perhaps three channels.
IMAGE_DIMENSIONS = (2, 3)


def preparation_parts(preparation: ColumnPreprocessor | None) -> tuple[dict[str, Any], Arrays]:
    """Entries of the header and arrays; nothing of either where samples came as they are."""
    if preparation is None:
        return {}, {}
    shape = preparation.image_shape
    described = {
        "feature_names": list(preparation.feature_names),
        "scaling": preparation.scaling,
        "image_shape": None if shape is None else list(shape),
        "pixel_scale": preparation.pixel_scale,
    }
    numbers = {"fill": preparation.fill, "center": preparation.center, "scale": preparation.scale}
    return {KEY: described}, {f"{KEY}.{name}": one for name, one in numbers.items() if one is not None}


def preparation_from(archive: Archive, n_features: int) -> ColumnPreprocessor | None:
    """The preparation of a fit with so many features, None where there was none."""
    if KEY not in archive.header:
        return None
    described = Archive(archive.path, archive.entry(KEY, dict), archive.arrays)
    names = described.entry("feature_names", list)
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        archive.refuse(f"'{KEY}' in its header must name {n_features} features")
    scaling = described.entry("scaling", str)
    if scaling not in SCALINGS:
        archive.refuse(f"'scaling' in its header must be one of {', '.join(SCALINGS)}, got {scaling!r:.40}")
    fill, center, scale = (_numbers(archive, name, n_features) for name in ("fill", "center", "scale"))
    if scale is not None and not (scale > 0).all():
        archive.refuse(f"array '{KEY}.scale' must be positive")
    shape = _image_shape(described, n_features)
    return ColumnPreprocessor(tuple(names), scaling, fill, center, scale, shape, _pixel_scale(described))


def _numbers(archive: Archive, name: str, n_features: int) -> Any:
    name = f"{KEY}.{name}"
    return archive.finite(name, (n_features,)) if name in archive.arrays else None


def _image_shape(described: Archive, n_features: int) -> tuple[int, ...] | None:
    shape = described.entry("image_shape", list, type(None))
    if shape is None:
        return None
    whole = all(isinstance(side, int) and side > 0 for side in shape)
    if not whole or len(shape) not in IMAGE_DIMENSIONS or math.prod(shape) != n_features:
        described.refuse(f"'image_shape' in its header must be that of {n_features} pixels")
    return tuple(shape)


def _pixel_scale(described: Archive) -> float | None:
    if "pixel_scale" not in described.header:  # models of before it was kept
        return None
    scale = described.entry("pixel_scale", int, float, type(None))
    # JSON has whole numbers beyond every float.
    if scale is not None and not 0 < scale <= sys.float_info.max:
        described.refuse(f"'pixel_scale' in its header must be positive, got {scale!r:.40}")
    return None if scale is None else float(scale)
