"""Paths with the home folder in place of ~, and files that are there whole or not at all."""

import os
import platform
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from hne._runtime.progress import bound
from hne.exceptions import InputError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be renamed either
    fcntl = None

_KEEPS_EXISTING: ContextVar[bool] = ContextVar("hne_keeps_existing", default=False)


def keep_existing_files(kept: bool = True) -> AbstractContextManager[None]:
    """Let `atomic_write` refuse for a while to replace a file, unless it is told otherwise."""
    return bound(_KEEPS_EXISTING, kept)


@contextmanager
def atomic_write(path: Path, *, overwrite: bool | None = None) -> Iterator[Path]:
    """Give a temporary file beside the file; it takes the file's place if the block succeeds, else it is removed.

    It has the ending that was asked for, whatever a link leads to. A link stays one, and what it leads to is replaced;
    a file that is replaced hands its permissions on. Pipes and devices stay too: what was written goes into them.
    `overwrite=None` replaces what is there but within `keep_existing_files`.
    """
    try:
        if is_stream(path):
            with tempfile.TemporaryDirectory(prefix="hne-") as folder:
                temporary = Path(folder) / f"output{path.suffix}"
                yield temporary
                # Nothing is made where nothing is any more.
                with temporary.open("rb") as file, os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:
                    shutil.copyfileobj(file, stream, 1 << 20)
            return
        target = Path(os.path.realpath(path))
        with _temporary_file(target.parent, path.suffix) as temporary:
            yield temporary
            _take_place(temporary, target, not _KEEPS_EXISTING.get() if overwrite is None else overwrite)
    except FileExistsError as error:
        raise already_there(path) from error
    except OSError as error:
        raise _cannot_write(path, error) from error


def is_stream(path: Path) -> bool:
    """Whether a pipe or a device is there, which takes what it is given and cannot be replaced; disks are refused."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return True
    msg = f"cannot write '{path}': it is a {'disk' if stat.S_ISBLK(mode) else 'socket'}. Choose another place."
    raise InputError(msg)


def _take_place(temporary: Path, target: Path, overwrite: bool) -> None:
    """Give a finished file its name: in place of what has it, or only if nothing has."""
    if overwrite:
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        return
    try:
        # A question and its answer in one, unlike a look beforehand.
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        if target.exists():
            raise FileExistsError from None
        temporary.replace(target)


def already_there(path: Path) -> InputError:
    """The error about a file that nobody allowed to overwrite."""
    msg = f"cannot write '{path}': it exists already. Add overwrite=True to overwrite it, or choose another name."
    return InputError(msg)


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
    # NumPy's own words for a disk that is full are numbers: "4096 requested and 512 written".
    is_short = error.errno is None and "requested and" in str(error)
    reason = "no space left on device" if is_short else (error.strerror or str(error)).lower()
    return InputError(f"cannot write '{path}': {reason}. Choose another place.")


def temporary_name(token: str) -> str:
    """How a file is called, but for its ending, until it is whole."""
    return f".hne-{token}.part"


@cache
def _machine() -> str:
    """A short word for this machine: on a disk that several share, locks of the others may not be seen."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


@contextmanager
def _temporary_file(folder: Path, ending: str) -> Iterator[Path]:
    """Give an empty file in a folder, locked for as long as the block lasts; it is removed unless it was renamed."""
    _clear(folder)
    while True:
        path = folder / (temporary_name(f"{_machine()}-{secrets.token_hex(6)}") + ending)
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if fcntl is None:
            os.close(file)
            break
        with suppress(OSError):  # Some file systems have no locks.
            fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever clears may have been faster than the lock.
        if path.exists():
            break
        os.close(file)
    try:
        yield path
    finally:
        # A place that could not be written to cannot be cleaned either, and the first error is the one to tell.
        with suppress(OSError):
            path.unlink()
        if fcntl is not None:
            os.close(file)


@cache
def _clear(folder: Path) -> None:
    """Remove what killed processes of this machine left in a folder, once a process; locked files are in use."""
    if fcntl is None:
        return
    begin, middle = temporary_name(f"{_machine()}-\0").split("\0")
    left: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        ours = (one for one in entries if one.name.startswith(begin) and middle in one.name)
        left += [one.path for one in ours if one.is_file(follow_symlinks=False)]
    for path in left:
        with suppress(OSError):
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                Path(path).unlink()
            finally:
                os.close(file)
