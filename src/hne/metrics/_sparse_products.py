"""Sparse samples -> squared distances by products of what is stored, exact wherever neighbors and ranks ask for it.

As `_products`, in double precision and not centered: a center would fill the matrix. Nothing is made dense but the
distances of a block of rows.
"""

import numpy as np
from scipy.sparse import csr_array

from hne._types import FloatArray, IndexArray, SparseMatrix
from hne.metrics._products import DOUBLE, Products

# Squared lengths of whole numbers up to this one are exact sums, and so are distances of four times as much.
LARGEST_EXACT = 2.0**50


class SparseProducts(Products):
    """Sparse samples, and their transpose for products."""

    def squared_distances(self, rows: IndexArray) -> FloatArray:
        """Squared distances (b, n) of some samples to all, within their slack; -1 to themselves."""
        distances: FloatArray = np.add.outer(self.squares[rows], self.squares)
        distances -= 2 * (self.points[rows] @ self.columns).toarray()
        # Copies of a sample are at no distance, not at a rounding of one.
        np.maximum(distances, 0.0, out=distances)
        distances[np.arange(len(rows)), rows] = -1.0
        return distances

    def _differences(self, sample: int, others: IndexArray | slice) -> FloatArray:
        near = self.points[others]
        return row_squares(near - self.points[np.full(near.shape[0], sample)])


def sparse_products(points: SparseMatrix) -> SparseProducts:
    """Sparse samples made ready for products."""
    squares = row_squares(points)
    # As many terms as a difference of two rows has at most: of products, of squares, of differences.
    n_terms = min(points.shape[1], 2 * int(np.diff(points.indptr).max()))
    is_whole = squares.max() <= LARGEST_EXACT and np.array_equal(points.data, np.rint(points.data))
    # To first order as in `products`, without what single precision loses.
    slacks = 2 * (3 * n_terms + 20) * DOUBLE * squares + n_terms * np.finfo(np.float64).tiny
    return SparseProducts(points, csr_array(points.T), squares, 1.0, np.zeros_like(squares) if is_whole else slacks)


def row_squares(X: SparseMatrix) -> FloatArray:
    """Squared length of each row, summed from left to right as products are."""
    squares: FloatArray = X.multiply(X).tocsr() @ np.ones(X.shape[1])
    return squares
