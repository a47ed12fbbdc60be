"""Pan, tilt and light -> pictures of a sculpted head."""

from __future__ import annotations

from functools import cache

import numpy as np

from hne._runtime.progress import track
from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne.datasets.record import Draw
from hne_paper.datasets._head import head
from hne_paper.datasets._render import direction, draw, highlight, turned
from hne_paper.datasets._sculpture import Mesh, surface

# Degrees, as in the statue faces of Tenenbaum and others: to either side, up and down, and of the light.
PAN, TILT, LIGHT = 75.0, 10.0, 75.0
# The lamp hangs higher than the viewer's eyes.
LAMP_HEIGHT = 25.0
BACKGROUND = np.array([0.06])
SMALLEST_SIZE = 8
# Where the face is, corners are nearer to each other than on the rest of the head.
FINE, COARSE = 0.024, 0.05
VIEW = (0.0, 0.0, 2.44)


def make_faces(n_samples: int = 698, *, size: int = 64, random_state: int = 0) -> Dataset:
    """Render a sculpted head that turns and nods under a lamp that moves: gray pictures of three angles.

    The head and the ranges of the angles follow the 698 statue faces of Tenenbaum, de Silva and Langford, which
    `load_statue_faces` reads; the pictures are made here and free to use.

    Parameters
    ----------
    n_samples : int, default=698
        Number of pictures, at angles uniform at random: pan from -75 to 75, tilt from -10 to 10, light from -75
        to 75 degrees. Some hundreds are few for three dimensions, which is what makes them a test.
    size : int, default=64
        Rows and columns of a picture. Larger ones cost memory and show more detail, not more structure.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, size ** 2) in [0, 1], `chart` of shape (n_samples, 3) with pan, tilt and light in
        degrees: positive to the right of the picture, and up.

    Examples
    --------
    >>> faces = make_faces(4, size=32)
    >>> faces.X.shape, faces.image_shape, faces.chart_names
    ((4, 1024), (32, 32), ('pan', 'tilt', 'light'))
    """
    draw = Draw(n_samples, random_state)
    n_samples, size = draw.n_samples, check_integer("size", size, SMALLEST_SIZE, "Try size=64")
    angles = (2 * draw.generator.random((n_samples, 3)) - 1) * [PAN, TILT, LIGHT]
    X = np.empty((n_samples, size * size))
    for sample in track("faces", range(n_samples), n_samples):
        pan, tilt, light = angles[sample].tolist()
        X[sample] = face(pan, tilt, light, size).ravel()
    return Dataset.of_one_group(
        X,
        angles,
        name=f"Faces, {size} x {size}, {n_samples} samples",
        citation="Rendered by hne, after the statue faces of Tenenbaum, de Silva and Langford, Science 290 (2000) "
        "2319-2323",
        chart_names=("pan", "tilt", "light"),
        image_shape=(size, size),
    )


def face(pan: float, tilt: float, light: float, size: int) -> FloatArray:
    """Picture (size, size) of the head turned to the right by pan and up by tilt, lit from the right, in degrees."""
    mesh, tones = _sculpted()
    rotation = turned(pan, -tilt)
    # Lamp and viewer are turned into the head's frame, which is cheaper than to turn all normals out of it.
    lamp, viewer = direction(light, LAMP_HEIGHT) @ rotation, rotation[2]
    # Light wraps around a little beyond the shadow's edge, as it does on plaster.
    lit = np.maximum(0.15 + 0.85 * (mesh.normals @ lamp), 0)
    gray = tones * (0.14 + 0.76 * lit) + 0.06 * highlight(mesh.normals, lamp, viewer, 12)
    colors = np.minimum(gray, 1)[:, None]
    return draw(mesh.points @ rotation.T, colors, mesh, (size, size), VIEW, BACKGROUND)[:, :, 0]


@cache
def _sculpted() -> tuple[Mesh, FloatArray]:
    """Surface of the head, its neck cut off below the picture, and how light each corner is: irises are dark."""
    right = np.concatenate([np.arange(FINE / 2, 0.42, FINE), np.arange(0.42, 0.9, COARSE)])
    up = np.concatenate([np.arange(-1.6, -0.66, COARSE), np.arange(-0.66, 0.3, FINE), np.arange(0.3, 1.25, COARSE)])
    ahead = np.concatenate([np.arange(-1.2, 0.5, COARSE), np.arange(0.5, 1.1, FINE)])
    mesh = surface(head, [np.concatenate([-right[::-1], right]), up, ahead])
    x, y, z = mesh.points.T
    from_iris = np.hypot(np.abs(x) - 0.255, y - 0.01) / 0.045
    return mesh, mesh.openness * np.where(z > 0.5, 1 - 0.55 / (1 + from_iris**8), 1)
