"""Parameters -> Settings: every check of a parameter, and every message about one."""

import math
import numbers
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import numpy as np

from hne._runtime.random import random_generator
from hne.core.records import (
    COORDINATES,
    DEFAULTS,
    EIGEN_SOLVERS,
    NEIGHBOR_SEARCHES,
    PIECE_POLICIES,
    PRECOMPUTED,
    SHORT_CIRCUITS,
    VARIANTS,
    NeighborGraph,
    Settings,
)
from hne.core.samples.check import check_graph
from hne.exceptions import InputError, InputTypeError, MissingExtraError, quoted

# Below the first a ridge drowns in the rounding of the Gram matrix it is added to, which then decides the weights;
# beyond the second, nothing but the ridge is left.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-12, 1e12
# Each round costs as much as the first; whoever asks for more than this waits for something else.
MOST_ROUNDS = 1000
# Planes in float64 do not come to rest below this.
SMALLEST_TOL = 1e-12
# Parameters that may be "auto", and what stands for them until they are chosen: what fits the fewest samples.
AUTO = "auto"
STAND_INS: dict[str, Any] = {"n_neighbors": 4, "n_components": 1, "variant": "bhne", "reg": 1e-4}
# Parameters that may be None, left to what the samples are near to, and what stands for them until that is known.
UNSET: dict[str, Any] = {"n_neighbors": 1, "reg": 1e-4}


def check_settings(parameters: dict[str, Any]) -> Settings:
    """Return the parameters as checked Settings."""
    known = [field.name for field in fields(Settings)]
    for name in parameters:
        if name not in known:
            msg = f"{name} is not a parameter of embed(). Parameters are: {', '.join(known)}."
            raise InputTypeError(msg)
    given = Settings(**parameters)
    _check_landmarks(given)
    return Settings(
        n_neighbors=check_integer("n_neighbors", given.n_neighbors, 1, "Try n_neighbors=6"),
        n_components=check_integer("n_components", given.n_components, 1, "Try n_components=2"),
        variant=check_choice("variant", given.variant, VARIANTS),
        reg=check_positive("reg", given.reg, "Try reg=1e-4"),
        outer_reg=None
        if given.outer_reg is None
        else check_positive("outer_reg", given.outer_reg, "Try outer_reg=1e-4"),
        gamma=check_positive("gamma", given.gamma, "The paper uses gamma=1.0"),
        n_rounds=_check_rounds(given.n_rounds),
        include_self=_check_flag("include_self", given.include_self, "The paper uses True"),
        metric=_check_metric(given.metric),
        metric_params=_check_metric_params(given.metric_params),
        neighbors=_check_neighbors(given.neighbors),
        short_circuits=check_choice("short_circuits", given.short_circuits, SHORT_CIRCUITS),
        pieces=check_choice("pieces", given.pieces, PIECE_POLICIES),
        coordinates=check_choice("coordinates", given.coordinates, COORDINATES),
        eigen_solver=check_choice("eigen_solver", given.eigen_solver, EIGEN_SOLVERS),
        n_landmarks=given.n_landmarks and int(given.n_landmarks),
        tol=_check_tol(given.tol),
        n_jobs=check_n_jobs(given.n_jobs),
        random_state=_check_random_state(given.random_state),
        verbose=_check_verbose(given.verbose),
    )


def check_parameters(parameters: dict[str, Any]) -> tuple[Settings, frozenset[str], frozenset[str]]:
    """Return parameters, or defaults, as checked Settings, which are "auto", and which None: they have stand-ins."""
    wished = {**DEFAULTS, **parameters}
    automatic = frozenset(name for name in STAND_INS if is_auto(wished.get(name)))
    unset = frozenset(name for name in UNSET if wished[name] is None)
    stand_ins = {name: STAND_INS[name] for name in automatic} | {name: UNSET[name] for name in unset}
    return check_settings(wished | stand_ins), automatic, unset


def is_auto(value: object) -> bool:
    """Whether a parameter asks to be chosen."""
    return isinstance(value, str) and value == AUTO


