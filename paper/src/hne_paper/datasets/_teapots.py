"""Angles -> pictures of a teapot on a turntable."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import cKDTree

from hne._runtime.progress import track
from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne.exceptions import InputTypeError, quoted
from hne_paper.datasets._render import direction, draw, highlight, turned
from hne_paper.datasets._sculpture import Mesh, blend, ellipsoid, surface, tube

Places: TypeAlias = tuple[tuple[float, float, float], ...]

# Points along spout and handle.
N_PATH = 200
# Degrees that the viewer stands above the table.
ELEVATION = 20.0
# What the picture must hold of the pot, which reaches 1.75 from its axis, and where its middle is.
WIDTH, HEIGHT, MIDDLE = 3.6, 2.7, 0.07
# Corners of the surface are nearer to each other about the lid and the spout's mouth than elsewhere.
FINE, COARSE = 0.026, 0.046
SMALLEST_SIZE = 8
LAMP, FILL = direction(-35, 45), direction(60, 10)
RED, BLUE, CREAM = np.array([[0.82, 0.27, 0.10], [0.05, 0.34, 0.42], [0.95, 0.86, 0.70]])
BACKGROUND = np.array([0.09, 0.10, 0.13])
# Places along spout and handle, in the plane of both (x to the spout's side, y up), and the radii there.
SPOUT = (
    (0.50, -0.30, 0.27),
    (0.78, -0.29, 0.28),
    (1.06, -0.20, 0.23),
    (1.26, 0.10, 0.15),
    (1.40, 0.40, 0.115),
    (1.64, 0.64, 0.10),
)
HANDLE = (
    (-0.80, 0.42, 0.085),
    (-1.15, 0.60, 0.085),
    (-1.50, 0.48, 0.085),
    (-1.56, 0.12, 0.085),
    (-1.33, -0.22, 0.085),
    (-0.86, -0.38, 0.085),
)
# The spout is cut off here, and its mouth is as wide as this.
MOUTH, MOUTH_RADIUS = np.array([1.60, 0.60, 0.0]), 0.07


def make_teapots(n_samples: int = 400, *, shape: tuple[int, int] = (76, 101)) -> Dataset:
    """Render a teapot turned through a full circle about its axis, seen from above: colored pictures on a closed curve.

    Number and size of the pictures follow the 400 teapots of Weinberger and Saul, which `load_teapots` reads; the
    pictures are made here and free to use. There is nothing random about them.

    Parameters
    ----------
    n_samples : int, default=400
        Number of pictures, at angles 0, 360 / n_samples, ... degrees. Fewer leave larger gaps: with 100, neighbors in
        space are still neighbors on the circle.
    shape : tuple of two ints, default=(76, 101)
        Rows and columns of a picture.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, rows * columns * 3) in [0, 1], red, green and blue of each pixel side by side;
        `chart` of shape (n_samples, 1) with the angle in degrees, 0 where the spout points to the right,
        counterclockwise seen from above.

    Examples
    --------
    >>> pots = make_teapots(4, shape=(19, 25))
    >>> pots.X.shape, pots.chart.ravel()
    ((4, 1425), array([  0.,  90., 180., 270.]))
    """
    n_samples = check_integer("n_samples", n_samples, 1, "Try n_samples=400")
    rows, columns = _check_shape(shape)
    angles: FloatArray = 360 / n_samples * np.arange(n_samples, dtype=np.float64)
    X = np.empty((n_samples, rows * columns * 3))
    for sample in track("teapots", range(n_samples), n_samples):
        X[sample] = teapot(angles[sample], (rows, columns)).ravel()
    return Dataset.of_one_group(
        X,
        angles[:, None],
        name=f"Teapots, {rows} x {columns}, {n_samples} samples",
        citation="Rendered by hne, after the teapots of Weinberger and Saul, International Journal of Computer Vision "
        "70 (2006) 77-90",
        chart_names=("closed angle",),
        image_shape=(rows, columns, 3),
    )


def teapot(angle: float, shape: tuple[int, int]) -> FloatArray:
    """Picture (rows, columns, 3) of the pot at an angle in degrees."""
    mesh, paint = _sculpted()
    rotation = turned(angle, ELEVATION)
    lamp, fill, viewer = LAMP @ rotation, FILL @ rotation, rotation[2]
    lit = 0.27 + 0.70 * np.maximum(mesh.normals @ lamp, 0) + 0.22 * np.maximum(mesh.normals @ fill, 0)
    shine = 0.65 * highlight(mesh.normals, lamp, viewer, 60) + 0.12 * highlight(mesh.normals, fill, viewer, 20)
    colors = np.minimum(paint * lit[:, None] + shine[:, None], 1)
    view = (0.0, MIDDLE, max(HEIGHT, WIDTH * shape[0] / shape[1]))
    return draw(mesh.points @ rotation.T, colors, mesh, shape, view, BACKGROUND)


def pot(points: FloatArray) -> FloatArray:
    """About the distance to a teapot: body, foot, rim, lid with a knob, spout along x, handle opposite."""
    spout = np.maximum(_bent_tube(points, SPOUT), _beyond_mouth(points))
    solid = blend(_turned_parts(points), spout, 0.12)
    return blend(solid, _bent_tube(points, HANDLE), 0.08)


@cache
def _sculpted() -> tuple[Mesh, FloatArray]:
    """Surface of the pot and the color of each corner, darker in hollows."""
    side = np.concatenate([np.arange(FINE / 2, 0.13, FINE), np.arange(0.13, 1.1, COARSE)])
    right = np.concatenate([np.arange(-1.75, 1.4, COARSE), np.arange(1.4, 1.8, FINE)])
    up = np.concatenate([np.arange(-1.0, 0.4, COARSE), np.arange(0.4, 1.2, FINE)])
    mesh = surface(pot, [right, up, np.concatenate([-side[::-1], side])])
    return mesh, mesh.openness[:, None] * _paint(mesh.points)


def _paint(points: FloatArray) -> FloatArray:
    """Color of points of the pot: cream band, foot and knob on glaze that is red in front and blue behind.

    A pot of one color looks nearly the same from opposite sides; the two glazes keep the far sides of the circle apart.
    """
    x, y, z = points.T
    around = np.arctan2(z, x)
    on_body = _share(FINE - _turned_parts(points))
    band = on_body * _share(0.12 - np.abs(y - 0.04 - 0.05 * np.cos(6 * around)))
    cream = np.maximum.reduce([band, _share(-0.74 - y), _share(y - 0.86)])[:, None]
    front = (0.5 + 0.5 * np.tanh(2.5 * z))[:, None]
    glaze = front * RED + (1 - front) * BLUE
    from_mouth = np.linalg.norm(points - MOUTH, axis=1)
    lightness = 1 - 0.9 * _share(MOUTH_RADIUS - from_mouth) * _share(_beyond_mouth(points) + FINE)
    paint: FloatArray = lightness[:, None] * (cream * CREAM + (1 - cream) * glaze)
    return paint


def _turned_parts(points: FloatArray) -> FloatArray:
    """What comes off the potter's wheel: shapes of the distance from the axis and the height."""
    profile = np.column_stack([np.hypot(points[:, 0], points[:, 2]), points[:, 1], np.zeros(len(points))])
    body = ellipsoid(points, (0, -0.05, 0), (1.0, 0.76, 1.0))
    body = blend(body, tube(profile, [(0.45, -0.72, 0), (0.52, -0.82, 0)], (0.07, 0.06)), 0.06)
    body = blend(body, tube(profile, [(0.56, 0.59, 0), (0.57, 0.61, 0)], (0.06, 0.06)), 0.05)
    lid = ellipsoid(points, (0, 0.58, 0), (0.50, 0.26, 0.50))
    lid = blend(lid, tube(points, [(0, 0.8, 0), (0, 0.9, 0)], (0.06, 0.05)), 0.08)
    lid = blend(lid, ellipsoid(points, (0, 0.97, 0), (0.14, 0.11, 0.14)), 0.03)
    return blend(body, lid, 0.04)


