"""A reader of files that others made -> what it gives, found in a process of its own.

Libraries of C that parse MAT and HDF5 files crash or never end on some that are damaged or made to do it. A child that
dies takes nobody with it, and tells no more than a table: what it says is read by a reader of a few known kinds.
"""

import faulthandler
import os
import pickle
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from math import ceil
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn, TypeVar

from hne._runtime.memory import addresses_taken, available_bytes
from hne.exceptions import HNEError, InputError, MissingExtraError, TooLargeError
from hne.io.files import File

Result = TypeVar("Result")

# Seconds of computing that a file of no size may take, and for each byte of it: a hundred times what is usual.
SECONDS, SECONDS_PER_BYTE = 10.0, 1e-6
# Seconds on the clock for one of computing, as on a slow disk; a child that takes more waits for what never comes.
PATIENCE = 10
# What a table consists of: everything else that a child could name stays what it is, a name.
KNOWN = {
    ("hne.io.table", "Table"),
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


# Copies of a table that are in memory at once: the child's, and what it hands over.
HANDED_OVER = 2 if can_fork() else 1


def read_in_child(file: File, read: Callable[[], Result]) -> Result:
    """What `read` gives, or the error that it raises; in this process where a child cannot be had.

    A child that crashes, computes for too long or needs more memory than there is, is an error about the file.
    """
    if not can_fork():
        return read()
    seconds = SECONDS + SECONDS_PER_BYTE * file.path.stat().st_size
    # A file without a name, in memory where the system has such files.
    with os.fdopen(os.memfd_create("hne"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile() as answer:
        status = _run(answer, read, seconds)
        try:
            answer.seek(0)
            word, value = _Reader(answer).load()
            kind = str(word)
        except Exception:  # noqa: BLE001, a child that a file has broken may leave anything
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            name = signal.Signals(number).name if number else f"status {os.WEXITSTATUS(status)}"
            got = f"one that crashes its reader ({name})"
            if number in (signal.SIGXCPU, signal.SIGKILL):
                got = f"one whose reader came to no end within {seconds:.0f} s"
            file.refuse("must be a whole file", got)
    if not kind:
        result: Result = value
        return result
    if kind in ERRORS:
        raise ERRORS[kind](value)
    if kind == "MemoryError":
        msg = f"{file.title} needs more memory to be read than there is. Write a part of it to a file of its own."
        raise TooLargeError(msg)
    failure = RuntimeError(f"{kind} while {file.title} was read")
    failure.add_note(value)
    raise failure


def _run(answer: IO[bytes], read: Callable[[], Any], seconds: float) -> int:
    """Let a child read and answer; its status at the end, which is forced where it does not come."""
    alive, life = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that a child does not have: none that reading would wait for.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _work(answer, life, read, seconds)
    os.close(life)
    ended: list[int] = []
    try:
        # A child says that it has answered; the death of one that has not closes its end of the pipe.
        ended, _, _ = select.select([alive], [], [], PATIENCE * seconds)
    finally:
        os.close(alive)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return status


def _work(answer: IO[bytes], life: int, read: Callable[[], Any], seconds: float) -> NoReturn:
    """Be the child: read, answer, end; nothing of the parent's is flushed, closed or cleaned up."""
    status = 1
    try:
        import resource

        faulthandler.disable()
        # It ends where it computes for too long, fails where it takes too much memory, and leaves no core.
        memory = addresses_taken() + available_bytes()
        limits = {resource.RLIMIT_CPU: ceil(seconds), resource.RLIMIT_AS: memory, resource.RLIMIT_CORE: 0}
        for kind, limit in limits.items():
            _, most = resource.getrlimit(kind)
            resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
        pickle.dump(_try(read), answer, protocol=5)
        answer.flush()
        os.write(life, b"!")
        status = 0
    finally:
        # Whatever happens: a child that went on would be a second parent.
        os._exit(status)


def _try(read: Callable[[], Any]) -> tuple[str, Any]:
    """What reading gives, after an empty word, or the kind of its error and what that says."""
    try:
        return "", read()
    except HNEError as error:
        return next(name for name, kind in ERRORS.items() if isinstance(error, kind)), str(error)
    except MemoryError:
        return "MemoryError", ""
    except Exception as error:  # noqa: BLE001, the parent raises it
        return type(error).__name__, traceback.format_exc()


class _Reader(pickle.Unpickler):
    """Reads tables, and runs nothing that is not part of one."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            msg = f"{module}.{name} is no part of a table"
            raise pickle.UnpicklingError(msg)
        return super().find_class(module, name)
