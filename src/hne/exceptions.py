"""Every error and warning that hne raises on purpose.

    HNEError
    ├── InputTypeError      (TypeError)      the wrong kind of thing: text, a date, a float k
    ├── InputError          (ValueError)     the right kind with a wrong value: NaN, k >= n, reg = 0
    │   ├── CheckpointError                  not what a run left there, or not any more
    │   ├── DisconnectedGraphError           the neighbor graph falls apart, and pieces="raise"
    │   └── ModelFileError                   not a file that `save` wrote, or not any more
    ├── EigenSolverError    (RuntimeError)   no eigenpairs that deserve the name
    ├── ExecutorError       (RuntimeError)   the machines of a run are not there, or not fit for it
    ├── BaselineError       (RuntimeError)   a method of hne.baselines has no answer
    ├── TooLargeError       (MemoryError)    more memory needed than there is, known before it is taken
    └── MissingExtraError   (ImportError)    an optional dependency is not installed
    HNEWarning              (UserWarning)
    ├── CloseEigenvaluesWarning              float64 cannot tell the wanted eigenvectors from the next
    ├── DisconnectedGraphWarning             a baseline or a measure needs one neighbor graph, and it falls apart
    ├── FallbackWarning                      what was asked for is not there, and something else has done it
    ├── LandmarkWarning                      an embedding on landmarks still moved when its refinement ended
    ├── NeighborRecallWarning                approximate search missed many neighbors
    ├── PreparedModelWarning                 a loaded model needs samples that are filled and scaled first
    └── UntrustworthyWarning                 the embedding has collapsed or repeats a coordinate

Warnings are for what is wrong. Advice, such as that the samples are in pieces or have another dimension than the
embedding, goes to the logger `hne.advice` and to `trust_`.

Messages read `<parameter or object> <rule>, got <value>. <remedy>.`
"""

import sys
from typing import Any, NoReturn

__all__ = [
    "BaselineError",
    "CheckpointError",
    "CloseEigenvaluesWarning",
    "DisconnectedGraphError",
    "DisconnectedGraphWarning",
    "EigenSolverError",
    "ExecutorError",
    "FallbackWarning",
    "HNEError",
    "HNEWarning",
    "InputError",
    "InputTypeError",
    "LandmarkWarning",
    "MissingExtraError",
    "ModelFileError",
    "NeighborRecallWarning",
    "PreparedModelWarning",
    "TooLargeError",
    "UntrustworthyWarning",
]


# Characters of a quoted value and of a whole message: a line and a half, and what fits on a screen.
MOST_QUOTED, MOST_SAID = 120, 1500


class HNEError(Exception):
    """Base of every error of this package.

    What an error is about can be read off its fields, None where it is not about one parameter.

    Parameters
    ----------
    message : str
        The whole sentence; made of the fields where there is none.
    parameter : str or None
        The parameter that is refused, by its name in Python.
    rule : str or None
        What it must be.
    value : object
        What it was.
    remedy : str or None
        What to do about it.

    Examples
    --------
    >>> from hne.exceptions import InputError
    >>> error = InputError(parameter="reg", rule="must be positive", value=-1, remedy="Try reg=1e-4")
    >>> str(error), error.parameter
    ('reg must be positive, got -1. Try reg=1e-4.', 'reg')
    """

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        rule: str | None = None,
        value: object = None,
        remedy: str | None = None,
    ) -> None:
        self.parameter, self.rule, self.value, self.remedy = parameter, rule, value, remedy
        if not message and parameter is not None:
            message = f"{parameter} {rule}, got {quoted(value)}. {remedy}."
        super().__init__(shortened(message, MOST_SAID))


class InputTypeError(HNEError, TypeError):
    """A parameter or the data is of the wrong kind."""


class InputError(HNEError, ValueError):
    """A parameter or the data has a value that the method cannot work with."""


class CheckpointError(InputError):
    """A checkpoint is damaged, belongs to another run, or is in use."""


class DisconnectedGraphError(InputError):
    """The neighbor graph has several pieces, and the user wants none of it."""


class ModelFileError(InputError):
    """A file is not a saved model, is damaged, or comes from a later version."""


class EigenSolverError(HNEError, RuntimeError):
    """The eigensolver did not reach eigenpairs of the alignment matrix."""


class ExecutorError(HNEError, RuntimeError):
    """What should do the work of a run cannot be reached, has died, or differs from what asks for it."""


class BaselineError(HNEError, RuntimeError):
    """A baseline cannot work with these settings, or what it gave is no embedding."""


class TooLargeError(HNEError, MemoryError):
    """The problem needs more memory than is free."""


class MissingExtraError(HNEError, ImportError):
    """A feature needs an optional dependency that is not installed."""


class HNEWarning(UserWarning):
    """Base of every warning of this package."""


class CloseEigenvaluesWarning(HNEWarning):
    """The last wanted eigenvalue equals the next to all digits: the embedding is one of many equally good ones."""


class DisconnectedGraphWarning(HNEWarning):
    """The neighbor graph has several pieces, and what a baseline or a measure says is about each of them alone."""


class FallbackWarning(HNEWarning):
    """A solver that was asked for cannot run here; another took over, and the message says which and why."""


class LandmarkWarning(HNEWarning):
    """The embedding on landmarks is not near its end: refinement stopped while the plane still moved."""


class NeighborRecallWarning(HNEWarning):
    """Approximate search found too few of the true neighbors."""


class PreparedModelWarning(HNEWarning):
    """A model was fitted to columns that the command line filled or scaled; new samples need the same."""


class UntrustworthyWarning(HNEWarning):
    """The embedding has collapsed, repeats a coordinate or is far from its end: see `trust_`."""


def refuse(parameter: str, rule: str, got: str, remedy: str, error: type[HNEError] = InputError) -> NoReturn:
    """Raise the error that a parameter, a name or name=value, does not keep a rule; `got` says what is, in words."""
    msg = f"{parameter} {rule}, got {got}. {remedy}."
    raise error(msg, parameter=parameter.partition("=")[0], rule=rule, value=got, remedy=remedy)


def quoted(value: Any) -> str:
    """The value as Python writes it, without the middle of a long one.

    >>> quoted("points"), len(quoted("x" * 10**6))
    ("'points'", 120)
    """
    return shortened(repr(value))


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """The text, without the middle of a long one.

    >>> shortened("n_neighbors", 9)
    'n_ ... rs'
    """
    if len(text) <= most:
        return text
    kept = (most - len(" ... ")) / 2
    return f"{text[: int(kept + 0.5)]} ... {text[len(text) - int(kept) :]}"


def caller_stacklevel() -> int:
    """Frames between the warning and the first caller outside the package, whichever door was used."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("hne.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    return level
