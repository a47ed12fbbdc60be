"""Every error and warning that hne raises on purpose, and in parentheses the built-in one that each is as well.

::

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
embedding, goes to the logger `hne.advice` and to `trust_`. Messages read ``<name> <rule>, got <value>. <remedy>.``
"""

import sys
from inspect import cleandoc
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
    """Base of every error that hne raises on purpose: catch it to catch them all.

    The fields say what the error is about; they are None where it is not about one parameter.

    Parameters
    ----------
    message : str
        The whole sentence. Without one, it is made of the other fields.
    parameter : str or None
        Name of the parameter or object that was refused.
    rule : str or None
        What it must be.
    value : object
        What it was.
    remedy : str or None
        What to do about it.

    See Also
    --------
    hne.exceptions.HNEWarning : Base of the warnings.
    hne.exceptions.InputError : The error you are likeliest to meet.

    Examples
    --------
    >>> from hne.exceptions import InputError
    >>> error = InputError(parameter="reg", rule="must be positive", value=-1, remedy="Try reg=1e-4")
    >>> str(error), error.parameter
    ('reg must be positive, got -1. Try reg=1e-4.', 'reg')
    """

    def __init_subclass__(cls) -> None:
        # All errors take the same: the section above goes into the docstring of each.
        section = cleandoc(HNEError.__doc__ or "").partition("Parameters\n")[2].partition("See Also\n")[0]
        summary, heading, rest = cleandoc(cls.__doc__ or "").partition("See Also\n")
        if heading:
            cls.__doc__ = f"{summary}Parameters\n{section}{heading}{rest}\n"

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
    """A parameter or the data is of the wrong kind, such as text where a number belongs.

    Pass what the message asks for.

    See Also
    --------
    hne.exceptions.InputError : The right kind with a wrong value.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> HNE(n_neighbors=2.5).fit(np.eye(9))
    Traceback (most recent call last):
        ...
    hne.exceptions.InputTypeError: n_neighbors must be an integer or 'auto', got 2.5 of type float. Try n_neighbors=6.
    """


class InputError(HNEError, ValueError):
    """A parameter or the data has a value that the method cannot work with, such as NaN.

    The message names the parameter, the rule that it breaks and what to do.

    See Also
    --------
    hne.exceptions.InputTypeError : The wrong kind of value.
    hne.exceptions.TooLargeError : Too large for the free memory.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> HNE(n_neighbors=20).fit(np.eye(9))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    hne.exceptions.InputError: n_neighbors=20 needs at least 21 samples, got n_samples=9. Lower ...
    """


class CheckpointError(InputError):
    """A checkpoint folder is damaged, is in use, or holds files that are not from hne.

    Choose an empty folder; or where the message names a damaged stage, remove that one, and it is computed again.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Its parameter `checkpoint` names the folder.
    """


class DisconnectedGraphError(InputError):
    """The neighbor graph is in several pieces (connected components), and `pieces="raise"` forbids that.

    Raise `n_neighbors` where the pieces belong together; else choose another value of `pieces`.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Its parameter `pieces` says what to do with several.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> two = np.outer([*range(10), *range(90, 100)], [3.0, 4.0])
    >>> HNE(n_neighbors=2, n_components=1, pieces="raise").fit(two)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    hne.exceptions.DisconnectedGraphError: pieces='raise' needs a connected neighbor graph, got 2 pieces ...
    """


class ModelFileError(InputError):
    """A file is not a saved model, is damaged, or was written by a later version of hne.

    Pass the file that `save` wrote, to the class that wrote it.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding.load : Read a model.
    hne.HierarchicNeighborsEmbedding.save : Write one.
    """


class EigenSolverError(HNEError, RuntimeError):
    """The eigensolver did not converge to eigenvectors of the alignment matrix.

    Try another `eigen_solver` or a larger `reg`. With `eigen_solver="auto"` other solvers have been tried already.

    See Also
    --------
    hne.core.eigen.certificate.Certificate : What is measured about eigenvectors that were found.
    hne.exceptions.CloseEigenvaluesWarning : They were found, and are not the only ones.
    """


class ExecutorError(HNEError, RuntimeError):
    """The workers of a run cannot be reached, have died, or have other versions of the libraries.

    Start the workers that the message names, or install the same versions on them, and call again: with a checkpoint
    folder, finished blocks are not computed twice.

    See Also
    --------
    hne.scale.DaskExecutor : Runs a fit on the workers of a Dask cluster.
    """


