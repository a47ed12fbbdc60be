"""Path of a MAT file, or of a folder with one -> its matrices of numbers by name, or an error that says what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from hne._files import expanded
from hne._matlab import UNREADABLE, named_values, reason_of
from hne._quoted import quoted
from hne.exceptions import InputError, InputTypeError

Matrices: TypeAlias = dict[str, NDArray[Any]]

# First bytes of what compress packs, as face_data.mat.Z is, of what gzip packs, and of ZIP archives.
PACKED = (b"\x1f\x9d", b"\x1f\x8b", b"PK")


def read_matrices(path: object, known: tuple[str, ...], source: str) -> tuple[Path, Matrices]:
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


def described(matrices: Matrices) -> str:
    """Names and shapes of matrices, for messages."""
    words = [f"{name} ({' x '.join(map(str, matrix.shape))})" for name, matrix in matrices.items()]
    return ", ".join(words) or "no matrix of numbers"


def check_values(name: str, values: NDArray[Any], low: float, high: float, source: str) -> None:
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
