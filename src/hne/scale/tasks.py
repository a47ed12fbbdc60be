"""What is done with a block of rows, wherever that is: each task is a record that a worker can be sent."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.store import Arrays, Block, Stage
from hne.core.reconstruction import errors_of_rows
from hne.core.records import FloatArray, IndexArray, Settings
from hne.core.samples.kinds import Samples
from hne.core.samples.tables import check_matrix
from hne.core.samples.unique import Fingerprints, Ranges, fingerprints, leading_values, ranges_of
from hne.core.weights.rows import row_weights
from hne.exceptions import InputError


@dataclass(frozen=True)
class Kept:
    """A task whose result is kept as a block of a stage, and not handed back."""

    stage: Stage
    task: Any  # of a block, to its arrays

    def __call__(self, block: Block) -> None:
        """Do it, and write what it made."""
        self.stage.keep(block, self.task(block))


def take_in(values: Any, start: int, shape: tuple[int, int], stage: Stage) -> Ranges:
    """Check samples as they come, keep them, and tell the ranges of their columns."""
    X = check_matrix(np.asarray(values), first_row=start)
    if X.shape != shape:
        msg = f"X must have the chunks that it says, got {X.shape} for {shape} from row {start} on. Make it anew."
        raise InputError(msg)
    stage.keep((start, start + len(X)), {"X": X})
    return ranges_of(X)


@dataclass(frozen=True)
class MarkedRows:
    """What is needed to know who is a copy of whom, and where each stands."""

    raw: FloatArray
    ranges: Ranges  # of all samples

    def __call__(self, block: Block) -> tuple[Fingerprints, FloatArray]:
        """Fingerprints and leading values of the samples of the block."""
        X = np.asarray(self.raw[slice(*block)])
        return fingerprints(X, self.ranges), leading_values(X, self.ranges)


@dataclass(frozen=True)
class SomeRows:
    """Samples as they are."""

    X: FloatArray

    def __call__(self, block: Block) -> Arrays:
        """Those of the block."""
        return {"X": self.X[slice(*block)]}


@dataclass(frozen=True)
class PlacedRows:
    """Samples in the order of their places."""

    raw: FloatArray
    first: IndexArray

    def __call__(self, block: Block) -> Arrays:
        """The places of the block."""
        return {"X": np.asarray(self.raw[self.first[slice(*block)]])}


@dataclass(frozen=True)
class NeighborRows:
    """Neighbors of places."""

    search: Any  # BlockedSearch

    def __call__(self, block: Block) -> Arrays:
        """Those of the block."""
        indices, distances = self.search.rows(*block)
        return {"indices": indices, "distances": distances}


@dataclass(frozen=True)
class WeightRows:
    """Both layers of weights of places, and how far off these rebuild them."""

    X: Samples
    lists: IndexArray
    settings: Settings
    kernel: str

    def __call__(self, block: Block) -> Arrays:
        """Those of the block."""
        found, reached, near = row_weights(self.X, self.lists, *block, self.settings, self.kernel)
        inner, values, columns, counts = found
        made = {"inner": inner, "values": values, "columns": columns, "counts": counts}
        if isinstance(self.X, np.ndarray):
            made["errors"] = self._errors(values, near, counts, reached, block)
        return made

    def _errors(
        self, values: FloatArray, near: IndexArray, counts: IndexArray, reached: IndexArray, block: Block
    ) -> FloatArray:
        ends = np.concatenate([[0], np.cumsum(counts)])
        J = csr_array((values, near, ends), shape=(len(counts), len(reached)))
        return errors_of_rows(np.asarray(self.X[reached]), np.searchsorted(reached, np.arange(*block)), J)
