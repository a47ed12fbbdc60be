"""Cells -> values: measured side by side in processes, kept in files, never measured twice.

A cell is a call of a module's function with plain arguments; its value is plain as well (numbers, text, lists). The
file of a cell says what it was measured with: code, versions, arguments. Whatever differs is measured anew, so that a
broken run goes on where it broke and nobody is shown the results of other code.
"""

import hashlib
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

import hne
from hne._runtime.files import atomic_write, make_folder
from hne._runtime.progress import step

PACKAGE = Path(__file__).resolve().parents[1]
# What decides over the value of every cell: the library, the data, the measures, and of the experiments the modules
# that all cells may call. A cell's own module counts for it alone; whoever draws or talks counts for none.
LIBRARY = Path(hne.__file__).resolve().parent
CALLED_BY_CELLS = ("_images.py", "_methods.py", "_studies.py")
RESULTS = "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Cell:
    """One thing to measure; the name is its file's."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides over the value."""
        own_code = Path(str(sys.modules[self.function.__module__].__file__)).read_bytes()
        parts = [code_digest().encode(), own_code, self.function.__name__.encode(), repr(self.arguments).encode()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


class Store:
    """The values of one experiment's cells, in a folder of the output's."""

    def __init__(self, output: Path, name: str, n_jobs: int = -1) -> None:
        self.output = output
        self._folder = output / RESULTS / name
        self._n_jobs = n_jobs

    def measured(self, task: str, cells: Sequence[Cell]) -> list[Any]:
        """The values of the cells, in their order; those that no file has are measured and kept one by one."""
        values = [self._kept(cell) for cell in cells]
        missing = [place for place, value in enumerate(values) if value is None]
        step(task, len(cells) - len(missing), len(cells))
        if missing:
            make_folder(self._folder)
        for done, (place, value) in enumerate(self._run(cells, missing), start=1):
            self._keep(cells[place], value)
            values[place] = value
            step(task, len(cells) - len(missing) + done, len(cells))
        return values

    def _run(self, cells: Sequence[Cell], places: Sequence[int]) -> Iterable[tuple[int, Any]]:
        """Measure the cells at these places, in any order."""
        if len(places) < 2 or effective_n_jobs(self._n_jobs) == 1:
            return (_value_at(place, cells[place].function, cells[place].arguments) for place in places)
        return self._run_side_by_side(cells, places)

    def _run_side_by_side(self, cells: Sequence[Cell], places: Sequence[int]) -> Iterator[tuple[int, Any]]:
        calls = (delayed(_value_at)(place, cells[place].function, cells[place].arguments) for place in places)
        with warnings.catch_warnings():
            # joblib replaces a process that has grown, as by the images that it keeps, and takes that for a leak.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            yield from Parallel(n_jobs=self._n_jobs, return_as="generator_unordered")(calls)

    def _path(self, cell: Cell) -> Path:
        # A quick run has cells of the same name with other arguments; they lie side by side.
        arguments = hashlib.sha256(repr(cell.arguments).encode()).hexdigest()[:8]
        return self._folder / f"{file_name(cell.name)}-{arguments}.json"

    def _kept(self, cell: Cell) -> Any:
        """The value that a file has of just this cell, else None. A damaged file is as good as none."""
        try:
            kept = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        is_same = isinstance(kept, dict) and kept.get("fingerprint") == cell.fingerprint
        return kept.get("value") if is_same else None

    def _keep(self, cell: Cell, value: Any) -> None:
        text = json.dumps({"fingerprint": cell.fingerprint, "arguments": repr(cell.arguments), "value": value})
        with atomic_write(self._path(cell)) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")


def file_name(words: str) -> str:
    """Words as the name of a file, for any file system.

    >>> file_name("roll, at random seed=3")
    'roll-at-random-seed=3'
    """
    return re.sub(r"[^a-zA-Z0-9.=]+", "-", words)


def _value_at(place: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    """Call the function where nobody listens: fits within a cell have no stages to show."""
    return place, Context().run(function, *arguments)


@cache
def code_digest() -> str:
    """Hash of the code that measures and of the libraries' versions."""
    digest = hashlib.sha256(" ".join(f"{name} {version(name)}" for name in LIBRARIES).encode())
    paths = [*LIBRARY.rglob("*.py"), *PACKAGE.glob("datasets/*.py"), PACKAGE / "metrics.py"]
    for path in sorted([*paths, *(PACKAGE / "experiments" / name for name in CALLED_BY_CELLS)]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
