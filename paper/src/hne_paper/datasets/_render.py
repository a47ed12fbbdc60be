"""Mesh, pose and colors -> picture: turned, projected, drawn with many samples a pixel, averaged."""

from __future__ import annotations

import numpy as np

from hne.core.records import FloatArray
from hne_paper.datasets._sculpture import Mesh

# Samples a pixel along each axis: 16 in all keep the pictures smooth in the pose.
SAMPLES_A_SIDE = 4


def turned(pan: float, tilt: float) -> FloatArray:
    """Rotation, to be applied to points from the left: pan degrees about y (up), then tilt degrees about x (right)."""
    a, b = np.radians([pan, tilt])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    rotation: FloatArray = about_x @ about_y
    return rotation


def direction(azimuth: float, elevation: float) -> FloatArray:
    """Unit vector that points azimuth degrees to the right of the viewer and elevation degrees up."""
    a, b = np.radians([azimuth, elevation])
    return np.array([np.sin(a) * np.cos(b), np.sin(b), np.cos(a) * np.cos(b)])


def highlight(normals: FloatArray, light: FloatArray, viewer: FloatArray, sharpness: float) -> FloatArray:
    """Light mirrored towards the viewer, both far away in these directions: 1 where the mirror fits (after Blinn)."""
    halfway = light + viewer
    halfway /= np.linalg.norm(halfway)
    shine: FloatArray = np.maximum(normals @ halfway, 0) ** sharpness
    return shine


def draw(
    points: FloatArray,
    colors: FloatArray,
    mesh: Mesh,
    shape: tuple[int, int],
    view: tuple[float, float, float],
    background: FloatArray,
) -> FloatArray:
    """Picture (rows, columns, channels) of the mesh with its corners moved to `points`, seen along -z.

    `view` is x and y in the middle of the picture, and how much of the y-axis its rows span.
    """
    from hne_paper.datasets._raster import paint  # noqa: PLC0415, numba is loaded when it is needed

    rows, columns = (SAMPLES_A_SIDE * size for size in shape)
    middle_x, middle_y, height = view
    scale = rows / height
    corners = np.column_stack(
        [
            rows / 2 - scale * (points[:, 1] - middle_y),
            columns / 2 + scale * (points[:, 0] - middle_x),
            points[:, 2],
        ]
    )
    picture = np.zeros((*shape, len(background)))
    paint(corners, colors, mesh.triangles, background, picture, SAMPLES_A_SIDE)
    return picture
