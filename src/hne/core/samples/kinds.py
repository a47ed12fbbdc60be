"""What samples may be known by, and the few operations that differ: a dense array, a CSR array, or distances.

All three have a `shape` whose first number counts the samples, and rows that `[rows]` takes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, IndexArray, PicklesFields, SparseMatrix, UniqueSamples
from hne.exceptions import refuse
from hne.settings import KNOWN_A_NEIGHBOR

# Share of samples of which fewer distances may be known than `n_known`.
FEWEST_KNOWN = 0.1


@dataclass(frozen=True)
class Distances(PicklesFields):
    """Distances of targets, one a row, to the samples; square where the samples are the targets.

    A CSR array holds those that are known: what is not stored is not known. Its columns ascend along a row.
    """

    matrix: Any  # FloatArray or CSR array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of targets and of samples."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def is_complete(self) -> bool:
        """Whether every distance is known."""
        return not issparse(self.matrix)

    @property
    def n_known(self) -> int:
        """Distances that are known of nearly all targets."""
        if self.is_complete:
            return self.shape[1]
        return int(np.quantile(np.diff(self.matrix.indptr), FEWEST_KNOWN, method="lower"))

    def __getitem__(self, rows: Any) -> "Distances":
        return Distances(self.matrix[rows])

    def to(self, distinct: UniqueSamples, targets: UniqueSamples | None = None) -> "Distances":
        """The targets' distances to places, those of places where the targets have copies too.

        What is known of any copy is known of all.
        """
        if self.is_complete:
            rows = slice(None) if targets is None else targets.index[:, None]
            return Distances(self.matrix[rows, distinct.index])
        rows, n_rows = np.repeat(np.arange(self.shape[0]), np.diff(self.matrix.indptr)), self.shape[0]
        if targets is not None:
            rows, n_rows = targets.inverse[rows], targets.n_places
        edges = shortest_edges(rows, distinct.inverse[self.matrix.indices], self.matrix.data)
        return Distances(csr_of_edges(*edges, (n_rows, distinct.n_places)))

    def among(self, samples: IndexArray) -> "Distances":
        """The targets' distances to some of the samples alone, in that order."""
        taken = self.matrix[:, samples]
        if issparse(taken):
            taken = csr_array(taken)
            taken.sort_indices()
        return Distances(taken)

    def at(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Distances of targets to samples, NaN where unknown; the two arrays are broadcast against each other."""
        if self.is_complete:
            return self.matrix[rows, columns]
        keys = np.asarray(rows, dtype=np.int64) * self.shape[1] + columns
        if not len(self._keys):
            return np.full(keys.shape, np.nan)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.matrix.data[at], np.nan)

    @cached_property
    def _keys(self) -> IndexArray:
        """Number of each stored entry, counted along the rows of the full matrix: ascending."""
        rows = np.repeat(np.arange(self.shape[0], dtype=np.int64), np.diff(self.matrix.indptr))
        return rows * self.shape[1] + self.matrix.indices


Samples: TypeAlias = Any  # FloatArray | csr_array | Distances


def shortest_edges(
    rows: IndexArray, columns: IndexArray, lengths: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Edges by row, then column, each once: of several between the same two, the shortest."""
    order = np.lexsort((lengths, columns, rows))
    rows, columns, lengths = rows[order], columns[order], lengths[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    return rows[is_first], columns[is_first], lengths[is_first]


def csr_of_edges(rows: IndexArray, columns: IndexArray, lengths: FloatArray, shape: tuple[int, int]) -> SparseMatrix:
    """CSR array of edges that are sorted by row; lengths of zero are stored too."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return csr_array((lengths, columns, ends), shape=shape)


def is_dense(X: Samples) -> bool:
    """Whether X is an array of coordinates, in memory or on disk."""
    return isinstance(X, np.ndarray)


def is_complete(X: Samples) -> bool:
    """Whether all distances of the samples are known: of a graph of distances some may be missing."""
    return not isinstance(X, Distances) or X.is_complete


def stored_matrix(X: Samples) -> Any:
    """The matrix that X is known by: coordinates, or distances."""
    return X.matrix if isinstance(X, Distances) else X


def stored_values(X: Samples) -> FloatArray:
    """All numbers of X that are stored; X itself where it is dense."""
    matrix = stored_matrix(X)
    return matrix.data if issparse(matrix) else matrix


def as_dense(X: Any) -> FloatArray:
    """X as an array, whether it is sparse or one already."""
    return X.toarray() if issparse(X) else X


def take(X: Samples, rows: IndexArray) -> Samples:
    """Some of the samples alone: of distances, those among them."""
    return X[rows].among(rows) if isinstance(X, Distances) else X[rows]


def take_among(X: Samples, targets: Samples, among: IndexArray) -> tuple[Samples, Samples]:
    """Samples and targets of a search among some of the samples alone; distances are the targets' own."""
    return (None, targets.among(among)) if isinstance(targets, Distances) else (X[among], targets)


def width(X: Samples) -> int:
    """Numbers that a row of X really holds, on average; at least one."""
    matrix = stored_matrix(X)
    return max(1, matrix.nnz // max(1, X.shape[0])) if issparse(matrix) else int(X.shape[1])


def difference_width(X: Samples) -> int:
    """Numbers that a difference of two samples takes in memory: distances need none of it."""
    return 1 if isinstance(X, Distances) else width(X)


def row_lengths(X: Samples) -> FloatArray:
    """Euclidean length of each row, dense or sparse."""
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64))


def lengths_between(X: Samples, targets: Samples, candidates: IndexArray) -> FloatArray:
    """Euclidean distance (t, c) of each target to its candidates among the samples, from differences."""
    t, c = candidates.shape
    if issparse(X):
        return row_lengths(X[candidates.ravel()] - targets[np.repeat(np.arange(t), c)]).reshape(t, c)
    difference = X[candidates] - targets[:, None, :]
    return np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))


