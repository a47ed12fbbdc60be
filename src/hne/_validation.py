"""Every check of parameters and of X, and every message about them.

Checks run at the doors (`embed`, the estimator, the command line) and nowhere below. A `check_*` function
returns the checked value or raises an error of `hne.exceptions`.
"""

import math
import numbers
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state

from hne._types import EIGEN_SOLVERS, NEIGHBOR_SEARCHES, VARIANTS, FloatArray, Settings
from hne.exceptions import InputError, InputTypeError, MissingExtraError

# Below the first a ridge drowns in the rounding of the Gram matrix it is added to, which then decides the weights;
# beyond the second, nothing but the ridge is left.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-12, 1e12
# Planes in float64 do not come to rest below this.
SMALLEST_TOL = 1e-12


def check_settings(parameters: dict[str, Any]) -> Settings:
    """Return the parameters as checked Settings."""
    known = [field.name for field in fields(Settings)]
    for name in parameters:
        if name not in known:
            msg = f"{name} is not a parameter of embed(). Parameters are: {', '.join(known)}."
            raise InputTypeError(msg)
    given = Settings(**parameters)
    return Settings(
        n_neighbors=check_integer("n_neighbors", given.n_neighbors, 1, "Try n_neighbors=6"),
        n_components=check_integer("n_components", given.n_components, 1, "Try n_components=2"),
        variant=check_choice("variant", given.variant, VARIANTS),
        reg=check_positive("reg", given.reg, "Try reg=1e-4"),
        outer_reg=None
        if given.outer_reg is None
        else check_positive("outer_reg", given.outer_reg, "Try outer_reg=1e-4"),
        gamma=check_positive("gamma", given.gamma, "The paper uses gamma=1.0"),
        n_rounds=check_integer("n_rounds", given.n_rounds, 0, "The paper uses n_rounds=1"),
        include_self=_check_flag("include_self", given.include_self, "The paper uses True"),
        neighbors=_check_neighbors(given.neighbors),
        eigen_solver=check_choice("eigen_solver", given.eigen_solver, EIGEN_SOLVERS),
        tol=_check_tol(given.tol),
        n_jobs=_check_n_jobs(given.n_jobs),
        random_state=_check_random_state(given.random_state),
        verbose=_check_verbose(given.verbose),
    )


def check_integer(name: str, value: object, smallest: int | None, remedy: str) -> int:
    """Return the value if it is a whole number of at least `smallest` (None allows any)."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be an integer, got {value!r} of type {type(value).__name__}. {remedy}."
        raise InputTypeError(msg)
    if smallest is not None and value < smallest:
        msg = f"{name} must be at least {smallest}, got {value}. {remedy}."
        raise InputError(msg)
    return int(value)


def check_number(name: str, value: object) -> float:
    """Return the value as a float if it is a real number that float64 can hold."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be a number, got {value!r} of type {type(value).__name__}. Pass a float."
        raise InputTypeError(msg)
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_positive(name: str, value: object, remedy: str) -> float:
    """Return the value if it is a number between the smallest and the largest that make sense as a weight."""
    number = check_number(name, value)
    if not (SMALLEST_WEIGHT <= number <= LARGEST_WEIGHT):
        msg = f"{name} must be between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, got {number!r}. {remedy}."
        raise InputError(msg)
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        msg = f"{name} must be one of {words}, got {value!r}. Choose one of them, in lower case."
        error = InputError if isinstance(value, str) else InputTypeError
        raise error(msg)
    return value


