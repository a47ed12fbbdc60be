"""Estimator of another library, X -> Y: its warnings passed on, each once, or a BaselineError."""

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import SparseEfficiencyWarning

from hne._runtime.threads import load_unbroken, thread_count
from hne.baselines.answers import check_answer, warn_of_pieces
from hne.baselines.methods import Rival
from hne.core.records import FloatArray, Pieces, Settings
from hne.exceptions import BaselineError, MissingExtraError, caller_stacklevel

logger = logging.getLogger("hne")

# scikit-learn's own perplexity of t-SNE, which looks at three times as many neighbors.
PERPLEXITY = 30.0
# Who works in single precision, and powers of two beyond which these get samples in other units: at 1e15 t-SNE goes
# wrong, at 1e60 it crashes the interpreter.
SINGLE, ORDINARY = ("tsne", "umap"), 40
# What is said to those who wrote the library, not to those who use it.
UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, SparseEfficiencyWarning)


def estimator_embedding(rival: Rival, X: FloatArray, settings: Settings, *, is_named: bool) -> FloatArray:
    """Embed distinct samples by an estimator with its own defaults, of n_neighbors too unless that `is_named`."""
    rival.check_memory(len(X))
    model = _loaded(rival)
    parameters = _parameters(rival, len(X), settings)
    if is_named:
        parameters[rival.neighbors] = settings.n_neighbors
    known = model.get_params()
    model.set_params(**{name: value for name, value in parameters.items() if name in known})
    logger.info("%s: %r", rival.label, model)
    whole = Pieces(np.zeros(len(X), dtype=np.intp), np.array([len(X)]))
    return answer(rival, model, _in_range(X) if rival.name in SINGLE else X, whole, settings)


def _in_range(X: FloatArray) -> FloatArray:
    """X, in other units where its squares leave single precision."""
    exponent = math.frexp(np.abs(X).max())[1]
    return X if abs(exponent) <= ORDINARY else np.ldexp(X, -exponent)


def _loaded(rival: Rival) -> Any:
    """The estimator with all defaults, its library imported here and no earlier: UMAP takes seconds to load."""
    module, _, kind = rival.estimator.rpartition(".")
    try:
        with warnings.catch_warnings():
            # UMAP tells of its extras that are not installed.
            warnings.simplefilter("ignore")
            return getattr(load_unbroken(module), kind)()
    except Exception as error:
        msg = (
            f"method={rival.name!r} needs {rival.library}, got one that cannot be loaded: {_reason(error)}. "
            f"Run: pip install --upgrade {rival.library}."
        )
        raise MissingExtraError(msg) from error


def _parameters(rival: Rival, n: int, settings: Settings) -> dict[str, Any]:
    """What estimators are told beside neighbors, where they ask for it."""
    n_threads, seed = thread_count(settings.n_jobs), settings.random_state
    return {
        "n_components": settings.n_components,
        "random_state": seed,
        # UMAP takes one thread where it has a seed, and warns of more.
        "n_jobs": 1 if rival.name == "umap" and seed is not None else n_threads,
        "perplexity": min(PERPLEXITY, (n - 1) / 3),
        "verbose": 0,
    }


def answer(rival: Rival, model: Any, X: FloatArray, pieces: Pieces, settings: Settings) -> FloatArray:
    """What the estimator makes of X, if it is an embedding; warnings become notes of the error where it is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Y = check_answer(rival, _fitted(rival, model, X, settings), pieces, settings)
        except BaselineError as error:
            for message, category in _different(caught):
                error.add_note(f"{rival.library} warned of it: {category.__name__}: {message}")
            raise
    for message, category in _different(caught):
        warnings.warn(f"{rival.label} of {rival.library}: {message}", category, stacklevel=caller_stacklevel())
    warn_of_pieces(rival, pieces, settings)
    return Y


def _different(caught: list[Any]) -> list[tuple[str, type[Warning]]]:
    seen = [one for one in caught if not issubclass(one.category, UNSEEN)]
    return list(dict.fromkeys((str(one.message), one.category) for one in seen))


def _fitted(rival: Rival, model: Any, X: FloatArray, settings: Settings) -> FloatArray:
    try:
        with _warned_of_what_is_logged():
            return np.asarray(model.fit_transform(X), dtype=np.float64)
    except MemoryError:
        raise
    except Exception as error:
        k = model.get_params().get(rival.neighbors or "n_neighbors")
        msg = (
            f"method={rival.name!r} must embed {len(X)} samples with {'' if k is None else f'n_neighbors={k} and '}"
            f"n_components={settings.n_components}, got {type(error).__name__} of {rival.library}: {_reason(error)}. "
            f"Try another {'' if k is None else 'n_neighbors or another '}method."
        )
        raise BaselineError(msg) from error


@contextmanager
def _warned_of_what_is_logged() -> Iterator[None]:
    """Make warnings of what PHATE logs, which would go to standard output among the results of others."""

    def warned(record: logging.LogRecord) -> bool:
        warnings.warn(record.getMessage().strip(), UserWarning, stacklevel=2)
        return False

    theirs = logging.getLogger("graphtools")
    theirs.addFilter(warned)
    try:
        yield
    finally:
        theirs.removeFilter(warned)


def _reason(error: Exception) -> str:
    """The first sentence of what another library says."""
    return str(error).strip().split(". ")[0].partition("\n")[0].rstrip(".:") or "no reason given"
