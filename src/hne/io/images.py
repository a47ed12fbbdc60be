"""A folder of images -> Table: pixels from 0 to 1, a row each, in the natural order of file names."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import track
from hne.io.mat_values import reason_of
from hne.io.names import numbered
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import PICTURES, File, extra

# Images of at most LARGEST pixels a side stay as they are, others become images within SMALL x SMALL.
LARGEST, SMALL = 128, 64
GREY, RGB = "grey", "rgb"
# The only label: names of the folders, where images are in several.
FOLDER = "folder"
# Pillow's modes without color, and the largest values of those with more than eight bits.
GREY_MODES = ("1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F")
DEEP_MODES = ("I", "I;16", "I;16B", "I;16L")
# The tag of EXIF for how the camera was held, and its first value that swaps width and height.
ORIENTATION, ON_ITS_SIDE = 274, 5
# Aspects that differ by less than this are the same: rounding of a scaled side to whole pixels.
SAME_ASPECT = 0.02


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """Images of a folder, as far as their headers tell."""

    paths: tuple[Path, ...]
    n_others: int  # files that are no images
    sizes: frozenset[tuple[int, int]]  # widths and heights, turned as the camera was held
    has_color: bool


def read_images(file: File, choices: ReadOptions) -> Table:
    """Read the images of a folder and of those below it."""
    folder = _looked_through(file, choices)
    mode = _mode(file, folder, choices)
    (width, height), notices = _size(folder, choices)
    shape = (height, width) if mode == GREY else (height, width, 3)
    X = np.empty((len(folder.paths), int(np.prod(shape))), dtype=np.float64)
    for row, path in enumerate(track("images", folder.paths, len(folder.paths))):
        X[row] = _pixels(file, path, mode, (width, height)).reshape(-1)
    if folder.n_others:
        notices = (*notices, f"Files that are no images are left out: {folder.n_others}.")
    names = [path.relative_to(file.path) for path in folder.paths]
    parents = [name.parent.as_posix() for name in names]
    labels = {FOLDER: np.array(parents, dtype=object)} if len(set(parents)) > 1 else {}
    return Table(
        X=X,
        feature_names=numbered(X.shape[1]),
        source=_source(folder, width, height, mode),
        ids=tuple(name.as_posix() for name in names),
        id_name="file",
        labels={name: column for name, column in labels.items() if name not in choices.drop},
        color=choices.color,
        image_shape=shape,
        notices=notices,
    )


def outline_images(file: File, choices: ReadOptions) -> Outline:
    """Foresee the table from the headers of the images."""
    folder = _looked_through(file, choices)
    mode = _mode(file, folder, choices)
    (width, height), _ = _size(folder, choices)
    n_features = width * height * (1 if mode == GREY else 3)
    return Outline(
        n_samples=len(folder.paths),
        n_features=n_features,
        is_exact=True,
        bytes=8 * len(folder.paths) * n_features,
        source=_source(folder, width, height, mode),
    )


def _source(folder: _Folder, width: int, height: int, mode: str) -> str:
    return f"{len(folder.paths)} images of {width} x {height}, {'grey' if mode == GREY else 'color'}"


def _looked_through(file: File, choices: ReadOptions) -> _Folder:
    """Look at the headers of all images."""
    files = [path for path in file.path.rglob("*") if path.is_file() and not _is_hidden(path, file.path)]
    paths = sorted((path for path in files if path.suffix.lower() in PICTURES), key=_natural)
    if not paths and any((file.path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
        msg = "must be a file or a folder of images, got a Zarr array. "
        msg += "Let Dask workers read it (hne embed --dask), or save it as .npy."
        raise file.error(msg)
    if not paths:
        held = f"{len(files)} other files" if files else "an empty one"
        msg = f"must be a file or a folder of images (PNG, JPEG, GIF, BMP, TIFF, WebP, PGM), got {held}. "
        raise file.error(msg + "Name one of the files in it." if files else msg + "Check the path.")
    _check_choices(file, paths, choices)
    sizes, modes = zip(*(_header(file, path) for path in paths), strict=True)
    return _Folder(
        paths=tuple(paths),
        n_others=len(files) - len(paths),
        sizes=frozenset(sizes),
        has_color=any(mode not in GREY_MODES for mode in modes),
    )


def _check_choices(file: File, paths: Sequence[Path], choices: ReadOptions) -> None:
    """Refuse what is chosen of a table but the label of a folder of folders, to color by or to forget."""
    has_label = len({path.parent for path in paths}) > 1
    for option in ("columns", "id", "array", "transpose", "drop", "color"):
        chosen = getattr(choices, option)
        means_label = option in ("drop", "color") and chosen in (FOLDER, (FOLDER,))
        if not chosen or (means_label and has_label):
            continue
        if means_label:
            msg = f"must have images in several folders for --{option} {FOLDER}, got all in one. Leave it out."
        else:
            msg = f"is a folder of images, which has no columns or arrays to choose, got --{option}. Leave it out."
        raise file.error(msg)
    if choices.color and choices.drop:
        msg = f"must keep the column to color by, got '{FOLDER}' for --color and --drop. Leave one of them out."
        raise file.error(msg)


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _natural(path: Path) -> list[list[tuple[int, int, str]]]:
    """Order in which 2 comes before 10, folder by folder."""
    return [
        [(0, int(run), "") if run.isdecimal() else (1, 0, run) for run in re.split(r"(\d+)", part.lower()) if run]
        for part in path.parts
    ]


def _header(file: File, path: Path) -> tuple[tuple[int, int], str]:
    """Size, upright, and Pillow's mode."""
    with _opened(file, path) as image:
        width, height = image.size
        # A PNG file without EXIF before its pixels would be read to its end for it.
        has_exif = image.format != "PNG" or "exif" in image.info
        is_turned = has_exif and image.getexif().get(ORIENTATION, 1) >= ON_ITS_SIDE
        mode = image.mode
        if mode in ("P", "PA"):
            colors = np.asarray(image.convert("RGB"))
            mode = "L" if (colors == colors[..., :1]).all() else "RGB"
        return ((height, width) if is_turned else (width, height)), mode


