"""What a set of real data is, and what its loaders share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hne.core.records import FloatArray
from pictures import Truth
from real_files import read_frame, read_keel

Loaded = tuple[FloatArray, Truth]

SAMPLES_AT_MOST = 2_000
FULL_TURN = 2 * np.pi


@dataclass(frozen=True)
class RealSet:
    """A data set by name: how to load it, the kind of its truth, and in words what X and the truth are, where from."""

    name: str
    kind: str
    load: Callable[[], Loaded]
    samples: str
    truth: str
    source: str


def standardized(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1; constant ones are left out."""
    varying = X[:, X.std(axis=0) > 0]
    scaled: FloatArray = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    return scaled


def some(X: FloatArray, truth: Truth, n: int = SAMPLES_AT_MOST) -> Loaded:
    """So many samples at random, always the same ones, in the order that they have."""
    if len(X) <= n:
        return X, truth
    kept = np.sort(np.random.default_rng(0).choice(len(X), n, replace=False))
    return X[kept], truth[kept]


def ring(turns: FloatArray) -> FloatArray:
    """Shares of a full turn as points of a circle."""
    return np.column_stack([np.cos(FULL_TURN * turns), np.sin(FULL_TURN * turns)])


def framed(name: str, truth: str | Sequence[str], left_out: Sequence[str] = ()) -> Loaded:
    """Numbers of a table of R's packages, standardized; quantities are its truth if they are named in a list.

    Rows with gaps are left out, as are columns that are no numbers.
    """
    frame = read_frame(name)
    numbers = frame.select_dtypes("number")
    named = {"rownames", *left_out, *([truth] if isinstance(truth, str) else truth)}
    whole = numbers.drop(columns=[column for column in numbers if column in named]).dropna()
    known = frame.loc[whole.index, truth if isinstance(truth, str) else list(truth)]
    return standardized(whole.to_numpy(dtype=float)), known.to_numpy(dtype=str if isinstance(truth, str) else float)


def keel(name: str) -> Loaded:
    """A table of KEEL whose columns have one unit."""
    return some(*read_keel(name))


def keel_standardized(name: str) -> Loaded:
    """A table of KEEL whose columns have units of their own."""
    X, classes = read_keel(name)
    return some(standardized(X), classes)
