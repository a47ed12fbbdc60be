"""What block iterations share: a growing basis with its Ritz vectors, and angles between planes."""

import numpy as np

from hne._types import Alignment, FloatArray


class RitzSpace:
    """Orthonormal basis without the constant, and the best eigenpairs of G in its span.

    The images of the basis under [sqrt(gamma) A; B] are kept as Q R and added to, so that a step costs what its block
    costs: singular values of the small R are the lengths whose squares are the Ritz values.
    """

    def __init__(self, alignment: Alignment, capacity: int) -> None:
        self._alignment = alignment
        n = alignment.n_samples
        # By columns: blocks are added at the end, and products take the first ones. Memory is taken as it is filled.
        self._vectors = np.empty((n, capacity), order="F")
        self._images = np.empty((2 * n, capacity), order="F")
        self._triangle = np.empty((0, 0))

    @property
    def dimension(self) -> int:
        """Number of vectors in the basis."""
        return len(self._triangle)

    def add(self, block: FloatArray) -> None:
        """Add what the block has that the basis has not, as far as there is room beside the constant."""
        size = self.dimension
        block = _orthonormal(block, self._vectors[:, :size])[:, : len(self._vectors) - 1 - size]
        end = size + block.shape[1]
        self._vectors[:, size:end] = block
        del block
        image, coupling, corner = _split(self._alignment.stacked(self.newest(size, end)), self._images[:, :size])
        self._images[:, size:end] = image
        self._triangle = np.block([[self._triangle, coupling], [np.zeros((end - size, size)), corner]])

    def newest(self, since: int, until: int | None = None) -> FloatArray:
        """Vectors of the basis from number `since` on, to the last where none is given."""
        return self._vectors[:, since : self.dimension if until is None else until]

    def ritz(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Ritz values, ascending, and the vectors of the first `width`."""
        values, coefficients = self._ascending()
        return values, self._vectors[:, : self.dimension] @ coefficients[:, :width]

    def keep(self, count: int) -> None:
        """Start over from the best `count` vectors."""
        _, coefficients = self._ascending()
        size = self.dimension
        best = coefficients[:, : min(count, size)]
        rotation, triangle = np.linalg.qr(self._triangle @ best)
        kept = best.shape[1]
        self._vectors[:, :kept] = self._vectors[:, :size] @ best
        self._images[:, :kept] = self._images[:, :size] @ rotation
        self._triangle = triangle

    def _ascending(self) -> tuple[FloatArray, FloatArray]:
        _, lengths, rotation = np.linalg.svd(self._triangle)
        return lengths[::-1] ** 2, rotation[::-1].T


def _orthonormal(block: FloatArray, basis: FloatArray) -> FloatArray:
    """Make the block orthonormal, orthogonal to the basis and to the constant vector; twice is enough."""
    for _ in range(2):
        block = centered(block)
        block, _ = np.linalg.qr(block - basis @ (basis.T @ block))
    return block


def _split(image: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Orthonormal part of an image, which is lost, outside the basis; its coefficients in the basis, and in that part.

    Changed in place, because images are the largest of all arrays.
    """
    coupling = basis.T @ image
    image -= basis @ coupling
    again = basis.T @ image
    image -= basis @ again
    part, corner = np.linalg.qr(image)
    return part, coupling + again, corner


def centered(block: FloatArray) -> FloatArray:
    """Take the constant vector out of each column."""
    without: FloatArray = block - block.mean(axis=0)
    return without


def sine_between(plane: FloatArray, other: FloatArray) -> float:
    """Sine of the largest angle between two planes given by orthonormal columns; 1 where one is missing."""
    if plane.shape != other.shape:
        return 1.0
    return float(np.linalg.norm(plane - other @ (other.T @ plane), ord=2))