@contextmanager
def _opened(file: File, path: Path) -> Iterator[Any]:
    """Give an image; whatever goes wrong with it is told with its name."""
    pillow = extra("PIL.Image", f"reading {file.title}", "pillow")
    try:
        # What cannot be read raises; of the rest, such as notes of a camera that are cut short, nothing is read.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(path) as image:
                yield image
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, pillow.DecompressionBombError) as error:
        raise _damaged(file, path, error) from error


def _damaged(file: File, path: Path, error: BaseException) -> Exception:
    name = path.relative_to(file.path).as_posix()
    reason = reason_of(error).replace(f" {str(path)!r}", "")
    return file.error(f"must hold whole images, got a damaged one, '{name}' ({reason}). Mend it or move it away.")


def _mode(file: File, folder: _Folder, choices: ReadOptions) -> str:
    if choices.image_mode is None:
        return RGB if folder.has_color else GREY
    if choices.image_mode not in (GREY, RGB):
        msg = f"can be read in the modes {GREY} and {RGB}, got --image-mode {choices.image_mode}. Choose one of them."
        raise file.error(msg)
    return choices.image_mode


def _size(folder: _Folder, choices: ReadOptions) -> tuple[tuple[int, int], tuple[str, ...]]:
    """Width and height that all images get, and a notice where that was decided here."""
    if choices.image_size is not None:
        return choices.image_size, ()
    sizes = sorted(folder.sizes)
    if len(sizes) == 1 and max(sizes[0]) <= LARGEST:
        return sizes[0], ()
    width, height = _common(sizes)
    found = f"{sizes[0][0]} x {sizes[0][1]}" if len(sizes) == 1 else f"{len(sizes)} sizes"
    notice = f"Images of {found} are resized to {width} x {height}; --image-size chooses another size."
    return (width, height), (notice,)


def _common(sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The largest size within SMALL x SMALL of the aspect that all images have, else the square."""
    aspects = [width / height for width, height in sizes]
    if max(aspects) / min(aspects) > 1 + SAME_ASPECT:
        return SMALL, SMALL
    width, height = sizes[0]
    scale = min(SMALL / max(width, height), 1.0)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _pixels(file: File, path: Path, mode: str, size: tuple[int, int]) -> NDArray[np.float64]:
    """Pixels of an image from 0 to 1: upright, on white where it is transparent, of the size and mode wanted."""
    operations = extra("PIL.ImageOps", f"reading {file.title}", "pillow")
    with _opened(file, path) as opened:
        image = operations.exif_transpose(opened)
        if image.mode in DEEP_MODES or image.mode == "F":
            return _deep_pixels(image, mode, size)
        image = _on_white(image).convert("L" if mode == GREY else "RGB")
        if image.size != size:
            image = image.resize(size, resample=_box_or_lanczos(image.size, size))
        return np.asarray(image, dtype=np.float64) / 255


def _box_or_lanczos(old: tuple[int, int], new: tuple[int, int]) -> int:
    """Pillow's number of a filter: averages over boxes to shrink by whole numbers, else Lanczos."""
    box, lanczos = 4, 1
    return box if all(a % b == 0 for a, b in zip(old, new, strict=True)) else lanczos


def _on_white(image: Any) -> Any:
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image
    pillow = extra("PIL.Image", "reading images", "pillow")
    image = image.convert("RGBA")
    white = pillow.new("RGBA", image.size, "white")
    return pillow.alpha_composite(white, image)


def _deep_pixels(image: Any, mode: str, size: tuple[int, int]) -> NDArray[np.float64]:
    """Pixels of an image with 16 bits of grey, or with numbers of single precision."""
    is_deep = image.mode in DEEP_MODES
    values: NDArray[Any] = np.asarray(image, dtype=np.float32)
    if is_deep:
        values = values / np.float32(65535)
    elif values.max() > 1:
        values = values / np.float32(255 if values.max() <= 255 else 65535)
    if image.size != size:
        pillow = extra("PIL.Image", "reading images", "pillow")
        resized = pillow.fromarray(values).resize(size, resample=_box_or_lanczos(image.size, size))
        values = np.asarray(resized, dtype=np.float32)
    grey = np.clip(values.astype(np.float64), 0, 1)
    return grey if mode == GREY else np.repeat(grey[..., None], 3, axis=2)
