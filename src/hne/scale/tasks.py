"""What is done with a block of rows, here or on a worker: functions of their data and, last, the block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.store import Arrays, Block, Stage
from hne.core.eigen.alignment import deviation
from hne.core.eigen.exchange import RowBlock, write_rows
from hne.core.neighbors.blocked import BlockedSearch
from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.core.samples.canonical import Fingerprints, Ranges, fingerprints, leading_values, ranges_of
from hne.core.samples.check import check_matrix
from hne.core.samples.kinds import Samples
from hne.core.weights.layers import inner_matrix, reconstruction_errors, row_weights
from hne.exceptions import refuse
from hne.settings import Settings


def keep_rows(stage: Stage, task: Callable[[Block], Arrays], block: Block) -> None:
    """Write what a task makes of a block, and hand nothing back."""
    stage.keep(block, task(block))


def ingest_chunk(values: Any, start: int, shape: tuple[int, int], stage: Stage) -> Ranges:
    """Check samples as they come, keep them, and tell the ranges of their columns."""
    X = check_matrix(np.asarray(values), first_row=start)
    if X.shape != shape:
        refuse("X", "must have the chunks that it says", f"{X.shape} for {shape} from row {start} on", "Make it anew")
    stage.keep((start, start + len(X)), {"X": X})
    return ranges_of(X)


def marks_of_rows(raw: FloatArray, ranges: Ranges, block: Block) -> tuple[Fingerprints, FloatArray]:
    """Fingerprints and leading values, which tell copies and order of samples; the ranges are those of all."""
    X = np.asarray(raw[slice(*block)])
    return fingerprints(X, ranges), leading_values(X, ranges)


def ordered_rows(raw: FloatArray, order: IndexArray, block: Block) -> Arrays:
    """Samples in another order than that in which they came."""
    return {"X": np.asarray(raw[order[slice(*block)]])}


def neighbor_rows(search: BlockedSearch, block: Block) -> Arrays:
    """Neighbors of samples."""
    indices, distances = search.rows(*block)
    return {"indices": indices, "distances": distances}


def weight_rows(X: Samples, neighbors: IndexArray, settings: Settings, block: Block) -> Arrays:
    """Both layers of weights of samples, and how far off these rebuild them."""
    weights, reached, near = row_weights(X, neighbors, *block, settings)
    inner, values, columns, counts = weights
    arrays = {"inner": inner, "values": values, "columns": columns, "counts": counts}
    if isinstance(X, np.ndarray):
        ends = np.concatenate([[0], np.cumsum(counts)])
        J = csr_array((values, near, ends), shape=(len(counts), len(reached)))
        places = np.searchsorted(reached, np.arange(*block))
        arrays["errors"] = reconstruction_errors(np.asarray(X[reached]), J, places)
    return arrays


@dataclass(frozen=True)
class StreamedAlignment:
    """What `Alignment` does with A and B, one block of their rows at a time: in memory are a few vectors.

    Both layers of weights are as a run has kept them.
    """

    neighbors: IndexArray  # (n, k)
    inner: FloatArray  # (n, k)
    values: FloatArray  # of joint weights, row by row
    columns: IndexArray
    counts: IndexArray  # (n,), joint weights of each row
    blocks: tuple[Block, ...]
    first_entries: tuple[int, ...]  # of the blocks, and the end of the last
    gamma: float

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.neighbors)

    def deviations(self, number: int) -> tuple[SparseMatrix, SparseMatrix]:
        """Rows of A and of B of a block."""
        (start, stop), n = self.blocks[number], self.n_samples
        W = inner_matrix(np.asarray(self.inner[start:stop]), np.asarray(self.neighbors[start:stop]), n)
        entries = slice(self.first_entries[number], self.first_entries[number + 1])
        ends = np.concatenate([[0], np.cumsum(self.counts[start:stop])])
        joint = np.asarray(self.values[entries]), np.asarray(self.columns[entries]), ends
        J = csr_array(joint, shape=(stop - start, n))
        return deviation(W, start), deviation(J, start)

    def diagonal(self) -> FloatArray:
        """Diagonal of G; its largest entry is the scale of G."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> FloatArray:
        squares = np.zeros(self.n_samples)
        for _, A, B in self._rows():
            np.add.at(squares, A.indices, self.gamma * A.data**2)
            np.add.at(squares, B.indices, B.data**2)
        return squares

    def stacked(self, Y: FloatArray) -> FloatArray:
        """[sqrt(gamma) A Y; B Y]."""
        n = self.n_samples
        images = np.empty((2 * n, Y.shape[1]))
        for (start, stop), A, B in self._rows():
            images[start:stop] = np.sqrt(self.gamma) * (A @ Y)
            images[n + start : n + stop] = B @ Y
        return images

    def apply(self, Y: FloatArray) -> FloatArray:
        """G @ Y without forming G."""
        product = np.zeros_like(Y)
        for _, A, B in self._rows():
            for matrix, weight in ((A, self.gamma), (B, 1.0)):
                # A block reaches few columns: the sum over blocks is no longer than the matrix.
                reached, near = np.unique(matrix.indices, return_inverse=True)
                local = csr_array((matrix.data, near, matrix.indptr), shape=(matrix.shape[0], len(reached)))
                product[reached] += weight * (local.T @ (local @ Y[reached]))
        return product

    def _rows(self) -> Iterator[tuple[Block, SparseMatrix, SparseMatrix]]:
        for number, block in enumerate(self.blocks):
            yield block, *self.deviations(number)


def problem_rows(alignment: StreamedAlignment, folder: Path, number: int) -> list[RowBlock]:
    """Write rows of A and B for MPI ranks, and tell what was written."""
    start, _ = alignment.blocks[number]
    deviations = alignment.deviations(number)
    return [write_rows(folder, name, start, rows) for name, rows in zip("AB", deviations, strict=True)]
