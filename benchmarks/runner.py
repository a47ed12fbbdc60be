"""A problem and a method -> one row: seconds, memory and errors, measured in a process of its own.

A run that fails, is killed or takes too long is a row as well, with its `failure`. Rows are kept in a JSON file while a
section is being measured, so that a broken run goes on where it broke.
"""

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
WARM_UP_SAMPLES = 2_000  # of the problem itself; a method that compiles more for larger n has its own warm-up besides
DEFAULT_LIMIT = 600.0  # seconds, the whole process

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One run: `options` are settings beyond or instead of the problem's, `hidden` packages that it shall not find."""

    problem: str
    method: str
    n_samples: int
    options: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    is_warm: bool = True  # False measures the first fit of a process

    def __str__(self) -> str:
        further = [f"{name}={value}" for name, value in self.options.items()]
        further += [f"without {name}" for name in self.hidden]
        return ", ".join([f"{self.method} on {self.problem}, n = {self.n_samples}", *further])


class Results:
    """The rows of a section, in a file that outlives a broken run.

    Rows of an unfinished run are in `<section>.partial.json` and are not measured again; `finish` renames the file to
    `<section>.json`, and the next run begins anew.
    """

    def __init__(self, section: str, folder: Path = BENCHMARKS / "results") -> None:
        self._partial = folder / f"{section}.partial.json"
        self._done = folder / f"{section}.json"
        self._rows: dict[str, Row] = json.loads(self._partial.read_text()) if self._partial.exists() else {}

    def row(self, task: Task, limit: float = DEFAULT_LIMIT) -> Row:
        """The row of a task, measured unless the file has it."""
        return self.kept(json.dumps({**asdict(task), "limit": limit}), str(task), partial(run, task, limit))

    def kept(self, key: str, described: str, measure: Callable[[], Row]) -> Row:
        """The row of a key, measured unless the file has it."""
        if key not in self._rows:
            print(f"  {described} ...", end=" ", file=sys.stderr, flush=True)
            self._rows[key] = measure()
            print(summary(self._rows[key]), file=sys.stderr)
            self._write()
        return self._rows[key]

    def known(self, key: str) -> Row | None:
        """The row of a key, if the file has it."""
        return self._rows.get(key)

    def finish(self) -> None:
        """Call the rows complete."""
        if self._partial.exists():
            self._partial.replace(self._done)

    def _write(self) -> None:
        # Renamed when it is whole: whoever is interrupted while writing leaves the former file.
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._partial.with_suffix(".tmp")
        unfinished.write_text(json.dumps(self._rows, indent=1) + "\n")
        unfinished.replace(self._partial)


def summary(row: Row) -> str:
    """A row in a few words, for the impatient."""
    if "failure" in row:
        return f"{row['failure']}: {row['message']}" if "message" in row else str(row["failure"])
    memory = f", {row['peak_bytes'] / 1e9:.2f} GB" if "peak_bytes" in row else ""
    return f"{row['seconds']:.2f} s{memory}"


def run(task: Task, limit: float = DEFAULT_LIMIT) -> Row:
    """Measure a task in a fresh process."""
    command = [sys.executable, __file__, json.dumps(asdict(task))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"failure": f"over {limit:g} s"}
    if done.returncode < 0:
        return {"failure": f"killed by {signal.Signals(-done.returncode).name}"}
    if done.returncode > 0:
        return {"failure": "crash", "message": done.stderr.strip().rpartition("\n")[2]}
    # Libraries print as they like; the row is the last line.
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    """Measure the task given on the command line, and print its row."""
    described = json.loads(sys.argv[1])
    task = Task(**{**described, "hidden": tuple(described["hidden"])})
    for name in task.hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    # More than the machine has is refused, instead of whoever else is there being killed.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        row = measured(task)
    except Exception as error:  # noqa: BLE001, whatever a method raises is its result
        row = {"failure": type(error).__name__, "message": str(error).partition("\n")[0]}
    print("\n" + json.dumps(row))


def measured(task: Task) -> Row:
    """Embed, and describe how it went."""
    from hne._runtime.progress import Stopwatch, listening
    from hne.metrics import affine_errors
    from methods import load_method
    from problems import PROBLEMS

    problem, method = PROBLEMS[task.problem], load_method(task.method)

    settings = {"n_neighbors": problem.n_neighbors, "n_components": problem.n_components, "reg": problem.reg}
    settings |= task.options

    def embed(X: Any) -> Any:
        return method.embed(X, **settings)

    if task.is_warm:
        # A method that fails on a few samples may not on many.
        with suppress(Exception):
            embed(problem.make(min(task.n_samples, WARM_UP_SAMPLES))[0])
            if hasattr(method, "warm_up"):
                method.warm_up(task.n_samples)
    else:
        importlib.import_module(method.LIBRARY)
    X, chart = problem.make(task.n_samples)
    # The peak of what comes now, not of the warm-up or of making the data: 5 resets it (proc(5)).
    Path("/proc/self/clear_refs").write_text("5")
    row: Row = {"before_bytes": memory_use("VmRSS")}
    watch, start = Stopwatch(), time.perf_counter()
    with listening(watch):
        result = embed(X)
    row |= {"seconds": time.perf_counter() - start, "peak_bytes": memory_use("VmHWM")}
    # Stages are told of by hne alone.
    row |= {"stages": watch.seconds} if watch.seconds else {}
    if chart is not None:
        row["errors"] = affine_errors(getattr(result, "Y", result), chart).tolist()
    return row | _eigenpair_facts(result)


def _eigenpair_facts(result: Any) -> Row:
    """What hne's record tells beyond Y; nothing for other methods."""
    pairs = getattr(result, "eigenpairs", None)
    if pairs is None:
        return {}
    return {"solver": pairs.solver, "eigenvalues": pairs.values.tolist(), "residuals": pairs.residuals.tolist()}


def memory_use(line: str) -> int:
    """Bytes that the process has resident now ("VmRSS") or has had at most ("VmHWM"), as Linux tells.

    `ru_maxrss` would not do: a child begins with what its parent has had.
    """
    status = Path("/proc/self/status").read_text()
    kilobytes = next(text for text in status.splitlines() if text.startswith(f"{line}:")).split()[1]
    return 1024 * int(kilobytes)


if __name__ == "__main__":
    main()