class BaselineError(HNEError, RuntimeError):
    """A method of `hne.baselines` cannot work with these settings, or what it gave is no embedding.

    Change the setting that the message names, or compare with another method.

    See Also
    --------
    hne.baselines.baseline_embedding : Raises it.
    """


class TooLargeError(HNEError, MemoryError):
    """The computation needs more memory than is free; raised before it starts.

    Follow the advice in the message: fewer neighbors, landmarks, Dask workers, or a part of the samples.

    See Also
    --------
    hne.forecast : Predict memory and time without the data.

    Examples
    --------
    >>> from hne import forecast
    >>> forecast(10**10, 3).fits  # a fit of so many samples would raise it
    False
    """


class MissingExtraError(HNEError, ImportError):
    """What you asked for needs an optional package that is not installed.

    The message says what to install, such as ``pip install 'hne[plot]'``.

    See Also
    --------
    hne.viz.scatter : Needs the extra `plot`.
    hne.explore : Needs the extra `explore`.
    """


class HNEWarning(UserWarning):
    """Base of every warning that hne raises: filter it to filter them all.

    See Also
    --------
    hne.exceptions.HNEError : Base of the errors.

    Examples
    --------
    >>> import warnings
    >>> import hne
    >>> roll = hne.datasets.make_swiss_roll(300, random_state=0)
    >>> with warnings.catch_warnings(action="error", category=hne.exceptions.HNEWarning):
    ...     model = hne.HNE().fit(roll.X)  # stops at the first of them
    >>> model.trust_.level
    'good'
    """


class CloseEigenvaluesWarning(HNEWarning):
    """The last wanted eigenvalue equals the next to all digits: the embedding is one of many equally good ones.

    Choose one component more, or another `n_neighbors`. Charts do not raise it: they use more eigenvectors.

    See Also
    --------
    hne.core.eigen.certificate.Certificate : Says whether eigenvalues can be told apart.

    Examples
    --------
    One coordinate cannot tell the two axes of a circle apart.

    >>> import warnings
    >>> import numpy as np
    >>> from hne import HNE
    >>> t = np.arange(20) * np.pi / 10
    >>> circle = np.column_stack([np.cos(t), np.sin(t)])
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = HNE(n_neighbors=2, n_components=1, coordinates="eigenvectors").fit(circle)
    >>> caught[0].category.__name__
    'CloseEigenvaluesWarning'
    """


class DisconnectedGraphWarning(HNEWarning):
    """A baseline or a measure got a neighbor graph in several pieces: its answer holds within each piece only.

    Raise `n_neighbors` until the graph is connected.

    See Also
    --------
    hne.metrics.geodesic_quality : Also gives the share of pairs that are connected.
    hne.baselines.baseline_embedding : Embed by another method.
    """


class FallbackWarning(HNEWarning):
    """The solver you asked for cannot run here; another took over, and the message says which and why.

    Install what is missing, or choose the other solver yourself.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Its attribute `eigen_solver_` names the solver that ran.
    """


class LandmarkWarning(HNEWarning):
    """An embedding on landmarks still moved when its refinement ended, so it may be far from the eigenvectors.

    Raise `n_landmarks`: 1 % of the samples or more.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Its parameter `n_landmarks` is for millions of samples.
    hne.core.eigen.certificate.Certificate : Its `last_move` is the angle of the last step.
    """


class NeighborRecallWarning(HNEWarning):
    """Approximate search found less than 90 % of the true neighbors.

    Reduce the number of features first (PCA), or pass `neighbors="exact"`.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Its attribute `neighbor_recall_` is the share that was found.
    """


class PreparedModelWarning(HNEWarning):
    """A loaded model was fitted to columns that `hne embed` filled or scaled; new samples need the same.

    Pass them through `preparation_.transform` before `transform`.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding.load : Raises it.
    """


class UntrustworthyWarning(HNEWarning):
    """The embedding has collapsed, or one of its coordinates repeats another: do not use it.

    `verdict_` says what is wrong and what to try.

    See Also
    --------
    hne.core.trust.verdict.Assessment : What was found, as the attribute `trust_`.

    Examples
    --------
    A ridge that is far too large turns one eigenvector into a parabola of another.

    >>> import warnings
    >>> import hne
    >>> roll = hne.datasets.make_swiss_roll(300, random_state=0)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = hne.HNE(**hne.PUBLISHED | {"reg": 0.1}).fit(roll.X)
    >>> caught[0].category.__name__
    'UntrustworthyWarning'
    """


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
