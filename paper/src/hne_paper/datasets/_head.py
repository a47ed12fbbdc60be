"""Points -> about how far they are outside of a sculpted head.

The numbers are places and sizes, tried by eye: x to the head's left, y up, z ahead; the eyes are near height zero, chin
and crown about one below and above.
"""

import numpy as np

from hne.core.records import FloatArray
from hne_paper.datasets._sculpture import blend, carve, ellipsoid, tube


def head(points: FloatArray) -> FloatArray:
    """About the distance to a head that looks along z, the same on both sides."""
    p = points.copy()
    p[:, 0] = np.abs(p[:, 0])
    solid = _with_mouth(p, _with_nose(p, _with_eye(p, _skull(p))))
    return blend(blend(solid, _ear(p), 0.05), _hair(p), 0.03)


def _skull(p: FloatArray) -> FloatArray:
    """Skull and face, jaw, chin, cheekbone and cheek, on their neck."""
    cranium, face = (
        ellipsoid(p, (0, 0.34, -0.16), (0.69, 0.74, 0.86)),
        ellipsoid(p, (0, -0.2, 0.17), (0.53, 0.78, 0.58)),
    )
    jaw = tube(p, [(0.42, -0.45, -0.05), (0.16, -0.84, 0.44)], (0.14, 0.13))
    chin = ellipsoid(p, (0, -0.85, 0.58), (0.17, 0.13, 0.14))
    cheekbone, cheek = (
        ellipsoid(p, (0.34, -0.14, 0.49), (0.20, 0.14, 0.17)),
        ellipsoid(p, (0.26, -0.45, 0.42), (0.22, 0.26, 0.22)),
    )
    neck = tube(p, [(0.0, -0.6, -0.26), (0.0, -1.8, -0.40)], (0.36, 0.42))
    solid = blend(blend(cranium, face, 0.25), jaw, 0.25)
    solid = blend(blend(solid, chin, 0.18), cheekbone, 0.16)
    return blend(blend(solid, cheek, 0.2), neck, 0.12)


def _with_eye(p: FloatArray, solid: FloatArray) -> FloatArray:
    """Brow, and below it a socket with an eyeball between two lids."""
    brow = tube(p, [(0.06, 0.20, 0.68), (0.28, 0.25, 0.62), (0.46, 0.16, 0.44)], (0.05, 0.055, 0.04))
    socket = ellipsoid(p, (0.26, 0.03, 0.86), (0.17, 0.10, 0.22))
    ball = ellipsoid(p, (0.26, 0.01, 0.55), (0.13, 0.105, 0.125))
    upper = [(0.13, -0.01, 0.63), (0.19, 0.06, 0.665), (0.27, 0.08, 0.665), (0.39, 0.0, 0.58)]
    lower = [(0.14, -0.01, 0.63), (0.21, -0.06, 0.65), (0.30, -0.06, 0.645), (0.38, 0.0, 0.59)]
    solid = carve(blend(solid, brow, 0.14), socket, 0.14)
    solid = blend(solid, ball, 0.01)
    solid = blend(solid, tube(p, upper, (0.018, 0.03, 0.032, 0.02)), 0.03)
    return blend(solid, tube(p, lower, (0.012, 0.02, 0.02, 0.015)), 0.03)


def _with_nose(p: FloatArray, solid: FloatArray) -> FloatArray:
    """Bridge, tip and wing, with a nostril."""
    bridge = tube(p, [(0, 0.16, 0.68), (0, -0.2, 0.91)], (0.055, 0.085))
    tip, wing = (
        ellipsoid(p, (0, -0.24, 0.92), (0.10, 0.085, 0.10)),
        ellipsoid(p, (0.10, -0.27, 0.83), (0.065, 0.055, 0.09)),
    )
    nostril = ellipsoid(p, (0.055, -0.335, 0.87), (0.03, 0.035, 0.05))
    solid = blend(blend(solid, bridge, 0.1), tip, 0.05)
    return carve(blend(solid, wing, 0.05), nostril, 0.03)


def _with_mouth(p: FloatArray, solid: FloatArray) -> FloatArray:
    """Two lips and the line between them."""
    peak, upper = (
        ellipsoid(p, (0.05, -0.495, 0.74), (0.07, 0.045, 0.07)),
        ellipsoid(p, (0.08, -0.515, 0.68), (0.14, 0.035, 0.08)),
    )
    lower = ellipsoid(p, (0.0, -0.59, 0.70), (0.17, 0.06, 0.10))
    line = tube(p, [(0, -0.540, 0.83), (0.1, -0.535, 0.78), (0.21, -0.55, 0.66)], (0.012, 0.012, 0.012))
    solid = blend(solid, blend(peak, upper, 0.06), 0.05)
    return carve(blend(solid, lower, 0.05), line, 0.03)


def _ear(p: FloatArray) -> FloatArray:
    """An oval with a hollow."""
    ear = ellipsoid(p, (0.68, -0.02, -0.12), (0.09, 0.23, 0.14))
    return carve(ear, ellipsoid(p, (0.78, 0.0, -0.08), (0.07, 0.15, 0.08)), 0.04)


def _hair(p: FloatArray) -> FloatArray:
    """Locks combed back, above a line from the forehead past the ear to the nape."""
    around = np.arctan2(p[:, 0], p[:, 1] - 0.2)
    # Waves that are even in x, so that there is no crease in the middle.
    locks = 0.02 * np.cos(15 * around + 1.5 * np.sin(5 * p[:, 2]) * np.tanh(4 * around))
    locks += 0.01 * np.sin(11 * p[:, 2]) * np.cos(4 * around)
    cap = ellipsoid(p, (0, 0.34, -0.18), (0.745, 0.80, 0.90)) - locks
    below = 0.8 * (0.26 + 0.62 * p[:, 2] - p[:, 1])
    return carve(cap, -below, 0.08)
