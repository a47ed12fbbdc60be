"""A reader of files that others made -> what it gives, found in a process of its own.

Libraries of C that parse MAT and HDF5 files crash or never end on some that are damaged or made to do it. A child that
dies takes nobody with it, and tells no more than a table: what it says is read by a reader of a few known kinds.
"""

import faulthandler
import io
import os
import pickle
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from typing import Any, BinaryIO, NoReturn, TypeVar

import numpy as np

from hne._runtime.memory import addresses_taken, available_bytes
from hne.exceptions import HNEError, InputError, MissingExtraError, TooLargeError
from hne.io.sources import File

Result = TypeVar("Result")

# Seconds of computing that a file of no size may take, and for each byte of it: a hundred times what is usual.
SECONDS, SECONDS_PER_BYTE = 10.0, 1e-6
# Seconds on the clock for one of computing, as on a slow disk; a child that takes more waits for what never comes.
PATIENCE = 10
# Bytes that are read from the child at a time.
CHUNK = 1 << 20
# What a table consists of: everything else that a child could name stays what it is, a name.
KNOWN = {
    ("hne.io.record", "Outline"),
    ("hne.io.record", "Table"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("scipy.sparse._csr", "csr_array"),
}
ERRORS = {kind.__name__: kind for kind in (InputError, MissingExtraError, TooLargeError)}


def can_fork() -> bool:
    """Whether a child costs milliseconds here; frameworks of macOS do not live through it."""
    return hasattr(os, "fork") and sys.platform != "darwin"


def read_in_child(file: File, read: Callable[[], Result]) -> Result:
    """What `read` gives, or the error that it raises; in this process where a child cannot be had.

    A child that crashes, computes for too long or needs more memory than there is, is an error about the file.
    """
    if not can_fork():
        return read()
    seconds = SECONDS + SECONDS_PER_BYTE * file.path.stat().st_size
    child, ours = _begun(read, seconds)
    answer = None
    try:
        with os.fdopen(ours, "rb", buffering=0) as pipe:
            answer = _answer(pipe, time.monotonic() + PATIENCE * seconds)
    finally:
        if answer is None and not _has_ended(child):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if answer is None:
        raise _died(file, status, seconds)
    result: Result = _believed(file, answer)
    return result


def _begun(read: Callable[[], Any], seconds: float) -> tuple[int, int]:
    """A child that reads, and the end of the pipe at which it answers."""
    import fcntl

    ours, theirs = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # more than this user may have
            fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, CHUNK)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that a child does not have: none that reading would wait for.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(ours)
        _work(theirs, read, seconds)
    os.close(theirs)
    return child, ours


def _has_ended(child: int) -> bool:
    """Whether the child is at its end; one that has closed its pipe is, within a moment."""
    for _ in range(100):
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.01)
    return False


def _believed(file: File, answer: tuple[str, Any]) -> Any:
    """The table that a child sent, or the error that it had."""
    kind, value = answer
    if not kind:
        return value
    if kind in ERRORS:
        raise ERRORS[kind](value)
    if kind == "MemoryError":
        msg = f"{file.title} needs more memory to be read than there is. Write a part of it to a file of its own."
        raise TooLargeError(msg)
    error = RuntimeError(f"{kind} while {file.title} was read")
    error.add_note(value)
    raise error


def _died(file: File, status: int, seconds: float) -> InputError:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number in (signal.SIGXCPU, signal.SIGKILL):
        got = f"one whose reader came to no end within {seconds:.0f} s"
    else:
        name = signal.Signals(number).name if number else f"status {os.WEXITSTATUS(status)}"
        got = f"one that crashes its reader ({name})"
    return file.error(f"must be a whole file, got {got}. Write or copy it again.")


def _work(pipe: int, read: Callable[[], Any], seconds: float) -> NoReturn:
    """Be the child: read, answer, end; nothing of the parent's is flushed, closed or cleaned up."""
    status = 1
    try:
        faulthandler.disable()
        _limit(seconds)
        with os.fdopen(pipe, "wb") as stream:
            _send(stream, _tried(read))
        status = 0
    finally:
        # Whatever happens: a child that went on would be a second parent.
        os._exit(status)


def _limit(seconds: float) -> None:
    """Let the child end where it computes for too long, fail where it takes too much memory, and leave no core."""
    import resource

    limits = {
        resource.RLIMIT_CPU: ceil(seconds),
        resource.RLIMIT_AS: addresses_taken() + available_bytes(),
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        _, most = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def _tried(read: Callable[[], Any]) -> tuple[str, Any]:
    """What reading gives, after an empty word, or the kind of its error and what that says."""
    try:
        return "", read()
    except HNEError as error:
        return next(name for name, kind in ERRORS.items() if isinstance(error, kind)), str(error)
    except MemoryError:
        return "MemoryError", ""
    except Exception as error:  # noqa: BLE001, the parent raises it
        return type(error).__name__, traceback.format_exc()


def _send(stream: BinaryIO, answer: tuple[str, Any]) -> None:
    """The answer, arrays behind it as they are."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(answer, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(head), *(array.raw() for array in arrays)]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], dtype=np.int64)
    stream.writelines((sizes.data, *parts))


def _answer(pipe: io.RawIOBase, deadline: float) -> tuple[str, Any] | None:
    """What a child sends until then; None where that is no answer."""
    try:
        (count,) = _received(pipe, 8, deadline).view(np.int64)
        sizes = _received(pipe, 8 * int(count), deadline).view(np.int64)
        head, *arrays = (_received(pipe, int(size), deadline) for size in sizes)
        kind, value = _Reader(io.BytesIO(head.tobytes()), buffers=arrays).load()
    except Exception:  # noqa: BLE001, a child that a file has broken may send anything
        return None
    return str(kind), value


def _received(pipe: io.RawIOBase, size: int, deadline: float) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """So many bytes from the pipe."""
    content = np.empty(size, dtype=np.uint8)
    filled = 0
    while filled < size:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        count = pipe.readinto(content[filled : filled + CHUNK].data)
        if not count:
            raise EOFError
        filled += count
    return content


class _Reader(pickle.Unpickler):
    """Reads tables, and runs nothing that is not part of one."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            msg = f"{module}.{name} is no part of a table"
            raise pickle.UnpicklingError(msg)
        return super().find_class(module, name)
