"""Images -> one sheet of thumbnails, row by row, as PNG or JPEG."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import IndexArray
from hne.exceptions import MissingExtraError

# Pixels of a side: of the sheet, which browsers and graphics cards of today all take, and of a thumbnail.
SHEET, LARGEST, SMALLEST = 4096, 48, 16
# Pixels up to which a sheet is kept without loss.
LOSSLESS = 1_000_000


@dataclass(frozen=True)
class Sheet:
    """Thumbnails of all points: number i is in row i // per_row, column i % per_row."""

    content: bytes
    kind: str  # "image/png" or "image/jpeg"
    width: int  # of a thumbnail
    height: int
    per_row: int


def thumbnail_size(n: int, height: int, width: int) -> tuple[int, int] | None:
    """Height and width at which n thumbnails fit the sheet, never larger than the images; None if they are too small.

    >>> thumbnail_size(500, 64, 32), thumbnail_size(100_000, 64, 64)
    ((48, 24), None)
    """
    for side in range(min(LARGEST, max(height, width)), 0, -1):
        shrink = side / max(height, width)
        rows, columns = max(1, round(height * shrink)), max(1, round(width * shrink))
        if (SHEET // rows) * (SHEET // columns) >= n:
            return (rows, columns) if side >= min(SMALLEST, height, width) else None
    return None


def thumbnail_sheet(images: NDArray[Any], rows: IndexArray) -> Sheet | None:
    """Sheet with a thumbnail of each of these rows; None where they would be too small to see."""
    try:
        from PIL import Image
    except ImportError as error:
        msg = "thumbnails need pillow, got none installed. Run: pip install 'hne[io]'."
        raise MissingExtraError(msg) from error
    size = thumbnail_size(len(rows), *images.shape[1:3])
    if size is None:
        return None
    height, width = size
    per_row = min(len(rows), SHEET // width)
    n_rows = -(-len(rows) // per_row)
    sheet = np.zeros((n_rows * height, per_row * width, *images.shape[3:]), dtype=np.uint8)
    low, high = _brightness(images)
    for position, row in enumerate(rows.tolist()):
        small = Image.fromarray(_bytes_of(images[row], low, high)).resize((width, height), Image.Resampling.BOX)
        top, left = position // per_row * height, position % per_row * width
        sheet[top : top + height, left : left + width] = np.asarray(small)
    written, is_lossless = io.BytesIO(), sheet.size <= LOSSLESS
    picture = Image.fromarray(sheet)
    picture.save(written, "PNG", optimize=True) if is_lossless else picture.save(written, "JPEG", quality=88)
    return Sheet(written.getvalue(), "image/png" if is_lossless else "image/jpeg", width, height, per_row)


def _brightness(images: NDArray[Any]) -> tuple[float, float]:
    """What is black and what is white: 0 and 1, unless the images go beyond, as in `hne.viz.plots.scatter_images`."""
    if images.dtype == np.uint8:
        return 0.0, 255.0
    known = images[np.isfinite(images)]
    low, high = (min(0.0, float(known.min())), float(known.max())) if known.size else (0.0, 1.0)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)


def _bytes_of(image: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    share = (np.nan_to_num(image.astype(np.float64), nan=low) - low) / (high - low)
    return np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)
