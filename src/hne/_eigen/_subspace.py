"""What block iterations share: orthonormal blocks without the constant, Ritz vectors, angles between planes."""

import numpy as np

from hne._types import FloatArray


def ascending(images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ritz values of a basis and the coefficients of its Ritz vectors, given its images under [sqrt(gamma) A; B]."""
    triangle = np.linalg.qr(images, mode="r")
    _, lengths, rotation = np.linalg.svd(triangle)
    return lengths[::-1] ** 2, rotation[::-1].T


def orthonormal(block: FloatArray, basis: FloatArray) -> FloatArray:
    """Make the block orthonormal, orthogonal to the basis and to the constant vector; twice is enough."""
    for _ in range(2):
        block = centered(block)
        block, _ = np.linalg.qr(block - basis @ (basis.T @ block))
    return block


def centered(block: FloatArray) -> FloatArray:
    """Take the constant vector out of each column."""
    without: FloatArray = block - block.mean(axis=0)
    return without


def sine_between(plane: FloatArray, other: FloatArray) -> float:
    """Sine of the largest angle between two planes given by orthonormal columns; 1 where one is missing."""
    if plane.shape != other.shape:
        return 1.0
    return float(np.linalg.norm(plane - other @ (other.T @ plane), ord=2))
