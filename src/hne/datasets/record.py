"""Samples and the truth about them, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from hne.core.parameters import check_integer, check_number
from hne.core.records import FloatArray, IndexArray
from hne.exceptions import InputTypeError, quoted, refuse

# Label of samples that belong to no group but join two of them.
JOINING = -1
# More would leave nothing of any manifold, and soon the range of float64.
MOST_NOISE = 1e100


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with what is known about them: places on the manifold, groups, pictures.

    All generators of `hne.datasets` return one. `dataclasses.replace(dataset, X=...)` gives the same truth about other
    samples, such as noisy ones.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples, one in each row.
    chart : ndarray of shape (n_samples, n_coordinates)
        True coordinates of each sample. Without columns where only the labels are known.
    name : str
        What it is, for titles and tables.
    citation : str
        Where it comes from.
    labels : ndarray of shape (n_samples,)
        Group of each sample: all 0 where there is one group, -1 for samples that join two groups.
    chart_names : tuple of str
        A word or two for each column of `chart`.
    image_shape : tuple of int or None, default=None
        Rows, columns and, for colored pictures, channels: `X[i].reshape(image_shape)` is a picture in [0, 1]. None
        where the samples are no pictures.

    See Also
    --------
    hne.datasets.make_swiss_roll : The best known of the generators.
    hne.metrics.affine_errors : How far an embedding is from the chart.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import Dataset
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
    def of_one_group(cls, X: FloatArray, chart: FloatArray, **facts: Any) -> Dataset:
        """Dataset whose samples are all of one group, 0.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The samples.
        chart : ndarray of shape (n_samples, n_coordinates)
            Their true coordinates.
        **facts
            The other fields but `labels`.

        Returns
        -------
        Dataset
            The samples with these facts.
        """
        return cls(X, chart, labels=np.zeros(len(X), dtype=np.intp), **facts)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        known = f"chart ({', '.join(self.chart_names)})" if self.chart_names else f"{self.labels.max() + 1} groups"
        return f"<Dataset: {self.name}, X {self.X.shape}, {known}>"


class Draw:
    """What the generators share: checked parameters, the random numbers, and the dataset that comes of them."""

    def __init__(
        self, n_samples: object, random_state: object, *, even: object = False, noise: object = 0.0, smallest: int = 1
    ) -> None:
        self.n_samples = check_integer("n_samples", n_samples, smallest, "Try n_samples=300")
        self.generator = np.random.default_rng(check_integer("random_state", random_state, 0, "Try random_state=0"))
        if not isinstance(even, bool | np.bool_):
            got = f"{quoted(even)} of type {type(even).__name__}"
            refuse("even", "must be True or False", got, "Try even=False", InputTypeError)
        self.even, self.noise = bool(even), check_number("noise", noise)
        if not 0 <= self.noise <= MOST_NOISE:
            rule = f"must be a standard deviation, 0 to {MOST_NOISE:g}"
            refuse("noise", rule, quoted(self.noise), "Try noise=0.1")

    def unit_square(self, count: int | None = None) -> FloatArray:
        """Points of the unit square, one a column: uniform, or spread evenly by Sobol's sequence, scrambled."""
        count = self.n_samples if count is None else count
        if not self.even:
            return self.generator.random((2, count))
        # Sobol's sequence comes in powers of two; any beginning of one is spread evenly as well.
        sequence = qmc.Sobol(d=2, rng=self.generator).random_base2((count - 1).bit_length())
        return sequence[:count].T

    def dataset(
        self, kind: str, X: FloatArray, chart: FloatArray, chart_names: tuple[str, ...], citation: str
    ) -> Dataset:
        """Dataset of one group, with Gaussian noise on each coordinate of X; its name says how it was drawn."""
        name = f"{kind}, {self.n_samples} samples{', spread evenly' if self.even else ''}"
        if self.noise:
            X, name = X + self.noise * self.generator.standard_normal(X.shape), f"{name}, noise {self.noise:g}"
        return Dataset.of_one_group(X, chart, name=name, citation=citation, chart_names=chart_names)
