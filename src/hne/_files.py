"""Paths with the home folder in place of ~, and files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hne.exceptions import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; it is renamed to `path` if the block succeeds, else removed."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        # A place that could not be written to cannot be cleaned either, and the first error is the one to tell.
        with suppress(OSError):
            temporary.unlink()


def make_folder(path: Path) -> None:
    """Make the folder and those above it, unless they are there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with the home folder in place of ~, or an error that says what is wrong with it."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        msg = f"path must be one that can be found, got '{path}', whose user is unknown. Write it out."
        raise InputError(msg) from error


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write '{path}': {(error.strerror or str(error)).lower()}. Choose another place.")
