"""Places, values, images -> what pictures are made of: dots with numbers of colors, thumbnails, the scree."""

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding, FloatArray, IndexArray
from hne.exceptions import MissingExtraError
from hne.viz.report.details import Column

# Numbers of colors, as the style sheets have them: steps of the ramp from 0, what is missing, ten categories, others.
RAMP, TEN = 17, 10
MISSING, FIRST_CATEGORY, OTHERS = RAMP, RAMP + 1, RAMP + 1 + TEN
# Positive numbers over more than this factor are told apart by their logarithms.
LOG_FACTOR = 300
# Pixels of a side: of the sheet, which browsers and graphics cards of today all take, and of a thumbnail.
SHEET, LARGEST, SMALLEST = 4096, 48, 16
# Pixels up to which a sheet is kept without loss.
LOSSLESS = 1_000_000
# Eigenvalues that are shown; those at or below rounding at this share of the least that is above it.
MOST_EIGENVALUES, FLOOR = 10, 0.1


@dataclass(frozen=True)
class Coloring:
    """A number of a color for each sample, and what a legend says of them."""

    codes: IndexArray  # (n,)
    entries: tuple[tuple[str, int], ...] = ()  # names of categories with their numbers
    ends: tuple[str, str] | None = None  # of the ramp; None for categories


def color_by(column: Column) -> Coloring:
    """Numbers on a ramp; of categories, the most frequent have colors and the others share one."""
    if column.categories is None:
        codes, *ends = ramp_steps(column.values.astype(np.float64))
        low, high = (str(np.datetime64(round(end), "D")) if column.is_time else f"{end:.4g}" for end in ends)
        return Coloring(codes, ends=(low, high))
    names = column.categories
    colored = most_frequent(column, TEN)
    numbers = np.full(len(names) + 1, OTHERS, dtype=np.intp)
    numbers[-1] = MISSING
    numbers[colored] = FIRST_CATEGORY + np.arange(len(colored))
    codes = numbers[column.values.astype(np.intp)]
    entries = [(names[code], number) for number, code in enumerate(colored, start=FIRST_CATEGORY)]
    entries += [(f"other ({len(names) - len(colored)} more)", OTHERS)] if len(names) > len(colored) else []
    entries += [("missing", MISSING)] if (codes == MISSING).any() else []
    return Coloring(codes, tuple(entries))


def most_frequent(column: Column, count: int) -> list[int]:
    """Codes of so many categories, the most frequent ones, in their order: those that get a color."""
    counts = np.bincount(column.values, minlength=len(column.categories or ()) + 1)[:-1]
    return sorted(np.argsort(-counts, kind="stable")[:count].tolist())


def ramp_steps(values: FloatArray) -> tuple[IndexArray, float, float]:
    """Steps of the ramp, and the values of its ends: without extremes, which would leave the others one color."""
    known = values[np.isfinite(values)]
    if not known.size:
        return np.full(len(values), MISSING, dtype=np.intp), 0.0, 0.0
    low, high = (float(end) for end in np.quantile(known, [0.01, 0.99]))
    if low == high or known.max() - known.min() <= 1.5 * (high - low):
        low, high = float(known.min()), float(known.max())
    is_log = low > 0 and high / low > LOG_FACTOR
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.log(np.maximum(values, low)) if is_log else values
    start, end = (np.log(low), np.log(high)) if is_log else (low, high)
    share = np.clip((size - start) / ((end - start) or 1.0), 0, 1)
    steps = np.where(np.isfinite(values), np.rint((RAMP - 1) * np.nan_to_num(share)), MISSING)
    return steps.astype(np.intp), low, high


@dataclass(frozen=True)
class Picture:
    """Dots of an SVG: a path for each color, lines of no length whose round caps are the dots; smaller than circles."""

    width: int
    height: int
    diameter: float
    paths: tuple[tuple[int, str], ...]  # number of the color, places


def draw_dots(
    places: FloatArray, codes: IndexArray, width: int, heights: tuple[int, int], margin: int, diameter: float
) -> Picture:
    """Places (n, 2) to one scale in a frame as high as they need, between the two heights."""
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.maximum(high - low, 1e-300)
    scale = min((width - 2 * margin) / spread[0], (heights[1] - 2 * margin) / spread[1])
    height = min(heights[1], max(heights[0], math.ceil(2 * margin + scale * spread[1])))
    fitted = (places - (low + high) / 2) * scale * [1, -1] + [width / 2, height / 2]
    paths = tuple(
        (number, "".join(f"M{x:.1f} {y:.1f}h0" for x, y in fitted[codes == number].tolist()))
        for number in np.unique(codes).tolist()
    )
    return Picture(width, height, diameter, paths)


@dataclass(frozen=True)
class Scree:
    """The first eigenvalues of the largest piece on a logarithmic scale, as shares of the picture's sides."""

    values: tuple[float, ...]  # after the constant one, ascending; empty where the piece is too small for any
    n_used: int  # the first so many are those of the coordinates, or as many as a chart has coordinates
    places: tuple[tuple[float, float], ...]  # from the left and from the top; empty where none is above rounding
    powers: tuple[tuple[int, float], ...]  # of ten, and how far from the top; some of them where there are many


def scree_of(result: Embedding) -> Scree:
    """The eigenvalues that the fit knows: nothing is solved for."""
    pairs, d = result.eigenpairs, result.settings.n_components
    known = [] if pairs is None else [*map(float, pairs.values), float(pairs.next_value)]
    values = tuple(value for value in known if math.isfinite(value))[: max(MOST_EIGENVALUES, d + 1)]
    positive = [value for value in values if value > 0]
    if not positive:
        return Scree(values, min(d, len(values)), (), ())
    heights = [math.log10(max(value, FLOOR * min(positive))) for value in values]
    low = math.floor(min(heights))
    high = max(math.ceil(max(heights)), low + 1)
    places = [((number + 0.5) / len(values), (high - height) / (high - low)) for number, height in enumerate(heights)]
    powers = [(power, (high - power) / (high - low)) for power in range(low, high + 1, max(1, (high - low) // 5))]
    return Scree(values, min(d, len(values)), tuple(places), tuple(powers))


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
    low, high = brightness_range(images)
    for position, row in enumerate(rows.tolist()):
        share = (np.nan_to_num(images[row].astype(np.float64), nan=low) - low) / (high - low)
        pixels = np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)
        small = Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX)
        top, left = position // per_row * height, position % per_row * width
        sheet[top : top + height, left : left + width] = np.asarray(small)
    written, is_lossless = io.BytesIO(), sheet.size <= LOSSLESS
    picture = Image.fromarray(sheet)
    picture.save(written, "PNG", optimize=True) if is_lossless else picture.save(written, "JPEG", quality=88)
    return Sheet(written.getvalue(), "image/png" if is_lossless else "image/jpeg", width, height, per_row)


def brightness_range(images: NDArray[Any]) -> tuple[float, float]:
    """What is black and what is white: 0 and 1, or 255 of bytes, unless the images go beyond."""
    if images.dtype == np.uint8:
        return 0.0, 255.0
    known = images[np.isfinite(images)]
    low, high = (min(0.0, float(known.min())), float(known.max())) if known.size else (0.0, 1.0)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)