def _check_flag(name: str, value: object, remedy: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False, got {value!r}. {remedy}."
        raise InputTypeError(msg)
    return bool(value)


def _check_neighbors(value: object) -> str:
    choice = check_choice("neighbors", value, NEIGHBOR_SEARCHES)
    if choice == "approximate" and find_spec("faiss") is None:
        msg = "neighbors='approximate' needs faiss, got none installed. Run: pip install faiss-cpu."
        raise MissingExtraError(msg)
    return choice


def _check_tol(value: object) -> float:
    tol = check_number("tol", value)
    if not (SMALLEST_TOL <= tol < 1):
        msg = f"tol must be at least {SMALLEST_TOL:g} and below 1, got {tol!r}. Try tol=1e-7."
        raise InputError(msg)
    return tol


def _check_n_jobs(value: object) -> int | None:
    if value is None:
        return None
    n_jobs = check_integer("n_jobs", value, None, "Try n_jobs=-1")
    if n_jobs == 0:
        msg = "n_jobs must be positive, or negative to count from all cores, got 0. Try n_jobs=-1."
        raise InputError(msg)
    return n_jobs


def _check_random_state(value: Any) -> Any:
    try:
        check_random_state(value)
    except ValueError as error:
        msg = f"random_state must be an integer, None or a RandomState, got {value!r}. Try random_state=0."
        raise InputError(msg) from error
    return value


def _check_verbose(value: object) -> int:
    # scikit-learn's estimators take True for 1 and False for 0.
    return check_integer("verbose", int(value) if isinstance(value, bool | np.bool_) else value, 0, "Try verbose=1")


def check_samples(X: ArrayLike, settings: Settings) -> FloatArray:
    """Return X as a float64 matrix with enough distinct samples for the settings."""
    samples = check_matrix(X)
    n, n_features = samples.shape
    k, d = settings.n_neighbors, settings.n_components
    if n <= k:
        msg = (
            f"n_neighbors={k} needs at least {k + 1} samples, got n_samples={n}. "
            "Lower n_neighbors or pass more samples."
        )
        raise InputError(msg)
    if d >= n:
        msg = (
            f"n_components={d} needs at least {d + 1} samples, got n_samples={n}. "
            "Lower n_components or pass more samples."
        )
        raise InputError(msg)
    if d > n_features:
        msg = (
            f"n_components={d} needs at least {d} features, got n_features={n_features}. "
            "Lower n_components or pass more features."
        )
        raise InputError(msg)
    if (samples == samples[0]).all():
        msg = f"X must have different samples, got {n} samples that are all equal. Check how X was read."
        raise InputError(msg)
    return samples


def check_new_samples(X: ArrayLike) -> FloatArray:
    """Return new samples to place as a float64 matrix of at least one row."""
    matrix = check_matrix(X)
    if not len(matrix):
        msg = f"X must have samples, got 0 sample(s) (shape={matrix.shape}). Pass at least one row."
        raise InputError(msg)
    return matrix


def check_matrix(X: ArrayLike, name: str = "X") -> FloatArray:
    """Return X as a finite float64 matrix of samples x features; messages call it by its name."""
    matrix = _as_float(X, name)
    if matrix.ndim != 2:
        msg = (
            f"{name} must have two dimensions (samples, features), got {matrix.ndim} with shape {matrix.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(len(X), -1) for images."
        )
        raise InputError(msg)
    if matrix.shape[1] == 0:
        # The words in the middle are those that scikit-learn's common tests look for.
        msg = (
            f"{name} must have features, got 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required. "
            "Check how X was read."
        )
        raise InputError(msg)
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        names = getattr(X, "columns", None)
        named = f"{column}" if names is None else f"{names[column]!r}"
        msg = (
            f"{name} must be finite, got {matrix[row, column]} in row {row}, column {named} "
            f"({np.isnan(matrix).sum()} NaN and {np.isinf(matrix).sum()} inf in all). Drop or impute such values."
        )
        raise InputError(msg)
    return matrix


def _as_float(X: ArrayLike, name: str) -> FloatArray:
    """Convert anything array-like, data frames included, to float64; kinds that are not numbers are refused."""
    _check_kind(X, name)
    try:
        matrix: FloatArray = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except (TypeError, ValueError) as error:
        got = _described(X)
        if "complex" in str(error).lower():
            msg = f"{name} must be real, got {got} (Complex data not supported). Pass X.real and X.imag as features."
            raise InputError(msg) from None
        reason = str(error).split(". ")[0].splitlines()[0]
        msg = f"{name} must be a table of numbers, got {got} ({reason}). Drop or encode what is not a number."
        raise (InputTypeError if isinstance(error, TypeError) else InputError)(msg) from error
    return matrix


def _check_kind(X: ArrayLike, name: str) -> None:
    """Refuse what would convert to numbers without being a table of them."""
    if issparse(X):
        msg = f"{name} must be a dense array, got a sparse matrix. Pass X.toarray()."
        raise InputTypeError(msg)
    if X is None:
        msg = f"{name} must be a table of numbers, got None. Pass an array of samples x features."
        raise InputTypeError(msg)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        msg = (
            f"{name} must have all its values, got a masked array with {np.sum(X.mask)} masked. "
            "Fill them (X.filled) or drop their rows."
        )
        raise InputTypeError(msg)
    if getattr(getattr(X, "dtype", None), "kind", "f") in "USmM":
        msg = f"{name} must be a table of numbers, got {_described(X)}. Convert it to numbers first."
        raise InputError(msg)


def _described(X: ArrayLike) -> str:
    """Kind of X, and of a data frame the columns that hold no numbers."""
    kind = getattr(X, "dtype", None)
    if kind is not None:
        return f"{type(X).__name__} of {kind}"
    frame: Any = X
    kinds = zip(getattr(frame, "columns", ()), getattr(frame, "dtypes", ()), strict=False)
    others = [repr(name) for name, one in kinds if getattr(one, "kind", "f") not in "biuf"]
    return type(X).__name__ + (f" with columns {', '.join(others[:5])}" if others else "")
