"""What estimators share: files that they are kept in, and scikit-learn's callbacks, experimental since version 1.9."""

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

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as manage
except ImportError:
    manage = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: no `set_callbacks` either."""


__all__ = ["CallbackSupportMixin", "SavedMixin", "called_back", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


class SavedMixin:
    """Estimators that can be kept in a file, with the methods `_saved_fit`, `_restore` and `_checked_parameters`."""

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
        from hne.estimators.model_file import write_model  # noqa: PLC0415, nobody who only fits needs it

        check_is_fitted(self)
        write_model(path, self)

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