def check_integer(name: str, value: object, smallest: int | None, remedy: str) -> int:
    """Return the value if it is a whole number of at least `smallest` (None allows any)."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be an integer, got {quoted(value)} of type {type(value).__name__}. {remedy}."
        raise InputTypeError(msg)
    if smallest is not None and value < smallest:
        msg = f"{name} must be at least {smallest}, got {value}. {remedy}."
        raise InputError(msg)
    return int(value)


def _check_rounds(value: object) -> int:
    n_rounds = check_integer("n_rounds", value, 0, "The paper uses n_rounds=1")
    if n_rounds > MOST_ROUNDS:
        msg = f"n_rounds must be at most {MOST_ROUNDS}, got {quoted(n_rounds)}. The paper uses n_rounds=1."
        raise InputError(msg)
    return n_rounds


def check_number(name: str, value: object) -> float:
    """Return the value as a float if it is a real number that float64 can hold."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be a number, got {quoted(value)} of type {type(value).__name__}. Pass a float."
        raise InputTypeError(msg)
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_positive(name: str, value: object, remedy: str) -> float:
    """Return the value if it is a number between the smallest and the largest that make sense as a weight."""
    number = check_number(name, value)
    if not (SMALLEST_WEIGHT <= number <= LARGEST_WEIGHT):
        msg = f"{name} must be between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, got {quoted(number)}. {remedy}."
        raise InputError(msg)
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        msg = f"{name} must be one of {words}, got {quoted(value)}. Choose one of them, in lower case."
        error = InputError if isinstance(value, str) else InputTypeError
        raise error(msg)
    return value


def _check_flag(name: str, value: object, remedy: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False, got {quoted(value)}. {remedy}."
        raise InputTypeError(msg)
    return bool(value)


def _check_metric(value: Any) -> Any:
    if callable(value):
        return value
    if not isinstance(value, str):
        msg = f"metric must be a name or a function of two samples, got {quoted(value)}. Try metric='euclidean'."
        raise InputTypeError(msg)
    if value in {"euclidean", PRECOMPUTED}:
        return value
    # scikit-learn takes a second to load, and most embeddings need none of it.
    from sklearn.neighbors import VALID_METRICS  # noqa: PLC0415

    # NaN is refused, so that what skips it has nothing to do.
    known = sorted({*VALID_METRICS["brute"], PRECOMPUTED} - {"nan_euclidean"})
    if value not in known:
        words = f"one of {', '.join(known)} or a function of two samples"
        msg = f"metric must be {words}, got {quoted(value)}. Choose one of them."
        raise InputError(msg)
    return value


def _check_metric_params(value: object) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        remedy = "Try metric_params={'p': 3} for metric='minkowski'."
        msg = f"metric_params must be a dict or None, got {quoted(value)}. {remedy}"
        raise InputTypeError(msg)
    return value


def _check_neighbors(value: object) -> str | NeighborGraph:
    if not isinstance(value, str) and value is not None:
        return check_graph(value)
    choice = check_choice("neighbors", value, NEIGHBOR_SEARCHES)
    if choice == "approximate" and find_spec("faiss") is None:
        msg = "neighbors='approximate' needs faiss, got none installed. Run: pip install faiss-cpu."
        raise MissingExtraError(msg)
    return choice


def _check_landmarks(given: Settings) -> None:
    if given.n_landmarks is None:
        return
    m = check_integer("n_landmarks", given.n_landmarks, 1, "Try a hundredth of the samples, or leave n_landmarks out")
    if given.eigen_solver != AUTO:
        msg = (
            f"n_landmarks takes the place of an eigensolver, got n_landmarks={m} and "
            f"eigen_solver={quoted(given.eigen_solver)}. Leave one of them out."
        )
        raise InputError(msg)
    if given.metric == PRECOMPUTED:
        msg = (
            f"n_landmarks needs samples with coordinates, got n_landmarks={m} and metric='{PRECOMPUTED}'. "
            "Leave n_landmarks out."
        )
        raise InputError(msg)


def _check_tol(value: object) -> float:
    tol = check_number("tol", value)
    if not (SMALLEST_TOL <= tol < 1):
        msg = f"tol must be at least {SMALLEST_TOL:g} and below 1, got {quoted(tol)}. Try tol=1e-7."
        raise InputError(msg)
    return tol


def check_n_jobs(value: object) -> int | None:
    """Return the value if it is a number of threads as scikit-learn understands it."""
    if value is None:
        return None
    n_jobs = check_integer("n_jobs", value, None, "Try n_jobs=-1")
    if n_jobs == 0:
        msg = "n_jobs must be positive, or negative to count from all cores, got 0. Try n_jobs=-1."
        raise InputError(msg)
    return n_jobs


def _check_random_state(value: Any) -> Any:
    try:
        random_generator(value)
    except ValueError as error:
        msg = f"random_state must be an integer, None or a RandomState, got {quoted(value)}. Try random_state=0."
        raise InputError(msg) from error
    return value


def _check_verbose(value: object) -> int:
    # scikit-learn's estimators take True for 1 and False for 0.
    return check_integer("verbose", int(value) if isinstance(value, bool | np.bool_) else value, 0, "Try verbose=1")
