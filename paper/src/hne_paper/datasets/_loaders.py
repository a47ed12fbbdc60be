"""MAT files of others -> datasets of pictures, statue faces and teapots, or an error that says what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from hne._runtime.files import expanded
from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne.datasets.rolls import ROLL_CITATION
from hne.exceptions import InputError, InputTypeError, quoted
from hne.io.files import UNREADABLE, reason_of
from hne.io.hdf5 import named_values

# Files by the names under which they go around, in small letters; the first is the original.
FACES_FILES = ("face_data.mat", "statue_face_32x32.mat")
TEAPOTS_FILES = ("teapots.mat", "teapot.mat", "teapots100.mat")
FACES_SOURCE = (
    "The original, face_data.mat, is on Isomap's page https://web.mit.edu/cocosci/isomap/datasets.html or, where that "
    "has gone, in the Internet Archive's copy of http://isomap.stanford.edu; make_faces() renders similar ones."
)
TEAPOTS_SOURCE = (
    "Weinberger and Saul published the original with maximum variance unfolding; a copy, Teapots.mat, is in "
    "https://github.com/calebralphs/maximum-variance-unfolding; make_teapots() renders similar ones."
)
# Pixels of a face, and the rows and columns that they make.
FACE_SIDES = {4096: 64, 1024: 32}
TEAPOT_SHAPE = (76, 101, 3)
N_TEAPOTS = 400
# Pixels may be beyond [0, 1] by a rounding error of single precision.
SLACK = 1e-6
# First bytes of what compress packs, as face_data.mat.Z is, of what gzip packs, and of ZIP archives.
PACKED = (b"\x1f\x9d", b"\x1f\x8b", b"PK")

Matrices: TypeAlias = dict[str, NDArray[Any]]


def load_statue_faces(path: str | os.PathLike[str]) -> Dataset:
    """Read the 698 pictures of a statue's face by Tenenbaum, de Silva and Langford, with their three angles.

    Parameters
    ----------
    path : str or path-like
        MAT file, or the folder that holds one under its usual name; `~` is the home folder. Two kinds are known: the
        original `face_data.mat` (`images` of 64 x 64, `poses`, `lights`) and the halved `statue_face_32x32.mat`
        (`dataY`, every second pixel both ways, and `dataT`). A part of the columns will do.

    Returns
    -------
    Dataset
        `X` of shape (n, 4096) or (n, 1024) in [0, 1], upright under `X[i].reshape(image_shape)`; `chart` of shape
        (n, 3) with pan, tilt and light as the file has them: degrees in the original, in the halved one scaled to
        mean 0 and variance 1.

    See Also
    --------
    make_faces : Similar pictures, rendered on the spot.

    Examples
    --------
    >>> load_statue_faces("nowhere/face_data.mat")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hne.exceptions.InputError: cannot read 'nowhere/face_data.mat': no such file. The original, face_data.mat, is ...
    """
    file, matrices = _read_matrices(path, FACES_FILES, FACES_SOURCE)
    name, images = _pictures(matrices, tuple(FACE_SIDES), f"'{file}'", FACES_SOURCE)
    _check_values(f"{name} of '{file}'", images, -SLACK, 1 + SLACK, FACES_SOURCE)
    chart = _angles(matrices, images.shape[1], f"'{file}'")
    _check_values(f"the angles of '{file}'", chart, -360, 360, FACES_SOURCE)
    side = FACE_SIDES[len(images)]
    return Dataset.of_one_group(
        _upright(images, (side, side)),
        chart,
        name=f"Statue faces, {side} x {side}, {images.shape[1]} samples",
        citation=ROLL_CITATION,
        chart_names=("pan", "tilt", "light"),
        image_shape=(side, side),
    )


def load_teapots(path: str | os.PathLike[str]) -> Dataset:
    """Read the 400 pictures of a turning teapot by Weinberger and Saul, or every 2nd, 4th, ... of them.

    Parameters
    ----------
    path : str or path-like
        MAT file, or the folder that holds one under its usual name; `~` is the home folder. The pictures are the
        matrix in it that has 23028 rows, 76 x 101 pixels times three colors, whatever its name; of 0 to 255 or 0 to 1.

    Returns
    -------
    Dataset
        `X` of shape (n, 23028) in [0, 1], upright under `X[i].reshape(76, 101, 3)`; `chart` of shape (n, 1) with the
        angle in degrees, 0, 360 / n, ...

    See Also
    --------
    make_teapots : Similar pictures, rendered on the spot.

    Examples
    --------
    >>> load_teapots("nowhere/teapots.mat")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hne.exceptions.InputError: cannot read 'nowhere/teapots.mat': no such file. Weinberger and Saul published ...
    """
    file, matrices = _read_matrices(path, TEAPOTS_FILES, TEAPOTS_SOURCE)
    n_pixels = int(np.prod(TEAPOT_SHAPE))
    name, images = _pictures(matrices, (n_pixels,), f"'{file}'", TEAPOTS_SOURCE)
    n_samples = images.shape[1]
    if N_TEAPOTS % n_samples:
        msg = (
            f"{name} of '{file}' must hold {N_TEAPOTS} pictures or an even share of the circle, such as 200 or 100, "
            f"got {n_samples}. {TEAPOTS_SOURCE}"
        )
        raise InputError(msg)
    _check_values(f"{name} of '{file}'", images, 0, 255, TEAPOTS_SOURCE)
    scale = 255.0 if images.dtype.kind in "iu" or images.max() > 1 else 1.0
    angles: FloatArray = 360 / n_samples * np.arange(n_samples, dtype=np.float64)
    return Dataset.of_one_group(
        _upright(images, TEAPOT_SHAPE) / scale,
        angles[:, None],
        name=f"Teapots of Weinberger and Saul, {n_samples} samples",
        citation="Weinberger and Saul, International Journal of Computer Vision 70 (2006) 77-90",
        chart_names=("closed angle",),
        image_shape=TEAPOT_SHAPE,
    )


def _pictures(matrices: Matrices, sizes: tuple[int, ...], file: str, source: str) -> tuple[str, NDArray[Any]]:
    """Name and matrix of the pictures, one a column: the matrix that has as many rows, or columns, as pixels."""
    for name, matrix in matrices.items():
        for candidate in (matrix, matrix.T):
            if candidate.shape[0] in sizes:
                return name, candidate
    rows = " or ".join(map(str, sizes))
    msg = f"{file} must hold a matrix of {rows} rows, a picture a column, got {_described(matrices)}. {source}"
    raise InputError(msg)


def _angles(matrices: Matrices, n_samples: int, file: str) -> FloatArray:
    """Pan, tilt and light of each face, one a row."""
    if {"poses", "lights"} <= matrices.keys():
        parts = {"poses": (matrices["poses"], 2), "lights": (matrices["lights"], 1)}
    elif "dataT" in matrices:
        # The halved file has the light first.
        parts = {"dataT": (np.roll(matrices["dataT"], -1, axis=0), 3)}
    else:
        msg = (
            f"{file} must hold the angles, poses and lights or dataT, got {_described(matrices)}. "
            "Save them along with the pictures."
        )
        raise InputError(msg)
    for name, (part, n_rows) in parts.items():
        if part.shape != (n_rows, n_samples):
            got = " x ".join(map(str, part.shape))
            msg = (
                f"{name} of {file} must be {n_rows} x {n_samples}, a column for each picture, got {got}. "
                "Save the angles of all pictures and no others."
            )
            raise InputError(msg)
    return np.vstack([part for part, _ in parts.values()]).T.astype(np.float64)


def _upright(images: NDArray[Any], shape: tuple[int, ...]) -> FloatArray:
    """Pictures as rows, from columns in which MATLAB has put them column after column, channel after channel."""
    turned = images.T.reshape(-1, *shape[::-1]).astype(np.float64)
    backwards = range(turned.ndim - 1, 0, -1)
    return np.ascontiguousarray(turned.transpose(0, *backwards)).reshape(len(turned), -1)


def _read_matrices(path: object, known: tuple[str, ...], source: str) -> tuple[Path, Matrices]:
    """Path of the file that was read, and the matrices in it, fields of structs included.

    `known` are the names to look for in a folder, `source` is a sentence about where to get such a file.
    """
    file = _find(path, known, source)
    try:
        with file.open("rb") as stream:
            packed = stream.read(2) in PACKED
        content = {} if packed else loadmat(file)
    except NotImplementedError as error:
        msg = (
            f"'{file}' must be a MAT file of version 7 or older, got version 7.3. "
            "Write it anew in MATLAB: save(name, '-v7')."
        )
        raise InputError(msg) from error
    except UNREADABLE as error:
        msg = f"'{file}' must be a MAT file, got one that cannot be read ({reason_of(error)}). {source}"
        raise InputError(msg) from error
    if packed:
        msg = f"'{file}' must be a MAT file, got a packed one. Unpack it first: gunzip knows .Z files too."
        raise InputError(msg)
    return file, {name: value for name, value in named_values(content) if _is_matrix(value)}


def _described(matrices: Matrices) -> str:
    """Names and shapes of matrices, for messages."""
    words = [f"{name} ({' x '.join(map(str, matrix.shape))})" for name, matrix in matrices.items()]
    return ", ".join(words) or "no matrix of numbers"


def _check_values(name: str, values: NDArray[Any], low: float, high: float, source: str) -> None:
    """Refuse values that are not finite, or not between low and high."""
    wrong = np.count_nonzero(~np.isfinite(values))
    if wrong:
        msg = f"{name} must be finite, got {wrong} values that are not. {source}"
        raise InputError(msg)
    least, most = values.min(), values.max()
    if least < low or most > high:
        msg = f"{name} must lie between {low:g} and {high:g}, got values from {least:g} to {most:g}. {source}"
        raise InputError(msg)


def _find(path: object, known: tuple[str, ...], source: str) -> Path:
    """Path of the file, or of one with a known name, in any case, where the path is a folder."""
    if not isinstance(path, str | os.PathLike):
        msg = f"path must be text or a Path, got {quoted(path)} of type {type(path).__name__}. Pass a file's name."
        raise InputTypeError(msg)
    file = expanded(path)
    if not file.is_dir():
        if not file.exists():
            msg = f"cannot read '{file}': no such file. {source}"
            raise InputError(msg)
        return file
    found = known_file(file, known)
    if found is not None:
        return found
    msg = f"'{file}' must hold {' or '.join(known)}, got a folder with none of them. {source}"
    raise InputError(msg)


def known_file(folder: Path, known: tuple[str, ...]) -> Path | None:
    """The first of these files, named in small letters, that the folder has in any case of letters."""
    here = {entry.name.lower(): entry for entry in sorted(folder.iterdir(), reverse=True)}
    return next((here[name] for name in known if name in here), None)


def _is_matrix(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf" and value.size > 0
