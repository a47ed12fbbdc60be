"""Data sets whose true coordinates are known: the kinds of a study on choosing settings, and surfaces that it had not.

Each is a function of nothing, so that only what is measured is made; seeds are told by the caller.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hne import datasets
from hne.core.records import FloatArray
from hne_paper import datasets as images

Made = tuple[FloatArray, FloatArray]

ROLL = 1.5 * np.pi
SEVERED = 0.9  # share of a full turn that a bent strip takes


@dataclass(frozen=True)
class Charted:
    """A data set by name and kind, how to make it, and its dimensions."""

    name: str
    kind: str
    make: Callable[[], Made]
    n_components: int = 2


def study_sets(seed: int) -> Iterator[Charted]:
    """The study's kinds, made anew: rolls even, uneven, noisy and holed, S-curves, peaks, spheres, strips, cubes."""
    for kind, name, make, every, d in STUDY:
        for given in every:
            label = ", ".join([name, *(f"{part:g}" for part in given)])
            yield Charted(label, kind, partial(make, *given, seed), d)
            seed += 1


def new_sets(seed: int) -> Iterator[Charted]:
    """Surfaces that no rule was made with."""
    for number, (name, make) in enumerate(NEW_SURFACES.items()):
        for n in (400, 1000):
            yield Charted(f"{name}, {n}", "new", partial(_drawn, make, n, seed + 10 * number + n))


def real_images(folder: Path) -> Iterator[Charted]:
    """The statue faces and the teapots, where their files are."""
    if (folder / "statue_face_32x32.mat").exists():
        yield Charted("statue faces, 698", "images", partial(_statue, folder), 3)
    if (folder / "teapots100.mat").exists():
        yield Charted("teapots, 100", "images", partial(_photographed, folder))


def _roll(n: int, *noise_and_seed: float) -> Made:
    *noise, seed = noise_and_seed
    return _made(datasets.make_swiss_roll(n, noise=noise[0] if noise else 0.0, random_state=int(seed)))


def _even_roll(n: int, seed: int) -> Made:
    return _made(datasets.make_swiss_roll(n, even=True, random_state=seed))


def _hole(n: int, seed: int) -> Made:
    return _made(datasets.make_swiss_hole(n, random_state=seed))


def _s_curve(n: int, noise: float, seed: int) -> Made:
    return _made(datasets.make_s_curve(n, noise=noise, random_state=seed))


def _peaks(n: int, seed: int) -> Made:
    return _made(datasets.make_twin_peaks(n, random_state=seed))


def _severed(n: int, seed: int) -> Made:
    return _made(datasets.make_severed_sphere(n, random_state=seed))


def _cube(n: int, seed: int) -> Made:
    return _made(datasets.make_cube(n, random_state=seed))


def _faces(n: int, seed: int) -> Made:
    return _made(images.make_faces(n, size=24, random_state=seed))


def _teapots(n: int, seed: int) -> Made:  # noqa: ARG001, they have nothing random
    return _as_ring(images.make_teapots(n))


def _statue(folder: Path) -> Made:
    return _made(images.load_statue_faces(folder))


def _photographed(folder: Path) -> Made:
    return _as_ring(images.load_teapots(folder))


def _made(data: datasets.Dataset) -> Made:
    return data.X, data.chart


def _as_ring(data: datasets.Dataset) -> Made:
    """Angles as points of a circle, which is what an embedding can find."""
    angle = np.deg2rad(data.chart[:, 0])
    return data.X, np.column_stack([np.cos(angle), np.sin(angle)])


def _uneven_roll(n: int, seed: int) -> Made:
    """A roll whose density falls from the inner end to the outer, as 1 / sqrt of the way."""
    u, v = np.random.default_rng(seed).random((2, n))
    t = ROLL * (1 + 2 * u**2)
    return np.column_stack([t * np.cos(t), 21 * v, t * np.sin(t)]), np.column_stack([spiral_length(t), 21 * v])


def spiral_length(t: FloatArray) -> FloatArray:
    length: FloatArray = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return length


def _cap(n: int, seed: int) -> Made:
    """Part of a sphere around its pole, down to an angle of 1.37; the chart keeps distances from the pole."""
    height, longitude = (
        1 - 0.8 * np.random.default_rng(seed).random(n),
        2 * np.pi * np.random.default_rng(seed + 1).random(n),
    )
    angle = np.arccos(height)
    ring = np.column_stack([np.cos(longitude), np.sin(longitude)])
    return np.column_stack([np.sin(angle)[:, None] * ring, height]), angle[:, None] * ring


