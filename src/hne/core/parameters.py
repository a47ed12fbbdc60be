"""Parameters -> Settings: every check of a parameter by what `hne.settings` knows of it."""

import math
import numbers
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, NoReturn

import numpy as np

from hne._runtime.random import random_generator
from hne.core.records import NeighborGraph
from hne.core.samples.check import check_decided_once, check_graph
from hne.exceptions import HNEError, InputError, InputTypeError, MissingExtraError, quoted
from hne.settings import AUTO, DEFAULTS, PLACES, PRECOMPUTED, SamplePairs, Setting, Settings, known_settings


def check_settings(parameters: Mapping[str, Any]) -> Settings:
    """Return the parameters as checked Settings; what is not among them is as in the published method."""
    known = [name for name in known_settings() if name not in PLACES]
    for name in parameters:
        if name not in known:
            msg = f"{name} is not a parameter of embed(). Parameters are: {', '.join(known)}."
            raise InputTypeError(msg, parameter=name)
    # The number of landmarks speaks of other parameters: it is told first.
    given = Settings(**parameters)
    _check_landmarks(given)
    checked = Settings(**{name: _check_value(name, getattr(given, name), known_settings()[name]) for name in known})
    check_decided_once(checked.cut_edges or (), checked.keep_edges or ())
    return checked


def check_parameters(parameters: Mapping[str, Any]) -> tuple[Settings, frozenset[str], frozenset[str]]:
    """Return parameters, or defaults, as checked Settings, which are "auto", and which None: they have stand-ins."""
    wanted = {name: value for name, value in {**DEFAULTS, **parameters}.items() if name not in PLACES}
    left_open = {name: one for name, one in known_settings().items() if one.stand_in is not None}
    auto = frozenset(name for name in left_open if is_auto(wanted[name]))
    unset = frozenset(name for name, one in left_open.items() if one.may_be_none and wanted[name] is None)
    # What is chosen among settings fits the fewest samples with few neighbors; what suits them, with one.
    stand_ins = {name: left_open[name].stand_in for name in auto} | {
        name: 1 if name == "n_neighbors" else left_open[name].stand_in for name in unset
    }
    return check_settings(wanted | stand_ins), auto, unset


def is_auto(value: object) -> bool:
    """Whether a parameter asks to be chosen."""
    return isinstance(value, str) and value == AUTO


def _check_value(name: str, value: Any, known: Setting) -> Any:
    if value is None and known.may_be_none:
        return None
    if name in SPECIAL:
        return SPECIAL[name](value)
    if known.choices:
        return check_choice(name, value, known.choices, may_be_auto=known.may_be_auto)
    if isinstance(DEFAULTS[name], bool):
        return _check_flag(name, value, known.remedy)
    or_auto = " or 'auto'" if known.may_be_auto else ""
    if isinstance(known.low, int):
        return check_integer(name, value, known.low, known.remedy, known.high, or_auto=or_auto)
    return check_positive(name, value, known.remedy, or_auto)


def _of_type(value: object) -> str:
    return f"got {quoted(value)} of type {type(value).__name__}"


