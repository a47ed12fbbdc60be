"""Engines: who runs the blocks of a walk. The blocks and what is done with them are the same for all."""

from __future__ import annotations

import platform
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hne import __version__
from hne._runtime.files import atomic_write, expanded, make_folder
from hne._runtime.store import pickled_by_name
from hne._runtime.threads import limit_blas_threads, map_blocks, thread_count
from hne.core.parameters import check_n_jobs
from hne.exceptions import ExecutorError, InputError, InputTypeError, MissingExtraError, quoted

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds to wait for a scheduler to answer, and for its file and a first worker, which queues may keep waiting.
PATIENCE, QUEUE_PATIENCE = 10.0, 60.0
# Bytes of a task beyond which it is not sent with every item.
MAX_MESSAGE = 2**16
# Seconds after which one looks whether there are workers at all.
POLL = 5.0


class Engine(Protocol):
    """Something that runs a task on many items, and gives the results in their order."""

    is_remote: bool  # whether tasks run in other processes, which share nothing with this one but files

    def map(self, what: str, task: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
        """Results of the task; `what` is its name for those who watch."""

    def check(self, folder: Path) -> None:
        """Raise ExecutorError where it cannot run, or cannot see the folder."""


class LocalExecutor:
    """Threads of this process.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        Number of threads, as in scikit-learn: -1 for one a core.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import embed
    >>> from hne.scale import LocalExecutor
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> embed(line, n_neighbors=2, n_components=1, engine=LocalExecutor()).Y.shape
    (20, 1)
    """

    is_remote = False

    def __init__(self, n_jobs: int | None = -1) -> None:
        self.n_jobs = check_n_jobs(n_jobs)

    def map(self, what: str, task: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:  # noqa: ARG002
        """Results of the task, block by block."""

        def run(item: Item) -> Result:
            with limit_blas_threads(1):
                return task(item)

        return map_blocks(run, items, thread_count(self.n_jobs))

    def check(self, folder: Path) -> None:
        """Threads are always there, and see what this process sees."""

    def __repr__(self) -> str:
        return f"LocalExecutor(n_jobs={self.n_jobs})"


class DaskExecutor:
    """Workers of a Dask cluster: neighbor search, weights and the assembly of the eigenproblem run on them.

    Samples and results travel through a folder that all workers see, never through the client.

    Parameters
    ----------
    client : distributed.Client or str
        The client of the cluster, or the address of its scheduler such as "tcp://node1:8786", or the path of the
        .json file that `dask scheduler --scheduler-file` writes.
    folder : path, default=None
        Where blocks are kept while a run needs them: a folder on storage that this process and all workers share.
        None takes that of `checkpoint`, else a temporary one, which workers on other machines do not see.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> from hne import embed
    >>> from hne.scale import DaskExecutor
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     result = embed(X, engine=DaskExecutor(client))
    """

    is_remote = True

    def __init__(self, client: Any, folder: str | Path | None = None) -> None:
        if find_spec("distributed") is None:
            msg = "DaskExecutor needs dask.distributed, got none installed. Run: pip install 'hne[dask]'."
            raise MissingExtraError(msg)
        if not isinstance(client, str) and not (hasattr(client, "submit") and hasattr(client, "scheduler_info")):
            msg = f"client must be a distributed.Client or an address, got {quoted(client)}. Pass Client() or 'tcp://...'."
            raise InputTypeError(msg)
        # A client that is closed has forgotten it.
        self._address = client if isinstance(client, str) else getattr(client.scheduler, "address", None)
        self._client = None if isinstance(client, str) else client
        self._is_own = isinstance(client, str)
        self._folder = folder
        self.has_own_folder = folder is not None
        self._seen_folder: Path | None = None  # by all workers, of the run that is going on

    @property
    def client(self) -> Any:
        """The client of the cluster, connected when it is first asked for."""
        if self._client is None:
            self._client = connected(str(self._address))
        return self._client

    def close(self) -> None:
        """Close the connection, if it was opened for an address; a client that was given stays as it is."""
        if self._is_own and self._client is not None:
            self._client.close()
            self._client = None

    def folder(self) -> Path:
        """The folder that blocks are kept in, made where none was given; a temporary one ends with the engine."""
        if self._folder is None:
            path = Path(tempfile.mkdtemp(prefix="hne-"))
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
            self._folder = path
        folder = expanded(self._folder)
        make_folder(folder)
        return folder

    def check(self, folder: Path) -> None:
        """Raise ExecutorError where there are no workers, they differ from this process, or do not see the folder."""
        self._check_answers()
        answers = self._asked(facts_here)
        check_alike(facts_here(), answers)
        check_sees(folder, self._asked)
        self._seen_folder = folder

    def map(self, what: str, task: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
        """Results of the task, in the order of the items; a worker that dies leaves its block to another."""
        import cloudpickle  # noqa: PLC0415, comes with dask

        with pickled_by_name():
            packed = cloudpickle.dumps(task)
        with self._posted(packed) as parcel:
            run = partial(self.client.submit, _run_packed, parcel)
            futures = [run(item, key=f"hne {what}-{secrets.token_hex(8)}") for item in items]
            yield from self._results(futures, what)

    @contextmanager
    def _posted(self, packed: bytes) -> Iterator[bytes | str]:
        """A task as it travels: itself, or if it is large the path of a file in the folder that all see."""
        if len(packed) <= MAX_MESSAGE or self._seen_folder is None:
            yield packed
            return
        path = self._seen_folder / f".task-{secrets.token_hex(8)}"
        with atomic_write(path, overwrite=True) as temporary:
            temporary.write_bytes(packed)
        try:
            yield str(path)
        finally:
            path.unlink(missing_ok=True)

    def gathered(self, what: str, delayed: Sequence[Any]) -> Generator[Any, None, None]:
        """Results of Dask's own delayed calls, in their order."""
        yield from self._results(self.client.compute(list(delayed)), what)

    def _results(self, futures: list[Any], what: str) -> Generator[Any, None, None]:
        try:
            for future in futures:
                yield self._result(future, what)
        except BaseException:
            # Nobody waits for the others any more.
            self.client.cancel(futures, force=True)
            raise

    def _result(self, future: Any, what: str) -> Any:
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415, an extra
        from distributed.comm import CommClosedError  # noqa: PLC0415

        try:
            self._wait(future, what)
            return future.result()
        except KilledWorker as error:
            msg = (
                f"the Dask workers must live through a block of the {what}, got several that died on one. Give each "
                "more memory, and run the same call again: a run with checkpoint=DIR goes on from there."
            )
            raise ExecutorError(msg) from error
        except (CancelledError, CommClosedError, OSError) as error:
            if future.status == "error" and isinstance(error, OSError):
                raise _unseen(error) from error
            msg = (
                f"the Dask scheduler must be there until the {what} are done, got '{type(error).__name__}'. Start it "
                "again, and run the same call again: a run with checkpoint=DIR goes on from there."
            )
            raise ExecutorError(msg) from error

    def _wait(self, future: Any, what: str) -> None:
        """Wait for a block, as long as there are workers, or may soon be some again."""
        from distributed import TimeoutError as NotYet  # noqa: PLC0415, an extra
        from distributed import wait  # noqa: PLC0415

        alone_since = None
        while not future.done():
            try:
                wait([future], timeout=POLL)
            except NotYet:
                if self.client.nthreads():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > QUEUE_PATIENCE:
                    msg = (
                        f"the Dask scheduler must have workers until the {what} are done, got none for "
                        f"{QUEUE_PATIENCE:.0f} s. Start some, and run the same call again: a run with checkpoint=DIR "
                        "goes on from there."
                    )
                    raise ExecutorError(msg) from None

    def _check_answers(self) -> None:
        if getattr(self.client, "status", "") != "running":
            msg = f"the Dask client must be connected, got one that is {self.client.status}. Pass a new Client."
            raise ExecutorError(msg)
        try:
            self.client.wait_for_workers(1, timeout=QUEUE_PATIENCE)
        except Exception as error:
            msg = (
                f"the Dask scheduler must have workers, got none within {QUEUE_PATIENCE:.0f} s. Start some: "
                "dask worker ADDRESS, or cluster.scale(2)."
            )
            raise ExecutorError(msg) from error

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What the function says on each worker."""
        try:
            answers: dict[str, Any] = self.client.run(function, *arguments)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            msg = (
                f"the Dask workers must have hne installed, got: {reason}. Install the same version as here in the "
                "environment of the workers."
            )
            raise ExecutorError(msg) from error
        return answers

    def __deepcopy__(self, memo: dict[int, Any]) -> DaskExecutor:
        """A connection cannot be copied, and an estimator's clone may well share it."""
        memo[id(self)] = self
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickled, it is the address: who unpickles it connects when there is work to do."""
        return {
            "_address": self._address,
            "_client": None,
            "_is_own": True,
            "_folder": self._folder,
            "has_own_folder": self.has_own_folder,
            "_seen_folder": None,
        }

    def __repr__(self) -> str:
        return f"DaskExecutor({self._address or self._client!r})"


def is_kept(engine: Any, checkpoint: Any) -> bool:
    """Whether the folder of a run stays when the engine has gone."""
    return checkpoint is not None or (isinstance(engine, DaskExecutor) and engine.has_own_folder)


def connected(address: str) -> Any:
    """A client of the scheduler at that address."""
    from distributed import Client  # noqa: PLC0415, an extra

    is_file = address.endswith(".json")
    end = time.monotonic() + QUEUE_PATIENCE
    while is_file and not Path(address).exists() and time.monotonic() < end:
        time.sleep(0.2)
    if is_file and not Path(address).exists():
        # Dask would wait for it, for ever.
        msg = (
            f"a Dask scheduler must have written '{address}', got no such file. Start: dask scheduler "
            f"--scheduler-file {address}."
        )
        raise ExecutorError(msg)
    try:
        return Client(scheduler_file=address, timeout=PATIENCE) if is_file else Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = (
            f"a Dask scheduler must answer at '{address}', got: {reason}. Start one (dask scheduler), and pass the "
            "address that it says."
        )
        raise ExecutorError(msg) from error


def current_engine() -> DaskExecutor:
    """The engine of the client that is there already."""
    if find_spec("distributed") is None:
        msg = "samples in a Dask array need dask.distributed, got none installed. Run: pip install 'hne[dask]'."
        raise MissingExtraError(msg)
    from distributed import get_client  # noqa: PLC0415, an extra

    try:
        return DaskExecutor(get_client())
    except ValueError as error:
        msg = (
            "samples in a Dask array need a client, got none. Start one before: from distributed import Client; "
            "client = Client()."
        )
        raise ExecutorError(msg) from error


def _unseen(error: Any) -> InputError:
    """The error about a file that a worker cannot open."""
    reason = (error.strerror or str(error)).lower()
    msg = (
        f"the Dask workers must see what they read, got '{error.filename}': {reason}. Put it where all of them see it."
    )
    return InputError(msg)


def _run_packed(packed: bytes | str, item: Any) -> Any:
    """Run a task on a worker."""
    with limit_blas_threads(1):
        return unpacked(packed)(item)


@lru_cache(maxsize=4)
def unpacked(packed: bytes | str) -> Any:
    """What a client has packed for workers, or has left in a file for them."""
    import cloudpickle  # noqa: PLC0415, comes with dask

    return cloudpickle.loads(Path(packed).read_bytes() if isinstance(packed, str) else packed)


# What decides about bits: the same versions everywhere, or blocks of one run would not fit together.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")

Asked = Callable[..., dict[str, Any]]


@cache
def facts_here() -> dict[str, str]:
    """Versions of what computes in this process."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"hne": __version__, "Python": ".".join(platform.python_version_tuple()[:2]), **libraries}


def check_alike(here: dict[str, str], answers: dict[str, dict[str, str]]) -> None:
    """Raise ExecutorError for the first worker that has other versions than this process."""
    for worker, facts in answers.items():
        for name, ours in here.items():
            if facts.get(name) != ours:
                msg = (
                    f"the Dask workers must have the same versions as the client, got {name} {facts.get(name)} on "
                    f"{worker} and {ours} here. Install {name} {ours} there, or start the client from its environment."
                )
                raise ExecutorError(msg)


def check_sees(folder: Path, asked: Asked) -> None:
    """Raise ExecutorError for the first worker that does not see the folder, or cannot write to it."""
    probe = folder / f".probe-{secrets.token_hex(6)}"
    try:
        probe.write_text(probe.name, encoding="utf-8")
        answers = asked(seen, str(probe))
    except OSError as error:
        msg = f"cannot write '{folder}': {(error.strerror or str(error)).lower()}. Choose another place."
        raise InputError(msg) from error
    finally:
        probe.unlink(missing_ok=True)
    for worker, trouble in answers.items():
        if trouble:
            msg = (
                f"the Dask workers must share the folder '{folder}' with the client, got {worker} that {trouble}. "
                "Pass one on shared storage: checkpoint=DIR, or DaskExecutor(client, folder=DIR)."
            )
            raise ExecutorError(msg)


def seen(probe: str) -> str:
    """What is wrong with a folder from where this runs: nothing, or some words."""
    path = Path(probe)
    try:
        if path.read_text(encoding="utf-8") != path.name:
            return "sees another one"
        other = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        other.touch()
        other.unlink()
    except FileNotFoundError:
        return "does not see it"
    except OSError as error:
        return f"cannot write to it ({(error.strerror or str(error)).lower()})"
    return ""
