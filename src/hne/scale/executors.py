"""DaskExecutor: the workers of a Dask cluster, who do the blocks of a run; without one, threads of this process do."""

from __future__ import annotations

import platform
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from hne import __version__
from hne._runtime.files import atomic_write, expanded, make_folder
from hne._runtime.store import pickled_by_name
from hne._runtime.threads import limit_blas_threads
from hne.exceptions import ExecutorError, InputError, InputTypeError, MissingExtraError, quoted, refuse

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds to wait for a scheduler to answer, and for its file and a first worker, which queues may keep waiting.
PATIENCE, QUEUE_PATIENCE = 10.0, 60.0
# Bytes of a task beyond which it is not sent with every item.
MAX_MESSAGE = 2**16
# Seconds after which one looks whether there are workers at all.
POLL = 5.0
# What decides about bits: the same versions everywhere, or blocks of one run would not fit together.
LIBRARIES = ("numpy", "scipy", "scikit-learn")
AGAIN = "run the same call again: a run with checkpoint=DIR goes on from there"


class DaskExecutor:
    """Workers of a Dask cluster, on which neighbors, weights and the matrix of the eigenproblem are computed.

    Pass it as `executor` to `hne.HNE` or `hne.embed`. Samples and results travel through a folder that all workers see,
    never through the client.

    Parameters
    ----------
    client : distributed.Client or str
        The client of the cluster, the address of its scheduler such as ``"tcp://node1:8786"``, or the path of the .json
        file that `dask scheduler --scheduler-file` writes. A client that was passed stays open.
    folder : path-like or None, default=None
        Where blocks are kept while a run needs them: a folder on storage that this process and all workers share. None
        takes that of `checkpoint`, or else a temporary one, which workers on other machines do not see.

    See Also
    --------
    hne.embed : Takes an executor, and samples on disk or in Dask arrays.
    hne.forecast : Time and memory of a fit in one process.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> from hne import embed
    >>> from hne.scale import DaskExecutor
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     result = embed(X, executor=DaskExecutor(client))
    """

    def __init__(self, client: Any, folder: str | Path | None = None) -> None:
        check_installed("distributed", "DaskExecutor")
        is_address = isinstance(client, str)
        if not is_address and not (hasattr(client, "submit") and hasattr(client, "scheduler_info")):
            rule, remedy = "must be a distributed.Client or an address", "Pass Client() or 'tcp://...'"
            refuse("client", rule, quoted(client), remedy, InputTypeError)
        # A client that is closed has forgotten it.
        self._address = client if is_address else getattr(client.scheduler, "address", None)
        self._client = None if is_address else client
        self._closes_client = is_address
        self._folder = folder
        self.keeps_folder = folder is not None  # after the executor has gone
        self._shared_folder: Path | None = None  # which all workers see, of the run that is going on

    @property
    def client(self) -> Any:
        """The client of the cluster, connected when it is first asked for."""
        if self._client is None:
            self._client = _connect(str(self._address))
        return self._client

    def close(self) -> None:
        """Close the connection, if it was opened for an address; a client that was passed stays as it is."""
        if self._closes_client and self._client is not None:
            self._client.close()
            self._client = None

    def folder(self) -> Path:
        """Return the folder that blocks are kept in, made where none was named.

        Returns
        -------
        pathlib.Path
            The folder; a temporary one ends with the executor.
        """
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hne-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        folder = expanded(self._folder)
        make_folder(folder)
        return folder

    def check(self, folder: Path) -> None:
        """Raise `hne.exceptions.ExecutorError` where the workers cannot be used.

        Parameters
        ----------
        folder : pathlib.Path
            The folder that all workers must see. There must also be workers, and with the versions of this process.
        """
        if getattr(self.client, "status", "") != "running":
            _fail("the Dask client must be connected", f"one that is {self.client.status}", "Pass a new Client")
        try:
            self.client.wait_for_workers(1, timeout=QUEUE_PATIENCE)
        except Exception:  # noqa: BLE001, of several kinds
            got, remedy = f"none within {QUEUE_PATIENCE:.0f} s", "Start some: dask worker ADDRESS, or cluster.scale(2)"
            _fail("the Dask scheduler must have workers", got, remedy)
        check_versions(versions(), self._ask_workers(versions))
        check_shared(folder, self._ask_workers)
        self._shared_folder = folder

    def map(self, what: str, task: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
        """Run a task for each item on the workers; one that dies leaves its block to another.

        Parameters
        ----------
        what : str
            What the items are, for messages.
        task : callable
            The function of one item.
        items : sequence
            The items.

        Yields
        ------
        object
            The results, in the order of the items.
        """
        import cloudpickle  # noqa: PLC0415, comes with dask

        with pickled_by_name():
            packed: Any = cloudpickle.dumps(task)
        with ExitStack() as afterwards:
            if len(packed) > MAX_MESSAGE and self._shared_folder is not None:
                # What travels is the path of a file in the folder that all see.
                path = self._shared_folder / f".task-{secrets.token_hex(8)}"
                with atomic_write(path, overwrite=True) as temporary:
                    temporary.write_bytes(packed)
                afterwards.callback(path.unlink, missing_ok=True)
                packed = str(path)
            submit = self.client.submit
            futures = [submit(_run_packed, packed, item, key=f"hne {what}-{secrets.token_hex(8)}") for item in items]
            yield from self._results(futures, what)

    def compute(self, what: str, delayed: Sequence[Any]) -> Generator[Any, None, None]:
        """Run delayed calls of Dask on the workers.

        Parameters
        ----------
        what : str
            What they compute, for messages.
        delayed : sequence of dask.delayed.Delayed
            The calls.

        Yields
        ------
        object
            The results, in the order of the calls.
        """
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
        """The result of a block, waited for as long as there are workers, or may soon be some again."""
        from distributed import CancelledError, KilledWorker, wait  # noqa: PLC0415, an extra
        from distributed import TimeoutError as NotYet  # noqa: PLC0415
        from distributed.comm import CommClosedError  # noqa: PLC0415

        end = None
        try:
            while not future.done():
                try:
                    wait([future], timeout=POLL)
                except NotYet:
                    end = None if self.client.nthreads() else end or time.monotonic() + QUEUE_PATIENCE
                    if end is not None and time.monotonic() > end:
                        rule = f"the Dask scheduler must have workers until the {what} are done"
                        _fail(rule, f"none for {QUEUE_PATIENCE:.0f} s", f"Start some, and {AGAIN}")
            return future.result()
        except KilledWorker:
            rule = f"the Dask workers must live through a block of the {what}"
            _fail(rule, "several that died on one", f"Give each more memory, and {AGAIN}")
        except (CancelledError, CommClosedError, OSError) as error:
            if future.status == "error" and isinstance(error, OSError):
                got, remedy = f"'{error.filename}': {_reason(error)}", "Put it where all of them see it"
                refuse("X", "must be where the Dask workers see it", got, remedy)
            rule = f"the Dask scheduler must be there until the {what} are done"
            _fail(rule, f"'{type(error).__name__}'", f"Start it again, and {AGAIN}")

    def _ask_workers(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What the function says on each worker."""
        try:
            answers: dict[str, Any] = self.client.run(function, *arguments)
        except Exception as error:  # noqa: BLE001, of several kinds
            remedy = "Install the same version as here in the environment of the workers"
            _fail("the Dask workers must have hne installed", _reason(error), remedy)
        return answers

    def __deepcopy__(self, memo: dict[int, Any]) -> DaskExecutor:
        """A connection cannot be copied, and an estimator's clone may well share it."""
        memo[id(self)] = self
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickled, it is the address: who unpickles it connects when there is work to do."""
        return self.__dict__ | {"_client": None, "_closes_client": True, "_shared_folder": None}

    def __repr__(self) -> str:
        return f"DaskExecutor({self._address or self._client!r})"


def _connect(address: str) -> Any:
    """A client of the scheduler at that address, or of the one that writes that file."""
    from distributed import Client  # noqa: PLC0415, an extra

    is_file = address.endswith(".json")
    end = time.monotonic() + QUEUE_PATIENCE
    while is_file and not Path(address).exists():
        # Dask would wait for it, for ever.
        if time.monotonic() > end:
            remedy = f"Start: dask scheduler --scheduler-file {address}"
            _fail(f"a Dask scheduler must have written '{address}'", "no such file", remedy)
        time.sleep(0.2)
    try:
        return Client(scheduler_file=address, timeout=PATIENCE) if is_file else Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        remedy = "Start one (dask scheduler), and pass the address that it says"
        _fail(f"a Dask scheduler must answer at '{address}'", _reason(error), remedy)


def current_executor() -> DaskExecutor:
    """The executor of the client that is there already."""
    check_installed("distributed", "samples in a Dask array")
    from distributed import get_client  # noqa: PLC0415, an extra

    try:
        return DaskExecutor(get_client())
    except ValueError:
        remedy = "Start one before: from distributed import Client; client = Client()"
        _fail("samples in a Dask array need a client", "none", remedy)


def _run_packed(packed: bytes | str, item: Any) -> Any:
    """Run a task on a worker."""
    with limit_blas_threads(1):
        return unpack(packed)(item)


@lru_cache(maxsize=4)
def unpack(packed: bytes | str) -> Any:
    """What a client has packed for workers, or has left in a file for them."""
    import cloudpickle  # noqa: PLC0415, comes with dask

    return cloudpickle.loads(Path(packed).read_bytes() if isinstance(packed, str) else packed)


@cache
def versions() -> dict[str, str]:
    """Versions of what computes in this process."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"hne": __version__, "Python": ".".join(platform.python_version_tuple()[:2]), **libraries}


def check_versions(here: dict[str, str], answers: dict[str, dict[str, str]]) -> None:
    """Raise ExecutorError for the first worker that has other versions than this process."""
    for worker, there in answers.items():
        for name, ours in here.items():
            if there.get(name) != ours:
                got = f"{name} {there.get(name)} on {worker} and {ours} here"
                remedy = f"Install {name} {ours} there, or start the client from its environment"
                _fail("the Dask workers must have the same versions as the client", got, remedy)


def check_shared(folder: Path, ask_workers: Callable[..., dict[str, str]]) -> None:
    """Raise ExecutorError for the first worker that does not see the folder, or cannot write to it."""
    probe = folder / f".probe-{secrets.token_hex(6)}"
    try:
        probe.write_text(probe.name, encoding="utf-8")
        answers = ask_workers(trouble_with, str(probe))
    except OSError as error:
        msg = f"cannot write '{folder}': {_reason(error)}. Choose another place."
        raise InputError(msg) from error
    finally:
        probe.unlink(missing_ok=True)
    for worker, trouble in answers.items():
        if trouble:
            rule = f"the Dask workers must share the folder '{folder}' with the client"
            remedy = "Pass one on shared storage: checkpoint=DIR, or DaskExecutor(client, folder=DIR)"
            _fail(rule, f"{worker} that {trouble}", remedy)


def trouble_with(probe: str) -> str:
    """What is wrong with the folder of a file from where this runs: nothing, or some words."""
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
        return f"cannot write to it ({_reason(error)})"
    return ""


def check_installed(package: str, what: str) -> None:
    """Raise MissingExtraError where a package of the extra is not there."""
    if find_spec(package) is None:
        msg = f"{what} needs {package}, got none installed. Run: pip install 'hne[dask]'."
        raise MissingExtraError(msg)


def _fail(rule: str, got: str, remedy: str) -> NoReturn:
    msg = f"{rule}, got {got}. {remedy}."
    raise ExecutorError(msg)


def _reason(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error).partition("\n")[0] or type(error).__name__
    return (error.strerror or text).lower() if isinstance(error, OSError) else text
