"""A folder of images -> Table: pixels from 0 to 1, a row each, in the natural order of file names."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import track
from hne.io.files import PICTURES, File, ReadOptions, extra, reason_of
from hne.io.table import Table, numbered

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


def read_images(file: File, options: ReadOptions) -> Table:
    """Read the images of a folder and of those below it."""
    paths, n_others = _find_images(file)
    names = [path.relative_to(file.path) for path in paths]
    parents = [name.parent.as_posix() for name in names]
    _check_options(file, options, has_folders=len(set(parents)) > 1)
    sizes, modes = zip(*(_header(file, path) for path in paths), strict=True)
    mode = options.image_mode or (GREY if all(mode in GREY_MODES for mode in modes) else RGB)
    (width, height), notices = (options.image_size, []) if options.image_size else _common_size(sorted(set(sizes)))
    if n_others:
        notices.append(f"Files that are no images are left out: {n_others}.")
    shape = (height, width) if mode == GREY else (height, width, 3)
    file.check_fits(8 * len(paths) * prod(shape), len(paths), prod(shape))
    X = np.empty((len(paths), prod(shape)), dtype=np.float64)
    for row, path in enumerate(track("images", paths, len(paths))):
        X[row] = _pixels(file, path, mode, (width, height)).reshape(-1)
    has_label = len(set(parents)) > 1 and FOLDER not in options.drop
    return Table(
        X=X,
        feature_names=numbered(X.shape[1]),
        source=f"{len(paths)} images of {width} x {height}, {'grey' if mode == GREY else 'color'}",
        ids=tuple(name.as_posix() for name in names),
        id_name="file",
        labels={FOLDER: np.array(parents, dtype=object)} if has_label else {},
        color=options.color,
        image_shape=shape,
        notices=tuple(notices),
    )


def _find_images(file: File) -> tuple[list[Path], int]:
    """Images below the folder, but for hidden ones, and the number of other files."""
    every = (path for path in file.path.rglob("*") if path.is_file())
    files = [path for path in every if not any(part.startswith(".") for part in path.relative_to(file.path).parts)]
    paths = [path for path in files if path.suffix.lower() in PICTURES]
    if not paths:
        got, remedy = ("an empty one", "Check the path")
        if any((file.path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
            got, remedy = "a Zarr array", "Let Dask workers read it (hne embed --dask), or save it as .npy"
        elif files:
            got, remedy = f"{len(files)} other files", "Name one of the files in it"
        file.refuse("must be a file or a folder of images (PNG, JPEG, GIF, BMP, TIFF, WebP, PGM)", got, remedy)

    def natural(path: Path) -> list[list[int | str]]:
        # Runs of letters and of digits take turns: 2 comes before 10, folder by folder.
        runs = [enumerate(re.split(r"(\d+)", part.lower())) for part in path.parts]
        return [[int(run) if i % 2 else run for i, run in part] for part in runs]

    return sorted(paths, key=natural), len(files) - len(paths)


def _check_options(file: File, options: ReadOptions, *, has_folders: bool) -> None:
    """Refuse what is chosen of a table but the label of a folder of folders, to color by or to forget."""
    for option in ("columns", "id", "array", "transpose", "drop", "color"):
        chosen = getattr(options, option)
        means_label = option in ("drop", "color") and chosen in (FOLDER, (FOLDER,))
        if not chosen or (means_label and has_folders):
            continue
        if means_label:
            file.refuse(f"must have images in several folders for {option}='{FOLDER}'", "all in one", "Leave it out")
        file.refuse("is a folder of images, which has no columns or arrays to choose", f"`{option}`", "Leave it out")
    if options.color and options.drop:
        file.refuse("must keep the column to color by", f"'{FOLDER}' for `color` and `drop`", "Leave one of them out")
    if options.image_mode not in (None, GREY, RGB):
        got = f"image_mode='{options.image_mode}'"
        file.refuse(f"can be read in the modes {GREY} and {RGB}", got, "Choose one of them")


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
        got = f"'{path.relative_to(file.path).as_posix()}' ({reason_of(error).replace(f' {str(path)!r}', '')})"
        file.refuse("must hold whole images", f"a damaged one, {got}", "Mend it or move it away")


def _common_size(sizes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], list[str]]:
    """Width and height that all images get, and a notice where they are resized.

    That is the largest size within SMALL x SMALL of the aspect that all have, else the square.
    """
    width, height = sizes[0]
    if len(sizes) == 1 and max(width, height) <= LARGEST:
        return (width, height), []
    before = f"{width} x {height}" if len(sizes) == 1 else f"{len(sizes)} sizes"
    aspects = [width / height for width, height in sizes]
    if max(aspects) / min(aspects) > 1 + SAME_ASPECT:
        width, height = SMALL, SMALL
    scale = min(SMALL / max(width, height), 1.0)
    width, height = max(1, round(width * scale)), max(1, round(height * scale))
    notice = f"Images of {before} are resized to {width} x {height}; image_size chooses another size."
    return (width, height), [notice]


def _pixels(file: File, path: Path, mode: str, size: tuple[int, int]) -> NDArray[np.float64]:
    """Pixels of an image from 0 to 1: upright, on white where it is transparent, of the size and mode wanted."""
    pillow = extra("PIL.Image", f"reading {file.title}", "pillow")
    operations = extra("PIL.ImageOps", f"reading {file.title}", "pillow")
    with _opened(file, path) as opened:
        image = operations.exif_transpose(opened)
        is_deep = image.mode in DEEP_MODES or image.mode == "F"
        if is_deep:
            # 16 bits of grey, or numbers of single precision, which tell their largest by themselves.
            greys = np.asarray(image, dtype=np.float32)
            largest = 65535 if image.mode in DEEP_MODES else next((w for w in (1, 255) if greys.max() <= w), 65535)
            image = pillow.fromarray(greys / np.float32(largest))
        elif "A" in image.getbands() or "transparency" in image.info:
            image = image.convert("RGBA")
            image = pillow.alpha_composite(pillow.new("RGBA", image.size, "white"), image)
        if not is_deep:
            image = image.convert("L" if mode == GREY else "RGB")
        if image.size != size:
            # Averages over boxes to shrink by whole numbers, else Lanczos.
            is_whole = all(old % new == 0 for old, new in zip(image.size, size, strict=True))
            image = image.resize(size, resample=pillow.Resampling.BOX if is_whole else pillow.Resampling.LANCZOS)
        values = np.asarray(image, dtype=np.float64)
        if not is_deep:
            return values / 255
        grey = np.clip(values, 0, 1)
        return grey if mode == GREY else np.repeat(grey[..., None], 3, axis=2)
