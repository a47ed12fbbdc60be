"""scikit-learn's callback protocol, experimental since its version 1.9; older ones have nothing to call back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from hne._runtime.progress import Listener, listening

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as manage
except ImportError:
    manage = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: no `set_callbacks` either."""


__all__ = ["CallbackSupportMixin", "called_back", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(fit: Method) -> Method:
    """Tear the callbacks down after the method, however it ends."""
    managed: Method = fit if manage is None else manage(fit)
    return managed


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
