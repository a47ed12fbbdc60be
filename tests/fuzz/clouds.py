"""A random generator -> dense samples of float64: every kind of cloud that has ever broken a manifold learner."""

from collections.abc import Callable

import numpy as np

Cloud = Callable[[np.random.Generator, int, int], np.ndarray]

LARGEST_EXPONENT = 300


def gaussian(rng, n, n_features):
    return rng.normal(size=(n, n_features))


def rolled(rng, n, n_features):
    """A rolled-up band, in as many dimensions as wanted."""
    t = np.sort(rng.uniform(3, 12, size=n))
    band = np.column_stack([t * np.cos(t), rng.uniform(0, 8, size=n), t * np.sin(t)])
    return np.hstack([band, rng.normal(scale=0.01, size=(n, n_features))])[:, :n_features]


def lattice(rng, n, n_features):
    """Small integers: ties everywhere, and repeats."""
    return rng.integers(-3, 4, size=(n, n_features)).astype(float)


def full_lattice(rng, n, n_features):
    """The corners of a grid in their order, no repeats."""
    filled = min(n_features, 3)
    # One more than the root, which may be rounded down.
    side = int(n ** (1 / filled)) + 1
    grid = np.stack(np.unravel_index(np.arange(n), (side,) * filled), axis=1)
    return np.hstack([grid, np.zeros((n, n_features - grid.shape[1]))]).astype(float)


def collinear(rng, n, n_features):
    steps = rng.choice([np.arange(n), rng.normal(size=n), rng.integers(0, n + 1, size=n)]).astype(float)
    return np.outer(steps, rng.normal(size=n_features)) + rng.choice([0.0, 1.0, 1e6])


def coplanar(rng, n, n_features):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, n_features)) + rng.choice([0.0, 1.0, 1e6])


def constant(rng, n, n_features):
    """All samples equal, or all but one."""
    X = np.full((n, n_features), rng.choice([0.0, 1.0, -1e300, 1e-300, 0.1]))
    if n and rng.random() < 0.5:
        X[rng.integers(n)] += rng.choice([1.0, 1e-12, 1e200])
    return X


def constant_columns(rng, n, n_features):
    X = rng.normal(size=(n, n_features))
    X[:, rng.random(n_features) < 0.6] = rng.choice([0.0, 3.0, 1e9, 1e300])
    return X


def copies(rng, n, n_features):
    """All samples twice, or few places with many samples each."""
    places = rng.normal(size=(max(1, rng.choice([n // 2, 2, 5, n // 5])), n_features))
    return places[rng.integers(len(places), size=n)]


def near_copies(rng, n, n_features):
    """Samples that differ in their last digits, or by less than squares can tell."""
    places = rng.normal(size=(max(1, int(rng.choice([1, 3, n // 2]))), n_features)) * rng.choice([0.0, 1.0, 1e6])
    apart = 10.0 ** -rng.choice([6, 9, 12, 15, 100, 160, 200, 300])
    return places[rng.integers(len(places), size=n)] + apart * rng.normal(size=(n, n_features))


def simplex(rng, n, n_features):
    """All samples equally far from each other."""
    return rng.choice([1.0, 1000.0, 1e-200, 1e200]) * np.eye(n)


def simplices(rng, n, n_features):
    """Several simplices far from each other."""
    X = 1000.0 * np.eye(n)
    X[:, 0] += 1e6 * rng.integers(0, 3, size=n)
    return X


def far_pieces(rng, n, n_features):
    centers = rng.normal(size=(rng.integers(2, 6), n_features)) * 10.0 ** rng.uniform(2, 12)
    return centers[np.sort(rng.integers(len(centers), size=n))] + rng.normal(size=(n, n_features))


def tiny_pieces(rng, n, n_features):
    """Many groups of two to four samples."""
    each = int(rng.integers(2, 5))
    centers = rng.normal(size=(n // each + 1, n_features)) * 1e4
    return centers[np.arange(n) // each] + rng.normal(size=(n, n_features))


def isolated(rng, n, n_features):
    """A cloud with a few samples very far from it, and from each other."""
    X = rng.normal(size=(n, n_features))
    out = rng.integers(n, size=rng.integers(1, 5)) if n else np.empty(0, dtype=int)
    X[out] *= 10.0 ** rng.uniform(2, 15, size=(len(out), 1))
    return X


def progression(rng, n, n_features):
    """2**i: every sample is as far from the next as all before it together."""
    base = rng.choice([2.0, 1.1, 0.5, 10.0])
    return np.column_stack([base ** (np.arange(n) + shift) for shift in range(n_features)])


def _exponents(rng, *shape):
    reach = rng.choice([12, 100, 150, LARGEST_EXPONENT])
    return 10.0 ** rng.uniform(-reach, reach, size=shape)


def scaled(rng, n, n_features):
    return rng.normal(size=(n, n_features)) * _exponents(rng, 1, 1)


def scaled_columns(rng, n, n_features):
    return rng.normal(size=(n, n_features)) * _exponents(rng, 1, n_features)


def scaled_rows(rng, n, n_features):
    return rng.normal(size=(n, n_features)) * _exponents(rng, n, 1)


def outlier(rng, n, n_features):
    """One value out of all proportion."""
    X = rng.normal(size=(n, n_features)) * rng.choice([1.0, 1e-200, 1e100])
    if X.size:
        X[rng.integers(n), rng.integers(n_features)] *= float(_exponents(rng))
    return X


def far_from_origin(rng, n, n_features):
    return rng.normal(size=(n, n_features)) + 10.0 ** rng.uniform(3, 20)


def subnormal(rng, n, n_features):
    """Numbers below the smallest normal one."""
    X = rng.integers(-50, 50, size=(n, n_features)) * 5e-324
    if rng.random() < 0.3 and n:
        X[0] = rng.choice([1.0, 1e-300])
    return X


def largest_numbers(rng, n, n_features):
    """Numbers at the upper end of float64, differences of which overflow."""
    return rng.uniform(-1.0, 1.0, size=(n, n_features)) * 1.7e308


def not_finite(rng, n, n_features):
    X = rng.normal(size=(n, n_features))
    X[rng.random(X.shape) < rng.choice([0.01, 0.3, 1.0])] = rng.choice([np.nan, np.inf, -np.inf])
    return X


def signed_zeros(rng, n, n_features):
    """Zeros of both signs among few other values: equal samples with different bits."""
    return rng.choice([0.0, -0.0, 1.0, 2.0], size=(n, n_features))


CLOUDS: dict[str, Cloud] = {
    "Gaussian": gaussian,
    "rolled band": rolled,
    "lattice with repeats": lattice,
    "full lattice": full_lattice,
    "collinear": collinear,
    "coplanar": coplanar,
    "constant": constant,
    "constant columns": constant_columns,
    "copies": copies,
    "near-copies": near_copies,
    "simplex": simplex,
    "several simplices": simplices,
    "far pieces": far_pieces,
    "many tiny pieces": tiny_pieces,
    "isolated samples": isolated,
    "progression": progression,
    "any scale": scaled,
    "scale by column": scaled_columns,
    "scale by row": scaled_rows,
    "one outlier": outlier,
    "far from the origin": far_from_origin,
    "subnormal": subnormal,
    "largest numbers": largest_numbers,
    "NaN and inf": not_finite,
    "signed zeros": signed_zeros,
}