def _strip(n: int, aspect: float, seed: int) -> Made:
    """A strip that many times as long as wide, bent nearly to a closed ring."""
    u, v = np.random.default_rng(seed).random((2, n))
    radius = aspect / (2 * np.pi * SEVERED)
    angle = 2 * np.pi * SEVERED * u
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), v]), np.column_stack([aspect * u, v])


def _drawn(surface: Callable[[FloatArray, FloatArray], Made], n: int, seed: int) -> Made:
    return surface(*np.random.default_rng(seed).random((2, n)))


def _saddle(u: FloatArray, v: FloatArray) -> Made:
    x, y = 2 * u - 1, 2 * v - 1
    return np.column_stack([x, y, x**2 - y**2]), np.column_stack([x, y])


def _cone(u: FloatArray, v: FloatArray) -> Made:
    """Three quarters of a cone's side, cut off near the tip: flat once it is cut open."""
    slant, turn = 1 + 2 * u, 1.5 * np.pi * v
    ring, height = slant * np.sin(0.6), slant * np.cos(0.6)
    opened = turn * np.sin(0.6)
    X = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])
    return X, np.column_stack([slant * np.cos(opened), slant * np.sin(opened)])


def _waves(u: FloatArray, v: FloatArray) -> Made:
    """A corrugated sheet: three waves of equal arcs, up and down."""
    along = 6 * u
    turn = np.pi * (along % 1)
    sign = np.where(along.astype(int) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([(2 * np.floor(along) + 1 - np.cos(turn)) / np.pi, sign * np.sin(turn) / np.pi, 2 * v])
    return X, np.column_stack([along, 2 * v])


def _helicoid(u: FloatArray, v: FloatArray) -> Made:
    """A spiral staircase of one turn and a half."""
    turn, radius = 3 * np.pi * u, 1 + 2 * v
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), 2 * turn]), np.column_stack([turn, radius])


def _bowl(u: FloatArray, v: FloatArray) -> Made:
    x, y = 2 * u - 1, 2 * v - 1
    return np.column_stack([x, y, x**2 + y**2]), np.column_stack([x, y])


def _loose_roll(u: FloatArray, v: FloatArray) -> Made:
    """A roll whose turns are farther and farther apart, exp(t / 8), in six dimensions."""
    t = 3.5 * np.pi * u
    radius = np.exp(t / 8)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 3)))[0]
    X = np.column_stack([radius * np.cos(t), radius * np.sin(t), 4 * v]) @ turn.T
    return X, np.column_stack([np.sqrt(65) * radius, 4 * v])


# Kind, name, maker, what it is called with before the seed, dimensions.
STUDY: tuple[tuple[str, str, Callable[..., Made], Sequence[tuple[float, ...]], int], ...] = (
    ("roll", "roll", _roll, [(n,) for n in (300, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000)], 2),
    ("roll", "even roll", _even_roll, [(n,) for n in (300, 400, 600, 1000, 1500)], 2),
    ("noisy", "noisy roll", _roll, [(600, 0.1), (800, 0.2), (1000, 0.2), (1000, 0.3), (2000, 0.3), (3000, 0.4)], 2),
    ("uneven", "uneven roll", _uneven_roll, [(n,) for n in (300, 600, 1000, 2000)], 2),
    ("hole", "Swiss hole", _hole, [(n,) for n in (400, 600, 1000, 2000)], 2),
    ("S-curve", "S-curve", _s_curve, [(200, 0), (400, 0), (800, 0), (1500, 0), (800, 0.02), (1000, 0.05)], 2),
    ("curved", "twin peaks", _peaks, [(n,) for n in (300, 600, 1000, 2000)], 2),
    ("curved", "severed sphere", _severed, [(n,) for n in (400, 800, 1500)], 2),
    ("curved", "sphere cap", _cap, [(n,) for n in (300, 800, 1500)], 2),
    ("strip", "bent strip", _strip, [(600, 4), (800, 8), (1500, 8), (1000, 16)], 2),
    ("cube", "cube in 8-D", _cube, [(n,) for n in (500, 1000, 1500)], 3),
    ("images", "rendered faces", _faces, [(400,), (600,)], 3),
    ("images", "rendered teapots", _teapots, [(100,), (200,)], 2),
)

NEW_SURFACES = {
    "saddle": _saddle,
    "cone": _cone,
    "waves": _waves,
    "spiral stairs": _helicoid,
    "bowl": _bowl,
    "loose roll in 6-D": _loose_roll,
}
