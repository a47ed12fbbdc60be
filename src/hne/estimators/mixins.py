"""What estimators share: files that they are kept in, their reports, and scikit-learn's callbacks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hne._runtime.progress import Listener, listening
from hne.exceptions import PreparedModelWarning
from hne.settings import PLACES

if TYPE_CHECKING:
    from hne.io.preprocess import ColumnPreprocessor
from collections.abc import Mapping, Sequence

import numpy as np

from hne.core.records import Embedding
from hne.exceptions import InputTypeError, refuse

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as manage
except ImportError:
    manage = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: no `set_callbacks` either."""


__all__ = ["CallbackSupportMixin", "ReportedMixin", "SavedMixin", "called_back", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


class SavedMixin:
    """Estimators that can be kept in a file, with the methods `_saved_fit`, `_restore` and `_checked_parameters`."""

    # What the command line did to the columns of a file before the fit; None for samples that came as they are.
    preparation_: ColumnPreprocessor | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `load` reads, without pickle.

        One file of arrays and a JSON header, about as large as the arrays. NumPy alone can read it too:
        The guide has a page on the format. It is written whole or not at all, and replaces what was there.

        Parameters
        ----------
        path : str or path
            Where to write; any file name will do.

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
        from hne.estimators.model_file import write_model  # noqa: PLC0415, nobody who only fits needs it

        check_is_fitted(self)
        write_model(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted model that `save` wrote, with the same parameters and the same bits.

        Nothing in the file is executed, so you can load files of others.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        estimator
            The fitted estimator, of this class. Callbacks are not saved.

        Raises
        ------
        hne.exceptions.ModelFileError
            For a file that is damaged, cut short, of another class or of a later hne.

        Warns
        -----
        hne.exceptions.PreparedModelWarning
            For a model of `hne embed` with filled or scaled columns: pass new samples through
            `preparation_.transform` first.
        """
        from hne.estimators.model_file import read_model  # noqa: PLC0415

        model: Self = read_model(path, cls)
        if model.preparation_ is not None and model.preparation_.changes_values:
            msg = (
                f"'{path}' holds a model of columns that were filled or scaled first. Pass new samples through "
                "model.preparation_.transform before model.transform."
            )
            warnings.warn(msg, PreparedModelWarning, stacklevel=2)
        return model

    def _saved_parameters(self) -> dict[str, Any]:
        """Parameters that decide about the result: all but where it is computed."""
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in parameters.items() if name not in PLACES}


def with_callbacks(fit: Method) -> Method:
    """Tear the callbacks down after the method, however it ends."""
    return fit if manage is None else manage(fit)


@contextmanager
def called_back(estimator: Any, X: ArrayLike, y: object, n_stages: int) -> Iterator[None]:
    """Tell the estimator's callbacks of a fit of so many stages, and of its end if it ends well."""
    if manage is None:
        yield
        return
    fit = estimator._init_callback_context(max_subtasks=n_stages)  # noqa: SLF001, documented for estimators to call
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    with listening(FitTasks(estimator, fit)):
        yield
    # The estimator is fitted by now: a copy of it needs nothing added.
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})


class FitTasks(Listener):
    """Listener that makes scikit-learn's tree of tasks: the fit, its stages, their tasks, and a leaf for each step."""

    def __init__(self, estimator: Any, fit: Any) -> None:
        self._estimator = estimator
        self._open = [fit]
        self._task, self._done = "", 0

    def begin(self, stage: str) -> None:
        """Open the stage; how many tasks it has shows when they begin."""
        self._descend(stage, None)

    def step(self, task: str, done: int, total: int | None) -> None:
        """Open the task at its first call, then open and close a leaf for each step since the last one.

        A task that goes on after another came between is opened anew, for the steps that are left.
        """
        if done == 0 or task != self._task:
            self._ascend_to(2)
            self._descend(task, total)
            self._task, self._done = task, max(0, done - 1)
        for _ in range(self._done, done):
            self._descend(task, 0)
            self._ascend_to(3)
        self._done = done

    def end(self, stage: str, result: str, seconds: float) -> None:  # noqa: ARG002
        """Close the stage and the task that is open in it."""
        self._ascend_to(1)

    def _descend(self, name: str, n_subtasks: int | None) -> None:
        task = self._open[-1].subcontext(task_name=name, max_subtasks=n_subtasks)
        self._open.append(task.call_on_fit_task_begin(estimator=self._estimator))

    def _ascend_to(self, depth: int) -> None:
        while len(self._open) > depth:
            # Its answer may ask to stop: there is no half an embedding to stop at.
            self._open.pop().call_on_fit_task_end(estimator=self._estimator)


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

        It opens with the verdict and the embedding in the lengths of the data (zoom, pan, select, hover). Below are the
        numbers behind the verdict, neighbors of both layers, short circuits, the samples that are rebuilt worst,
        eigenvalues, measures of quality with those of PCA beside them, pieces, parameters, timings and versions.

        Parameters
        ----------
        path : str or path
            Where to write, best with the ending .html; replaces what was there. ``~`` is the home folder.
        color : str or array-like of shape (n_samples,), default=None
            What to color by at first: the name of a column, or one number or text for each sample.
        ids : sequence of shape (n_samples,), default=None
            Names of the samples; None counts rows from 1.
        columns : mapping or data frame, default=None
            Columns of numbers or text, by name, to color by and to show for a sample. None takes the features, where
            they are dense and up to 100.
        images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
            Pictures of the samples, shown when you point at one. Pixels from 0 (black) to 1, to 255 where they are
            uint8, else to the brightest.
        title : str, default=None
            The headline; None takes the name of the class.

        See Also
        --------
        hne.viz.write_report : The same for a record of `hne.embed`.

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
            labels=None if columns is None else columns_by_name(columns),
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


def columns_by_name(columns: Any) -> dict[str, Any]:
    """Columns of a mapping or a data frame, by their names."""
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        kind = type(columns).__name__
        refuse("columns", "must be a mapping or a data frame", kind, "Pass {'name': values}", InputTypeError)
    return {str(name): columns[name] for name in (columns if isinstance(columns, Mapping) else columns.columns)}
