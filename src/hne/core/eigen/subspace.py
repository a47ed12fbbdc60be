"""What block iterations share: a growing basis with its Ritz vectors, and angles between planes."""

from collections.abc import Callable

import numpy as np

from hne.core.records import Alignment, FloatArray, Solve


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


# Power steps to the largest eigenvalue, and a reserve for what they miss.
POWER_STEPS, RESERVE = 15, 1.15

# Takes a first solution, which it may change, and a right side; gives a better one.
Smooth = Callable[[FloatArray, FloatArray], FloatArray]


def chebyshev(apply: Solve, diagonal: FloatArray, steps: int, ratio: float) -> Smooth:
    """Damp the part of the spectrum of the matrix, scaled by its diagonal, from the largest eigenvalue to 1 / ratio."""
    inverse = inverted(diagonal)
    highest = _largest_eigenvalue(apply, np.sqrt(inverse))
    lowest = highest / ratio
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2

    def smooth(solution: FloatArray, right_side: FloatArray) -> FloatArray:
        residual = right_side - apply(solution)
        direction = inverse * residual / middle
        solution += direction
        rate = half / middle
        for _ in range(steps - 1):
            residual -= apply(direction)
            next_rate = 1.0 / (2 * middle / half - rate)
            direction *= next_rate * rate
            direction += (2 * next_rate / half) * (inverse * residual)
            solution += direction
            rate = next_rate
        return solution

    return smooth


def inverted(diagonal: FloatArray) -> FloatArray:
    """One over each entry, as a column; zero where there is nothing to divide by, as on levels made from copies."""
    inverse: FloatArray = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return inverse[:, None]


def _largest_eigenvalue(apply: Solve, scaling: FloatArray) -> float:
    """Bound on the top of the spectrum of the scaled matrix."""
    vector = np.random.default_rng(0).standard_normal((len(scaling), 1))
    for _ in range(POWER_STEPS):
        vector = scaling * apply(scaling * (vector / np.linalg.norm(vector)))
    return RESERVE * float(np.linalg.norm(vector))


# Entries this near to the largest are as large: of two pieces, both are as far from their mean.
NEAR_TIE = 1e-6


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Give each column the sign that makes its largest entry positive; near-ties go to the first of them."""
    magnitude = np.abs(vectors)
    leader = np.argmax(magnitude >= (1 - NEAR_TIE) * magnitude.max(axis=0), axis=0)
    signs = np.sign(vectors[leader, np.arange(vectors.shape[1])])
    fixed: FloatArray = vectors * signs
    return fixed