def check_integer(
    name: str, value: object, smallest: int | None, remedy: str, largest: float | None = None, *, or_auto: str = ""
) -> int:
    """Return the value if it is a whole number within these limits (None allows any)."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be an integer{or_auto}, {_of_type(value)}. {remedy}."
        raise InputTypeError(msg, parameter=name, rule="must be an integer", value=value, remedy=remedy)
    if smallest is not None and value < smallest:
        raise InputError(parameter=name, rule=f"must be at least {smallest}", value=value, remedy=remedy)
    if largest is not None and int(value) > largest:
        raise InputError(parameter=name, rule=f"must be at most {largest}", value=value, remedy=remedy)
    return int(value)


def check_number(name: str, value: object, or_auto: str = "") -> float:
    """Return the value as a float if it is a real number that float64 can hold."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be a number{or_auto}, {_of_type(value)}. Pass a float."
        raise InputTypeError(msg, parameter=name, rule="must be a number", value=value, remedy="Pass a float")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_positive(name: str, value: object, remedy: str, or_auto: str = "") -> float:
    """Return the value if it is a number within the limits of a weight."""
    number, known = check_number(name, value, or_auto), known_settings().get(name, known_settings()["reg"])
    low, high = known.low or 0.0, known.high or math.inf
    if not (low <= number <= high):
        raise InputError(parameter=name, rule=f"must be between {low:g} and {high:g}", value=number, remedy=remedy)
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...], *, may_be_auto: bool = False) -> str:
    """Return the value if it is one of the choices; `may_be_auto` names "auto" among them where it is refused."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(choice) for choice in (*choices, *([AUTO] if may_be_auto else [])))
        error = InputError if isinstance(value, str) else InputTypeError
        remedy = "Choose one of them, in lower case"
        raise error(parameter=name, rule=f"must be one of {words}", value=value, remedy=remedy)
    return value


def _check_flag(name: str, value: object, remedy: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(parameter=name, rule="must be True or False", value=value, remedy=remedy)
    return bool(value)


def _check_metric(value: Any) -> Any:
    if callable(value) or (isinstance(value, str) and value in {"euclidean", PRECOMPUTED}):
        return value
    if not isinstance(value, str):
        rule, remedy = "must be a name or a function of two samples", "Try metric='euclidean'"
        raise InputTypeError(parameter="metric", rule=rule, value=value, remedy=remedy)
    # scikit-learn takes a second to load, and most embeddings need none of it.
    from sklearn.neighbors import VALID_METRICS  # noqa: PLC0415

    # NaN is refused, so that what skips it has nothing to do.
    known = sorted({*VALID_METRICS["brute"], PRECOMPUTED} - {"nan_euclidean"})
    if value not in known:
        rule = f"must be one of {', '.join(known)} or a function of two samples"
        raise InputError(parameter="metric", rule=rule, value=value, remedy="Choose one of them")
    return value


def _check_metric_params(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        remedy = "Try metric_params={'p': 3} for metric='minkowski'"
        raise InputTypeError(parameter="metric_params", rule="must be a dict or None", value=value, remedy=remedy)
    return value


def _check_neighbors(value: object) -> str | NeighborGraph:
    if not isinstance(value, str) and value is not None:
        return check_graph(value)
    choice = check_choice("neighbors", value, known_settings()["neighbors"].choices)
    if choice == "approximate" and find_spec("faiss") is None:
        msg = "neighbors='approximate' needs faiss, got none installed. Run: pip install faiss-cpu."
        raise MissingExtraError(msg, parameter="neighbors", value=value)
    return choice


def _check_edges(name: str, value: object) -> SamplePairs | None:
    """Return pairs of samples, the smaller first, each once and in order; None where there are none."""
    remedy = known_settings()[name].remedy

    def refuse_pairs(rule: str, got: str, error: type[HNEError] = InputError) -> NoReturn:
        msg = f"{name} {rule}, got {got}. {remedy}."
        raise error(msg, parameter=name, rule=rule, value=value, remedy=remedy)

    try:
        pairs = np.asarray(value)
    except ValueError:
        refuse_pairs("must have two samples a row", quoted(value))
    if pairs.ndim and not len(pairs):
        return None
    if pairs.dtype.kind not in "iu":
        refuse_pairs("must be pairs of whole numbers", quoted(value), InputTypeError)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        refuse_pairs("must have two samples a row", f"shape {pairs.shape}")
    wrong = np.flatnonzero((pairs < 0).any(axis=1) | (pairs[:, 0] == pairs[:, 1]))
    if len(wrong):
        refuse_pairs("must be pairs of different samples, counted from 0", f"{tuple(pairs[wrong[0]].tolist())}")
    return tuple((one, other) for one, other in np.unique(np.sort(pairs, axis=1), axis=0).tolist())


def _check_landmarks(given: Settings) -> None:
    if given.n_landmarks is None:
        return
    known = known_settings()["n_landmarks"]
    m = check_integer("n_landmarks", given.n_landmarks, 1, known.remedy)
    if given.eigen_solver != AUTO:
        rule = "takes the place of an eigensolver"
        got, remedy = f"eigen_solver={quoted(given.eigen_solver)}", "Leave one of them out"
    elif given.metric == PRECOMPUTED:
        rule = "needs samples with coordinates"
        got, remedy = f"metric='{PRECOMPUTED}'", "Leave n_landmarks out"
    else:
        return
    msg = f"n_landmarks {rule}, got n_landmarks={m} and {got}. {remedy}."
    raise InputError(msg, parameter="n_landmarks", rule=rule, value=m, remedy=remedy)


def _check_tol(value: object) -> float:
    tol, known = check_number("tol", value), known_settings()["tol"]
    if not (known.low or 0) <= tol < (known.high or 1):
        rule = f"must be at least {known.low:g} and below {known.high:g}"
        raise InputError(parameter="tol", rule=rule, value=tol, remedy=known.remedy)
    return tol


def check_n_jobs(value: object) -> int | None:
    """Return the value if it is a number of threads as scikit-learn understands it."""
    if value is None:
        return None
    remedy = known_settings()["n_jobs"].remedy
    n_jobs = check_integer("n_jobs", value, None, remedy)
    if n_jobs == 0:
        rule = "must be positive, or negative to count from all cores"
        raise InputError(parameter="n_jobs", rule=rule, value=n_jobs, remedy=remedy)
    return n_jobs


def _check_random_state(value: Any) -> Any:
    try:
        random_generator(value)
    except ValueError as error:
        rule, remedy = "must be an integer, None or a RandomState", "Try random_state=0"
        raise InputError(parameter="random_state", rule=rule, value=value, remedy=remedy) from error
    return value


def _check_verbose(value: object) -> int:
    # scikit-learn's estimators take True for 1 and False for 0.
    whole = int(value) if isinstance(value, bool | np.bool_) else value
    return check_integer("verbose", whole, 0, known_settings()["verbose"].remedy)


# Parameters whose rule is no range and no list of choices.
SPECIAL: dict[str, Callable[[Any], Any]] = {
    "cut_edges": partial(_check_edges, "cut_edges"),
    "keep_edges": partial(_check_edges, "keep_edges"),
    "metric": _check_metric,
    "metric_params": _check_metric_params,
    "neighbors": _check_neighbors,
    "tol": _check_tol,
    "n_jobs": check_n_jobs,
    "random_state": _check_random_state,
    "verbose": _check_verbose,
}
