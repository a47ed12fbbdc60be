"""Which images the experiments use: the originals where a folder has them, else the rendered ones."""

import hashlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hne._runtime.files import expanded
from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne.exceptions import InputError
from hne_paper.datasets import load_statue_faces, load_teapots, make_faces, make_teapots
from hne_paper.datasets._loaders import FACES_FILES, TEAPOTS_FILES, known_file
from hne_paper.experiments._records import Options

FULL_SIZE = 64
# In a quick run; enough to show, too few for the numbers to mean much.
QUICK_FACES, QUICK_TEAPOTS = 300, 100


@dataclass(frozen=True)
class Images:
    """Images by where they come from, so that a process can load them itself; equal by content, not by path."""

    family: str  # "faces" or "teapots"
    digest: str  # of the file, or "rendered"
    count: int | None = None  # so many, spread evenly over the file; None for all
    path: str | None = field(default=None, repr=False, compare=False)

    def load(self) -> Dataset:
        """The images; a process loads them once."""
        return _loaded(self)

    def coordinates(self) -> FloatArray:
        """The images in a basis of their own span, (n, at most n): equal distances, fewer numbers."""
        return _in_own_span(self)

    @property
    def is_original(self) -> bool:
        """Whether they are those of the paper."""
        return self.path is not None

    @property
    def name(self) -> str:
        """For file names."""
        kind = "original" if self.is_original else "rendered"
        return f"{kind} {self.family} {'all' if self.count is None else self.count}"

    @property
    def title(self) -> str:
        """For captions."""
        return self.load().name

    @property
    def scale(self) -> float:
        """Lengths of these images times this are lengths of full-size ones: of halved faces, 2."""
        shape = self.load().image_shape or (FULL_SIZE,)
        return FULL_SIZE / shape[0] if self.family == "faces" else 1.0

    @property
    def words(self) -> str:
        """What was used, in a sentence."""
        if not self.is_original:
            return f"Images: {self.title}, rendered by this package in place of the originals."
        halved = (
            f" Every second pixel of both axes; lengths are multiplied by {self.scale:g}." if self.scale != 1 else ""
        )
        return f"Images: {self.title}, read from a file.{halved}"


def pictures_of(data: Dataset) -> FloatArray:
    """The samples as pictures, (n, rows, columns) or with three channels at the end."""
    return data.X.reshape(len(data), *(data.image_shape or ()))


def find_faces(options: Options) -> Images:
    """The statue faces, or rendered heads."""
    path = file_in(options.data, FACES_FILES)
    if path is None:
        return Images("faces", "rendered", QUICK_FACES if options.quick else None)
    return Images("faces", _digest(path), path=str(path))


def find_teapots(options: Options, count: int | None = None) -> Images:
    """The teapots, or rendered ones where there is no file or it has fewer."""
    path = file_in(options.data, TEAPOTS_FILES)
    if path is not None:
        images = Images("teapots", _digest(path), count, str(path))
        if count is None or len(replace(images, count=None).load()) >= count:
            return images
    return Images("teapots", "rendered", count or (QUICK_TEAPOTS if options.quick else None))


def file_in(folder: Path | None, names: tuple[str, ...]) -> Path | None:
    """The first of these files that the folder has; None without a folder."""
    if folder is None:
        return None
    place = expanded(folder)
    if not place.is_dir():
        msg = f"data must be a folder with the original images, got '{folder}'. Leave it away for rendered ones."
        raise InputError(msg)
    return known_file(place, names)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _loaded(images: Images) -> Dataset:
    if images.family == "faces":
        return make_faces(images.count or 698) if images.path is None else load_statue_faces(images.path)
    if images.path is None:
        return make_teapots(images.count or 400)
    return _taken(load_teapots(images.path), images.count)


@lru_cache(maxsize=4)
def _in_own_span(images: Images) -> FloatArray:
    # X' = Q R with orthonormal Q, so the rows of R' lie to each other as those of X; no squares that lose digits.
    X = images.load().X
    coordinates: FloatArray = np.ascontiguousarray(np.linalg.qr((X - X.mean(axis=0)).T, mode="reduced").R.T)
    return coordinates


def _taken(data: Dataset, count: int | None) -> Dataset:
    """So many samples, spread evenly."""
    rows = np.arange(len(data)) if count is None else np.arange(count) * len(data) // count
    return replace(data, X=data.X[rows], chart=data.chart[rows], labels=data.labels[rows])