def _bent_tube(points: FloatArray, places: Places) -> FloatArray:
    """About the distance to a tube through the places, smooth in between."""
    tree, path, tangents = _path(places)
    nearest = tree.query(points[:, :2])[1]
    offset = points[:, :2] - path[nearest, :2]
    # From the nearest of the path's points a little along its tangent: the points in between count as well.
    along = np.clip(np.einsum("ij,ij->i", offset, tangents[nearest, :2]), -FINE, FINE)
    offset -= along[:, None] * tangents[nearest, :2]
    away = np.sqrt(np.einsum("ij,ij->i", offset, offset) + points[:, 2] ** 2)
    distance: FloatArray = away - path[nearest, 2] - along * tangents[nearest, 2]
    return distance


@cache
def _path(places: Places) -> tuple[cKDTree, FloatArray, FloatArray]:
    """Points and radii along a spline through the places, their change in a unit of length, and a search tree."""
    spline = CubicSpline(np.arange(len(places)), places)
    knots = np.linspace(0, len(places) - 1, N_PATH)
    path, change = spline(knots), spline(knots, 1)
    return cKDTree(path[:, :2]), path, change / np.linalg.norm(change[:, :2], axis=1, keepdims=True)


def _beyond_mouth(points: FloatArray) -> FloatArray:
    """Distance beyond the plane where the spout is cut off."""
    _, _, tangents = _path(SPOUT)
    distance: FloatArray = (points - MOUTH)[:, :2] @ tangents[-1, :2]
    return distance


def _share(value: FloatArray) -> FloatArray:
    """From 0 to 1 about zero, over the width of a triangle, so that edges of paint are smooth."""
    share: FloatArray = np.clip(0.5 + value / COARSE, 0, 1)
    return share


def _check_shape(shape: object) -> tuple[int, int]:
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        msg = f"shape must be a pair of integers, rows and columns, got {quoted(shape)}. Try shape=(76, 101)."
        raise InputTypeError(msg)
    rows, columns = (
        check_integer(name, size, SMALLEST_SIZE, "Try shape=(76, 101)")
        for name, size in zip(("shape[0]", "shape[1]"), shape, strict=True)
    )
    return rows, columns
