"""Weights on disk -> the eigenproblem as row blocks that MPI ranks read, and its answer, with no matrix in one place.

A and B exist block by block: workers write them for the ranks, and this process, which checks what came back, makes
them again one at a time. It holds a few vectors.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.files import make_folder
from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.store import Block
from hne.core.eigen.alignment import deviation
from hne.core.eigen.exchange import RowBlock, has_whole_problem, read_result, write_problem, write_rows
from hne.core.eigen.slepc import found_launch, rank_count, solve_folder
from hne.core.eigen.solve import certified
from hne.core.records import EigenPairs, FloatArray, IndexArray, Settings, SparseMatrix
from hne.core.weights.layers import inner_matrix
from hne.exceptions import InputError
from hne.scale.executors import Engine


class ProblemPosed(Exception):  # noqa: N818, no error: a run that ends here as it was asked to
    """A run has come to where MPI ranks shall take over, elsewhere."""

    def __init__(self, folder: Path, *, is_solved: bool) -> None:
        super().__init__(f"the eigenproblem is in '{folder}'")
        self.folder, self.is_solved = folder, is_solved


@dataclass(frozen=True)
class WeightsOnDisk:
    """Both layers of weights as a run has kept them, and the blocks that they are dealt with in."""

    own: IndexArray  # (n, k), neighbors
    inner: FloatArray  # (n, k)
    values: FloatArray  # of joint weights, row by row
    columns: IndexArray
    ends: IndexArray  # (n + 1,), where rows of joint weights begin and end
    blocks: tuple[Block, ...]

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.own)

    def deviations(self, block: Block) -> tuple[SparseMatrix, SparseMatrix]:
        """Rows of A and of B."""
        rows, n = slice(*block), self.n_samples
        W = inner_matrix(np.asarray(self.inner[rows]), np.asarray(self.own[rows]), n)
        ends = np.asarray(self.ends[block[0] : block[1] + 1])
        entries = slice(ends[0], ends[-1])
        joint = np.asarray(self.values[entries]), np.asarray(self.columns[entries]), ends - ends[0]
        J = csr_array(joint, shape=(block[1] - block[0], n))
        return deviation(W, block[0]), deviation(J, block[0])


@dataclass(frozen=True)
class StreamedAlignment:
    """What `Alignment` does with A and B, one block of their rows at a time."""

    weights: WeightsOnDisk
    gamma: float

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return self.weights.n_samples

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
        for block in self.weights.blocks:
            yield block, *self.weights.deviations(block)


@dataclass(frozen=True)
class ProblemRows:
    """Rows of A and B, written for the ranks."""

    weights: WeightsOnDisk
    folder: Path

    def __call__(self, block: Block) -> list[RowBlock]:
        """Write those of the block, and tell what was written."""
        parts = zip("AB", self.weights.deviations(block), strict=True)
        return [write_rows(self.folder, name, block[0], rows) for name, rows in parts]


def posed(weights: WeightsOnDisk, settings: Settings, engine: Engine, folder: Path) -> None:
    """Write the problem into its folder, unless it is there."""
    if has_whole_problem(folder):
        return
    make_folder(folder)
    with closing(engine.map("assembly", ProblemRows(weights, folder), weights.blocks)) as done:
        written = [one for blocks in track("rows of A and B", done, len(weights.blocks)) for one in blocks]
    seed = int(random_generator(settings.random_state).randint(2**31))
    write_problem(
        folder,
        written,
        weights.n_samples,
        count=settings.n_eigenvectors(weights.n_samples),
        gamma=settings.gamma,
        tol=settings.effective_tol,
        seed=seed,
    )


def solved(weights: WeightsOnDisk, settings: Settings, folder: Path, n_threads: int) -> EigenPairs:
    """Eigenpairs of a problem that has been posed, measured on themselves as every solver's are."""
    try:
        basis = read_result(folder).basis
    except InputError:
        # None yet, or not any more what it was.
        launch = found_launch()
        basis = solve_folder(folder, rank_count(launch, n_threads), launch).basis
    return certified(StreamedAlignment(weights, settings.gamma), basis, settings, "slepc")
