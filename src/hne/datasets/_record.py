"""Samples and the truth about them, in one record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hne._types import FloatArray, IndexArray

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
