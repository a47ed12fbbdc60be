"""Distances to simple solids, blended -> one surface of triangles, with its normals and how open to the sky it is.

A shape is a function that takes points, one a row, and gives about how far outside of the solid each is, negative
inside. Simple ones are joined as if of wax, by minima and maxima that are rounded off over a width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hne.core.records import BoolArray, FloatArray, IndexArray

Shape: TypeAlias = Callable[[FloatArray], FloatArray]

# Points measured at once: few enough for what is computed of them to stay in the cache.
BLOCK = 8192
# Newton's steps that pull the corners of the triangles onto the surface, and the step of the difference quotient.
N_PULLS, DIFFERENCE = 2, 1e-4
# Steps away from the surface, relative to its size, at which the sky's share is felt.
SKY_STEPS = (0.02, 0.05, 0.09, 0.14)


@dataclass(frozen=True)
class Mesh:
    """A surface: corners, their normals, and triangles that turn counterclockwise seen from outside."""

    points: FloatArray  # (m, 3)
    normals: FloatArray  # (m, 3), of length one, outward
    openness: FloatArray  # (m,), 1 in the open, less in hollows
    triangles: IndexArray  # (t, 3)


def ellipsoid(points: FloatArray, center: Sequence[float], radii: Sequence[float]) -> FloatArray:
    """About the distance to an ellipsoid with axes along x, y, z: exact for a sphere."""
    offset = (points - np.array(center)) / np.array(radii)
    level = np.sqrt(np.einsum("ij,ij->i", offset, offset))
    offset /= np.array(radii)
    slope = np.sqrt(np.einsum("ij,ij->i", offset, offset))
    # At the center both are zero, and the distance is that to the nearest side.
    distance: FloatArray = np.where(slope > 1e-9, level * (level - 1) / np.maximum(slope, 1e-9), -min(radii))
    return distance


def tube(points: FloatArray, path: Sequence[Sequence[float]], radii: Sequence[float]) -> FloatArray:
    """About the distance to a tube along straight pieces, its radius going evenly from each corner's to the next's."""
    nearest = np.full(len(points), np.inf)
    corners = np.array(path, dtype=np.float64)
    for start, end, first, last in zip(corners[:-1], corners[1:], radii[:-1], radii[1:], strict=True):
        axis = end - start
        offset = points - start
        along = np.clip(offset @ axis / (axis @ axis), 0, 1)
        offset -= along[:, None] * axis
        away = np.sqrt(np.einsum("ij,ij->i", offset, offset))
        np.minimum(nearest, away - first - along * (last - first), out=nearest)
    return nearest


def blend(first: FloatArray, second: FloatArray, width: float) -> FloatArray:
    """Union of two shapes, the seam filled where both are nearer than about the width."""
    overlap = np.maximum(width - np.abs(first - second), 0)
    union: FloatArray = np.minimum(first, second) - overlap * overlap / (4 * width)
    return union


def carve(solid: FloatArray, tool: FloatArray, width: float) -> FloatArray:
    """Solid without the tool's shape, the edge rounded over the width."""
    return -blend(-solid, tool, width)


def surface(shape: Shape, axes: Sequence[FloatArray]) -> Mesh:
    """Triangles of the surface of a shape inside of a box, with corners as far apart as the points along its axes.

    The box is cut into cells; each that the surface runs through gets a corner, and each edge of the lattice that the
    surface cuts joins the corners of the four cells around it (Gibson's surface nets). Newton's method then pulls the
    corners onto the surface, so that their places do not depend on the lattice.
    """
    lattice = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inside = (measured(shape, lattice.reshape(-1, 3)) < 0).reshape(lattice.shape[:3])
    corner_of, cells = _corners(inside)
    triangles = _triangles(inside, corner_of)
    points = np.column_stack([(axis[low] + axis[low + 1]) / 2 for axis, low in zip(axes, cells.T, strict=True)])
    for _ in range(N_PULLS):
        slope = gradient(shape, points)
        # A blend's slope is between zero and one; where it is small a whole step would leave the cell.
        steepness = np.maximum(np.einsum("ij,ij->i", slope, slope), 0.25)
        points = points - (measured(shape, points) / steepness)[:, None] * slope
    normals = gradient(shape, points)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    size = max(np.ptp(axis) for axis in axes)
    return Mesh(points, normals, _openness(shape, points, normals, size), triangles)


def measured(shape: Shape, points: FloatArray) -> FloatArray:
    """Shape at the points, block by block."""
    return np.concatenate([shape(points[start : start + BLOCK]) for start in range(0, len(points), BLOCK)])


def gradient(shape: Shape, points: FloatArray) -> FloatArray:
    """Slope of a shape along x, y and z, by central differences."""
    steps = DIFFERENCE * np.eye(3)
    slopes = [(measured(shape, points + step) - measured(shape, points - step)) / (2 * DIFFERENCE) for step in steps]
    return np.column_stack(slopes)


def _corners(inside: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Number of the corner in each cell of the lattice, and the cells that have one, as indices of their low ends."""
    count = np.zeros(tuple(size - 1 for size in inside.shape), dtype=np.int8)
    for x, y, z in np.ndindex(2, 2, 2):
        rows, columns, layers = count.shape
        count += inside[x : x + rows, y : y + columns, z : z + layers]
    cut = (count > 0) & (count < 8)
    corner_of = np.full(count.shape, -1, dtype=np.intp)
    corner_of[cut] = np.arange(np.count_nonzero(cut))
    return corner_of, np.argwhere(cut)


def _triangles(inside: BoolArray, corner_of: IndexArray) -> IndexArray:
    """Two triangles for each edge of the lattice between an inside and an outside point, but at the box's sides."""
    found = []
    for axis in range(3):
        others = [(axis + 1) % 3, (axis + 2) % 3]
        along = np.moveaxis(inside, [axis, *others], [0, 1, 2])
        cells = np.moveaxis(corner_of, [axis, *others], [0, 1, 2])
        leaves = along[:-1, 1:-1, 1:-1] & ~along[1:, 1:-1, 1:-1]
        enters = ~along[:-1, 1:-1, 1:-1] & along[1:, 1:-1, 1:-1]
        for edges, order in ((leaves, (0, 1, 2, 3)), (enters, (3, 2, 1, 0))):
            i, j, k = np.nonzero(edges)
            around = np.column_stack([cells[i, j, k], cells[i, j + 1, k], cells[i, j + 1, k + 1], cells[i, j, k + 1]])
            quad = around[:, order]
            found += [quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]]
    return np.vstack(found)


def _openness(shape: Shape, points: FloatArray, normals: FloatArray, size: float) -> FloatArray:
    """How far the surface keeps from other parts of the solid, seen along its normals: 1 where nothing is near."""
    shortfall = np.zeros(len(points))
    weight = 1.0
    for relative in SKY_STEPS:
        height = relative * size
        shortfall += weight * np.clip(1 - measured(shape, points + height * normals) / height, 0, 1)
        weight /= 2
    openness: FloatArray = np.clip(1 - shortfall / 2, 0, 1)
    return openness
