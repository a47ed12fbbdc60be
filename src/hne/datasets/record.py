"""Samples and the truth about them, in one record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from hne.core.parameters import check_integer, check_number
from hne.core.records import FloatArray, IndexArray
from hne.exceptions import InputError, InputTypeError, quoted

# Label of samples that belong to no group but join two of them.
JOINING = -1


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with what is known about them: places on the manifold, groups, pictures.

    `dataclasses.replace(dataset, X=...)` gives the same truth about other samples, such as noisy ones.

    Attributes
    ----------
    X : ndarray of shape (n, D)
        Samples, one a row.
    chart : ndarray of shape (n, q)
        True coordinates of each sample; q is 0 where only the labels are known.
    name : str
        What it is, for titles and tables.
    citation : str
        Where it comes from.
    labels : ndarray of shape (n,)
        Group of each sample: all 0 where there is one group, -1 for samples that join groups.
    chart_names : tuple of str
        A word or two for each column of `chart`.
    image_shape : tuple of int or None, default=None
        Rows, columns and, of colored ones, channels: `X[i].reshape(image_shape)` is a picture in [0, 1]. None where
        the samples are no pictures.

    Examples
    --------
    >>> import numpy as np
    >>> line = Dataset.of_one_group(np.eye(3), np.arange(3.0)[:, None], name="corners", citation="", chart_names=("i",))
    >>> len(line), line.labels
    (3, array([0, 0, 0]))
    >>> line
    <Dataset: corners, X (3, 3), chart (i)>
    """

    X: FloatArray
    chart: FloatArray
    name: str
    citation: str
    labels: IndexArray
    chart_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None = None

    @classmethod
    def of_one_group(
        cls,
        X: FloatArray,
        chart: FloatArray,
        *,
        name: str,
        citation: str,
        chart_names: tuple[str, ...],
        image_shape: tuple[int, ...] | None = None,
    ) -> Dataset:
        """Dataset whose samples are all of one group, 0."""
        labels = np.zeros(len(X), dtype=np.intp)
        return cls(X, chart, name, citation, labels, chart_names, image_shape)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        known = f"chart ({', '.join(self.chart_names)})" if self.chart_names else f"{self.labels.max() + 1} groups"
        return f"<Dataset: {self.name}, X {self.X.shape}, {known}>"


# More would leave nothing of any manifold, and soon the range of float64.
MOST_NOISE = 1e100


def check_draw(n_samples: object, random_state: object, *, smallest: int = 1, usual: int = 1000) -> tuple[int, int]:
    """Return the number of samples, at least the smallest that makes sense, and the seed."""
    count = check_integer("n_samples", n_samples, smallest, f"Try n_samples={usual}")
    return count, check_integer("random_state", random_state, 0, "Try random_state=0")


def check_flag(name: str, value: object) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False, got {quoted(value)} of type {type(value).__name__}. Try {name}=False."
        raise InputTypeError(msg)
    return bool(value)


def check_noise(noise: object) -> float:
    """Return the noise if it is a standard deviation."""
    number = check_number("noise", noise)
    if not 0 <= number <= MOST_NOISE:
        msg = f"noise must be a standard deviation, 0 to {MOST_NOISE:g}, got {quoted(number)}. Try noise=0.1."
        raise InputError(msg)
    return number


def unit_square(n_samples: int, even: bool, generator: np.random.Generator) -> FloatArray:
    """Draw points of the unit square, one a column: uniform, or spread evenly by Sobol's sequence, scrambled."""
    if not even:
        return generator.random((2, n_samples))
    # Sobol's sequence comes in powers of two; any beginning of one is spread evenly as well.
    sequence = qmc.Sobol(d=2, rng=generator).random_base2((n_samples - 1).bit_length())
    points: FloatArray = sequence[:n_samples].T
    return points


def noisy(X: FloatArray, noise: float, generator: np.random.Generator) -> FloatArray:
    """Samples with Gaussian noise of that standard deviation added to each coordinate; the same ones where it is 0."""
    return X + noise * generator.standard_normal(X.shape) if noise else X


def titled(kind: str, n_samples: int, *, even: bool = False, noise: float = 0.0) -> str:
    """Name of a dataset: its kind, its size and what is special about it."""
    return f"{kind}, {n_samples} samples{', spread evenly' if even else ''}{f', noise {noise:g}' if noise else ''}"
