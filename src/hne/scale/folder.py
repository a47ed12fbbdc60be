"""The folder of a run: stages of any number of runs, each under the hash of what it was made from."""

import hashlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.sparse import issparse

from hne import __version__
from hne._runtime.files import atomic_write, expanded, make_folder, temporary_name
from hne._runtime.store import Stage
from hne.core.records import NeighborGraph
from hne.core.samples.canonical import Fingerprints, Ranges, fingerprints, ranges_of
from hne.core.samples.kinds import Distances, Samples
from hne.exceptions import CheckpointError, InputTypeError, quoted, refuse
from hne.scale.executors import versions

FORMAT, VERSION = "hne-checkpoint", 1
MARK, LOCK, SCRATCH = "hne-checkpoint.json", "lock", "scratch"


class Folder:
    """A folder that stages are kept in, used by one run at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in str(path):
            rule, remedy = "must be the path of a folder", "Pass a name such as 'run'"
            refuse("checkpoint", rule, quoted(path), remedy, InputTypeError)
        self.path = expanded(path).absolute()

    def stage(self, name: str, key: str) -> Stage:
        """The stage of that name and key."""
        return Stage(self.path / f"{name}-{key}", key)

    def scratch(self) -> Path:
        """A new folder for what only this run needs."""
        path = self.path / f"{SCRATCH}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        make_folder(path)
        return path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the folder ready, and keep other runs out for a while."""
        make_folder(self.path)
        try:
            self._check_ours()
            held = _lock(self.path)
        except OSError as error:
            raise _cannot_use(self.path, (error.strerror or str(error)).lower()) from error
        with held:
            mark = self.path / MARK
            if not mark.exists():
                with atomic_write(mark, overwrite=True) as temporary:
                    temporary.write_text(json.dumps({"format": FORMAT, "version": VERSION, "hne": __version__}))
            # What runs left that did not live to remove it: files half written, and scratch of this machine's.
            half = temporary_name("*")
            for pattern in (f"{half}*", f"*/{half}*", f"*/blocks/{half}*", f".{SCRATCH}-*", ".task-*"):
                for path in self.path.glob(pattern):
                    path.unlink(missing_ok=True)
            for path in self.path.glob(f"{SCRATCH}-{socket.gethostname()}-*-*"):
                process = path.name.split("-")[-2]
                if not (process.isdecimal() and psutil.pid_exists(int(process))):
                    shutil.rmtree(path, ignore_errors=True)
            yield

    def _check_ours(self) -> None:
        """Refuse a folder that something else is in, one of a later version, and one that cannot be written to."""
        if (self.path / MARK).exists():
            try:
                mark = json.loads((self.path / MARK).read_text(encoding="utf-8"))
                kind, version = mark["format"], int(mark["version"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise _cannot_use(self.path, f"its '{MARK}' cannot be read") from error
            if kind != FORMAT:
                raise _cannot_use(self.path, f"its '{MARK}' is of something else")
            if version > VERSION:
                raise _cannot_use(self.path, f"it was written by a later version of hne ({mark.get('hne')})")
        else:
            # A run that was killed at once has left no more than the beginnings of its mark.
            ours = (LOCK, f".{SCRATCH}-", temporary_name("").removesuffix(".part"))
            others = [one.name for one in self.path.iterdir() if not one.name.startswith(ours)]
            if others:
                raise _cannot_use(self.path, f"it holds '{min(others)}', which no run of hne put there")
        probe = self.path / f".{SCRATCH}-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()


def stages_in(path: Path) -> list[dict[str, Any]]:
    """Name, size, parameters and time of each stage in a checkpoint, the oldest first."""
    if not (path / MARK).is_file():
        raise _cannot_use(path, f"it has no '{MARK}'")
    stages = []
    for folder in sorted(path.iterdir()):
        if folder.is_dir():
            facts = Stage(folder, folder.name.rpartition("-")[2]).facts()
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            made, parameters = facts.get("made", "not finished"), facts.get("parameters", {})
            stages.append({"name": folder.name, "bytes": size, "made": made, "parameters": parameters})
    return sorted(stages, key=lambda stage: stage["made"])


def key_of(*parts: Any) -> str:
    """A short hash of values that JSON can hold, and of bytes; other versions of what computes give another."""
    digest = hashlib.blake2b(json.dumps(versions()).encode(), digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def samples_key(X: Samples) -> str:
    """The key of samples; of distances, which have mirror images, all of them count."""
    if not isinstance(X, Distances):
        ranges = ranges_of(X)
        # Sparse samples may differ from the same dense ones by the last digits of their distances.
        return key_of_marks(ranges, fingerprints(X, ranges), *(["sparse"] if issparse(X) else []))
    parts = (X.matrix,) if X.is_complete else (X.matrix.data, X.matrix.indices, X.matrix.indptr)
    return key_of("distances", *(np.ascontiguousarray(part).tobytes() for part in parts))


def key_of_marks(ranges: Ranges, marks: Fingerprints, *kind: str) -> str:
    """The key of samples by their fingerprints, and what these are blind to: the unit, and constant columns."""
    return key_of("samples", ranges.low.tobytes(), ranges.high.tobytes(), marks.tobytes(), *kind)


def plain(value: Any) -> Any:
    """A value that JSON can hold: of arrays a hash, of a graph that of its arrays."""
    if isinstance(value, NeighborGraph):
        return [plain(value.indices), plain(value.distances)]
    if isinstance(value, np.ndarray):
        return key_of(str(value.dtype), list(value.shape), np.ascontiguousarray(value).tobytes())
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _lock(path: Path) -> ExitStack:
    """What holds the lock of a folder until it is closed, or the process ends."""
    held = ExitStack()
    try:
        import fcntl  # noqa: PLC0415, not on Windows
    except ImportError:
        return held
    file = held.enter_context((path / LOCK).open("a"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        msg = f"checkpoint '{path}' must be free, got one that a run is using. Wait for it, or choose another."
        raise CheckpointError(msg) from error
    except OSError:
        return held  # some file systems have no locks
    # A child of this process may have the file open longer.
    held.callback(fcntl.flock, file, fcntl.LOCK_UN)
    return held


def _cannot_use(path: Path, reason: str) -> CheckpointError:
    msg = (
        f"checkpoint '{path}' must be a folder of hne's own that can be written to, got one that is not: {reason}. "
        "Choose an empty folder, or a new name."
    )
    return CheckpointError(msg)
