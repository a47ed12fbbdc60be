"""Files that are not whole yet: held while they are written, and cleared where whoever wrote them is gone.

A process that is killed cannot clean up. Its lock ends with it, by which the next one knows that nobody goes on.
"""

import os
import platform
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be renamed either
    fcntl = None


@contextmanager
def unfinished(folder: Path, ending: str) -> Iterator[Path]:
    """Give an empty file in a folder, locked for as long as the block lasts; it is removed unless it was renamed."""
    _clear(folder)
    path, held = _made(folder, ending)
    try:
        yield path
    finally:
        # A place that could not be written to cannot be cleaned either, and the first error is the one to tell.
        with suppress(OSError):
            path.unlink()
        if held is not None:
            os.close(held)


def temporary_name(token: str) -> str:
    """How a file is called, but for its ending, until it is whole."""
    return f".hne-{token}.part"


def _here() -> str:
    """A short word for this machine: on a disk that several share, locks of the others may not be seen."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _made(folder: Path, ending: str) -> tuple[Path, int | None]:
    """A file of a new name, and what holds its lock, None where there are no locks."""
    while True:
        path = folder / (temporary_name(f"{_here()}-{secrets.token_hex(6)}") + ending)
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if fcntl is None:
            os.close(file)
            return path, None
        with suppress(OSError):  # Some file systems have no locks.
            fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever clears may have been faster than the lock.
        if path.exists():
            return path, file
        os.close(file)


@cache
def _clear(folder: Path) -> None:
    """Remove what killed processes of this machine left in a folder, once a process."""
    if fcntl is None:
        return
    begin, middle = temporary_name(f"{_here()}-\0").split("\0")
    left: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        ours = (one for one in entries if one.name.startswith(begin) and middle in one.name)
        left += [one.path for one in ours if one.is_file(follow_symlinks=False)]
    for path in left:
        with suppress(OSError):
            _remove_unless_held(path)


def _remove_unless_held(path: str) -> None:
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(path).unlink()
    finally:
        os.close(file)
