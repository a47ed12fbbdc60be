"""The folder of a run: stages of any number of runs, each under the hash of what it was made from."""

import hashlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hne import __version__
from hne._runtime.files import atomic_write, expanded, make_folder, temporary_name
from hne._runtime.store import Stage
from hne.exceptions import CheckpointError, InputTypeError, quoted
from hne.scale.executors import facts_here

FORMAT, VERSION = "hne-checkpoint", 1
MARK, LOCK, SCRATCH = "hne-checkpoint.json", "lock", "scratch"


class Folder:
    """A folder that stages are kept in, lent to one run at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in str(path):
            msg = f"checkpoint must be the path of a folder, got {quoted(path)}. Pass a name such as 'run'."
            raise InputTypeError(msg)
        self.path = expanded(path).absolute()

    def stage(self, name: str, key: str) -> Stage:
        """The stage of that name and key."""
        return Stage(self.path / f"{name}-{key}", key)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Make the folder ready, and keep other runs out for a while."""
        make_folder(self.path)
        self._check_ours()
        with _locked(self.path):
            self._mark()
            self._clear_scratch()
            yield

    def scratch(self) -> Path:
        """A new folder for what only this run needs."""
        path = self.path / f"{SCRATCH}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        make_folder(path)
        return path

    def _check_ours(self) -> None:
        """Refuse a folder that something else is in, one of a later version, and one that cannot be written to."""
        mark = self.path / MARK
        try:
            is_new = not mark.exists()
            # A run that was killed at once has left no more than the beginnings of its mark.
            ours = (LOCK, f".{SCRATCH}-", temporary_name("").removesuffix(".part"))
            others = [one.name for one in self.path.iterdir() if not one.name.startswith(ours)] if is_new else []
        except OSError as error:
            raise _cannot_use(self.path, (error.strerror or str(error)).lower()) from error
        if others:
            raise _cannot_use(self.path, f"it holds '{min(others)}', which no run of hne put there")
        if not is_new:
            self._check_mark(mark)
        probe = self.path / f".{SCRATCH}-{secrets.token_hex(4)}"
        try:
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise _cannot_use(self.path, (error.strerror or str(error)).lower()) from error

    def _mark(self) -> None:
        """Say whose folder this is, unless it says so."""
        mark = self.path / MARK
        if not mark.exists():
            with atomic_write(mark, overwrite=True) as temporary:
                temporary.write_text(json.dumps({"format": FORMAT, "version": VERSION, "hne": __version__}))

    def _check_mark(self, mark: Path) -> None:
        try:
            found = json.loads(mark.read_text(encoding="utf-8"))
            said, version = found["format"], int(found["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _cannot_use(self.path, f"its '{MARK}' cannot be read") from error
        if said != FORMAT:
            raise _cannot_use(self.path, f"its '{MARK}' is of something else")
        if version > VERSION:
            raise _cannot_use(self.path, f"it was written by a later version of hne ({found.get('hne')})")

    def _clear_scratch(self) -> None:
        """Remove what runs left that did not live to do it: files half written, and scratch of this machine's."""
        half = temporary_name("*")
        for pattern in (f"{half}*", f"*/{half}*", f"*/blocks/{half}*", f".{SCRATCH}-*", ".task-*"):
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)
        for path in self.path.glob(f"{SCRATCH}-*"):
            host, _, rest = path.name.removeprefix(f"{SCRATCH}-").rpartition("-")[0].rpartition("-")
            if host == socket.gethostname() and not (rest.isdecimal() and _is_alive(int(rest))):
                shutil.rmtree(path, ignore_errors=True)


def stages_in(path: Path) -> list[dict[str, Any]]:
    """Name, size, parameters and time of each stage in a checkpoint, the oldest first."""
    if not (path / MARK).is_file():
        raise _cannot_use(path, f"it has no '{MARK}'")
    found = []
    for folder in sorted(path.iterdir()):
        if folder.is_dir():
            facts = Stage(folder, folder.name.rpartition("-")[2]).facts()
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            made, parameters = facts.get("made", "not finished"), facts.get("parameters", {})
            found.append({"name": folder.name, "bytes": size, "made": made, "parameters": parameters})
    return sorted(found, key=lambda stage: stage["made"])


def key_of(*parts: Any) -> str:
    """A short hash of values that JSON can hold, and of bytes; other versions of what computes give another."""
    digest = hashlib.blake2b(json.dumps(facts_here()).encode(), digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process that holds it."""
    try:
        import fcntl  # noqa: PLC0415, not on Windows
    except ImportError:
        yield
        return
    try:
        file = (path / LOCK).open("a")
    except OSError as error:
        raise _cannot_use(path, (error.strerror or str(error)).lower()) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            msg = f"checkpoint '{path}' must be free, got one that a run is using. Wait for it, or choose another."
            raise CheckpointError(msg) from error
        except OSError:
            # Some file systems have no locks.
            yield
            return
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _cannot_use(path: Path, reason: str) -> CheckpointError:
    msg = (
        f"checkpoint '{path}' must be a folder of hne's own that can be written to, got one that is not: {reason}. "
        "Choose an empty folder, or a new name."
    )
    return CheckpointError(msg)