def gram_of_differences(X: Samples, targets: Samples, ids: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Gram matrices K (b, m, m) of the differences of samples from each target, and their units (b,); not of dense X.

    In units of the farthest distance or the largest difference. No row's bits depend on the rows beside it.
    """
    return (gram_of_distances if isinstance(X, Distances) else gram_of_sparse)(X, targets, ids)


def gram_of_distances(X: Distances, targets: Distances, ids: IndexArray) -> tuple[FloatArray, FloatArray]:
    """The same of distances: K_ab = (d_ta^2 + d_tb^2 - d_ab^2) / 2.

    Distances of no Euclidean space give negative eigenvalues, which are set to zero: the nearest matrix that is a Gram
    matrix.
    """
    near = targets.at(np.arange(len(ids))[:, None], ids)
    between = X.at(ids[:, :, None], ids[:, None, :])
    unknown = 0 if X.is_complete else int(np.isnan(near).sum() + np.isnan(between).sum())
    if unknown:
        share = f"{unknown / (near.size + between.size):.1%}"
        rule = "as a graph of distances must know those of a sample to its neighbors' neighbors, and among them"
        remedy = (
            f"Store more (n_neighbors of KNeighborsTransformer {KNOWN_A_NEIGHBOR} times that of HNE, a larger radius), "
            "or fit the coordinates and pass the graph as neighbors="
        )
        refuse("X", rule, f"{width(X)} stored for each sample, with which {share} are missing", remedy)
    reach = np.maximum(near.max(axis=1), between.max(axis=(1, 2)))
    unit = np.where(reach > 0, reach, 1.0)
    near, between = (near / unit[:, None]) ** 2, (between / unit[:, None, None]) ** 2
    K = (near[:, :, None] + near[:, None, :] - between) / 2
    values, vectors = np.linalg.eigh(K)
    gram: FloatArray = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return gram, unit


def gram_of_sparse(X: SparseMatrix, targets: SparseMatrix, ids: IndexArray) -> tuple[FloatArray, FloatArray]:
    """The same of sparse samples, row by row, over the columns that its samples use."""
    b, m = ids.shape
    K, units = np.empty((b, m, m)), np.ones(b)
    for row in range(b):
        near, target = X[ids[row]], targets[row : row + 1]
        columns, slots = np.unique(np.concatenate([near.indices, target.indices]), return_inverse=True)
        local = np.zeros((m + 1, max(1, len(columns))))
        local[np.repeat(np.arange(m), np.diff(near.indptr)), slots[: near.nnz]] = near.data
        local[m, slots[near.nnz :]] = target.data
        difference = local[:m] - local[m]
        reach = np.abs(difference).max()
        units[row] = reach if reach > 0 else 1.0
        difference /= units[row]
        K[row] = difference @ difference.T
    return K, units
