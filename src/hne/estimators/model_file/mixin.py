"""`save` and `load` for estimators: what a class saves and restores is its own, all else is common to them."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from hne.core.records import Settings
from hne.estimators.model_file.archive import Archive
from hne.estimators.model_file.fitted import Scalars
from hne.estimators.model_file.model import read_model, write_model
from hne.estimators.model_file.prepared import preparation_from
from hne.estimators.model_file.values import Arrays
from hne.exceptions import PreparedModelWarning
from hne.io.preprocess import ColumnPreprocessor

__all__ = ["SavedMixin"]


class SavedMixin:
    """Estimators that can be kept in a file; each says what it consists of by the methods at the end."""

    # What the command line did to the columns of a file before the fit; None for samples that came as they are.
    preparation_: ColumnPreprocessor | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `load` reads, without pickle.

        One file of arrays and a header of JSON, about as large as the arrays, which NumPy alone can read as well:
        docs/format.md describes it. It is there whole or not at all; what was at the path before is replaced.

        Parameters
        ----------
        path : str or path
            Where to; any ending will do.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> from hne import HNE
        >>> model = HNE(n_neighbors=2, n_components=1).fit(np.outer(np.arange(20.0), [3.0, 4.0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(pathlib.Path(folder) / "line.hne")
        ...     again = HNE.load(pathlib.Path(folder) / "line.hne")
        >>> bool((again.embedding_ == model.embedding_).all())
        True
        """
        check_is_fitted(self)
        fitted, settings = self._saved_parts()
        write_model(path, self, self._checked_parameters, fitted, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted model that `save` wrote: the same parameters, the same bits.

        Nothing that the file says is run, so that files of others may be read. What is damaged, cut short, of another
        class or of a later hne is a `ModelFileError`. A model of `hne embed` with filled or scaled columns comes with a
        `PreparedModelWarning`: new samples need the same first, which `preparation_.transform` does to them.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        estimator
            The fitted estimator, of this class. Callbacks are not saved.
        """
        model, archive, settings = read_model(path, cls, cls._checked_parameters)
        model._restore(archive, settings)  # noqa: SLF001, of its own class
        model.preparation_ = preparation_from(archive, archive.entry("n_features_in", int))
        if model.preparation_ is not None and model.preparation_.changes_values:
            msg = (
                f"'{path}' holds a model of columns that were filled or scaled first. Pass new samples through "
                "model.preparation_.transform before model.transform."
            )
            warnings.warn(msg, PreparedModelWarning, stacklevel=2)
        return model

    def _saved_parameters(self) -> dict[str, Any]:
        """Parameters that a file is to hold."""
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return parameters

    @staticmethod
    def _checked_parameters(parameters: dict[str, Any]) -> Settings:
        """Parameters of the constructor as checked Settings."""
        raise NotImplementedError

    def _saved_parts(self) -> tuple[tuple[Scalars, Arrays], Settings | None]:
        """What the fit made, and its settings where they matter after it."""
        raise NotImplementedError

    def _restore(self, archive: Archive, settings: Settings) -> None:
        """Become what the file holds."""
        raise NotImplementedError
