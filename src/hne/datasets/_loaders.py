"""MAT files of others -> datasets of pictures: statue faces and teapots."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._types import FloatArray
from hne.datasets._draws import titled
from hne.datasets._matlab import Matrices, check_values, described, read_matrices
from hne.datasets._record import Dataset
from hne.datasets._rolls import ROLL_CITATION
from hne.exceptions import InputError

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


def load_statue_faces(path: str | PathLike[str]) -> Dataset:
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
    file, matrices = read_matrices(path, FACES_FILES, FACES_SOURCE)
    name, images = _pictures(matrices, tuple(FACE_SIDES), f"'{file}'", FACES_SOURCE)
    check_values(f"{name} of '{file}'", images, -SLACK, 1 + SLACK, FACES_SOURCE)
    chart = _angles(matrices, images.shape[1], f"'{file}'")
    check_values(f"the angles of '{file}'", chart, -360, 360, FACES_SOURCE)
    side = FACE_SIDES[len(images)]
    return Dataset.of_one_group(
        _upright(images, (side, side)),
        chart,
        name=titled(f"Statue faces, {side} x {side}", images.shape[1]),
        citation=ROLL_CITATION,
        chart_names=("pan", "tilt", "light"),
        image_shape=(side, side),
    )


def load_teapots(path: str | PathLike[str]) -> Dataset:
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
    file, matrices = read_matrices(path, TEAPOTS_FILES, TEAPOTS_SOURCE)
    n_pixels = int(np.prod(TEAPOT_SHAPE))
    name, images = _pictures(matrices, (n_pixels,), f"'{file}'", TEAPOTS_SOURCE)
    n_samples = images.shape[1]
    if N_TEAPOTS % n_samples:
        msg = (
            f"{name} of '{file}' must hold {N_TEAPOTS} pictures or an even share of the circle, such as 200 or 100, "
            f"got {n_samples}. {TEAPOTS_SOURCE}"
        )
        raise InputError(msg)
    check_values(f"{name} of '{file}'", images, 0, 255, TEAPOTS_SOURCE)
    scale = 255.0 if images.dtype.kind in "iu" or images.max() > 1 else 1.0
    angles: FloatArray = 360 / n_samples * np.arange(n_samples, dtype=np.float64)
    return Dataset.of_one_group(
        _upright(images, TEAPOT_SHAPE) / scale,
        angles[:, None],
        name=titled("Teapots of Weinberger and Saul", n_samples),
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
    msg = f"{file} must hold a matrix of {rows} rows, a picture a column, got {described(matrices)}. {source}"
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
            f"{file} must hold the angles, poses and lights or dataT, got {described(matrices)}. "
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
