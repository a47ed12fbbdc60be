"""Fitted models that can be looked at: the report, and what a notebook shows of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hne.core.records import Embedding
from hne.exceptions import InputTypeError, refuse

__all__ = ["ReportedMixin"]


class ReportedMixin:
    """Estimators with the record of their fit in `_fitted`, and a page and a notebook's cell to show it in."""

    _fitted: Embedding

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        color: Any = None,
        ids: Sequence[Any] | None = None,
        columns: Any = None,
        images: Any = None,
        title: str | None = None,
    ) -> None:
        """Write a page to look at the embedding and to judge it by: one HTML file, which needs no network.

        It opens with a verdict on how far the embedding can be believed, and shows chart or rescaled coordinates (zoom,
        pan, select, hover), the numbers behind the verdict, neighbors of both layers, short circuits, the samples that
        are rebuilt worst, how the coordinates were found, eigenvalues, measures of quality with how to read them and
        PCA beside them, pieces, parameters, timings, warnings and versions.

        Parameters
        ----------
        path : str or path
            Where to, best with the ending .html; what was there before is replaced, and `~` is the home folder.
        color : str or array-like of shape (n_samples,), default=None
            What to color by at first: the name of a column, or values of its own, numbers or text.
        ids : sequence of shape (n_samples,), default=None
            Names of the samples; None counts rows from 1.
        columns : mapping or data frame, default=None
            Columns of numbers or text to color by and to read off samples, by name. None takes the features, where
            they are dense and up to 100.
        images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
            Pictures of the samples: from 0 (black) to 1, to 255 where they are uint8, else to the brightest pixel.
        title : str, default=None
            The headline.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from hne import HNE
        >>> from hne.datasets import make_swiss_roll
        >>> roll = make_swiss_roll(200, random_state=0)
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "roll.html"
        >>> HNE().fit(roll.X).report(page, color=roll.chart[:, 0], title="A roll")
        >>> "<title>A roll" in page.read_text(encoding="utf-8")
        True
        """
        from hne.viz.report import gather_details, write_report  # noqa: PLC0415, nobody who only fits needs them

        check_is_fitted(self)
        X, fit = None, self._fitted
        if isinstance(fit.core.X, np.ndarray):
            X = fit.units.inverse_transform(fit.core.X)[fit.distinct.inverse]
        details = gather_details(
            X=X,
            features=X if columns is None else None,
            feature_names=getattr(self, "feature_names_in_", None),
            labels=None if columns is None else _columns_by_name(columns),
            ids=ids,
            color=color,
            images=images,
            title=title or type(self).__name__,
            timings=getattr(self, "timings_", {}),
        )
        write_report(path, fit, details)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's box of parameters, and of a fitted model the embedding below it."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and hasattr(self, "_fitted"):
            from hne.viz.report import notebook_html  # noqa: PLC0415

            bundle["text/html"] += notebook_html(self._fitted)
        return bundle


def _columns_by_name(columns: Any) -> dict[str, Any]:
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        kind = type(columns).__name__
        refuse("columns", "must be a mapping or a data frame", kind, "Pass {'name': values}", InputTypeError)
    return {str(name): columns[name] for name in (columns if isinstance(columns, Mapping) else columns.columns)}
