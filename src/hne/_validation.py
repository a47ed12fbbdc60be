"""Every check of parameters and of X, and every message about them.

Checks run at the doors (`embed`, the estimator, the command line) and nowhere below. A `check_*` function
returns the checked value or raises an error of `hne.exceptions`.
"""

import math
import numbers
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state

from hne._types import EIGEN_SOLVERS, VARIANTS, FloatArray, Settings
from hne.exceptions import InputError, InputTypeError

# Below this the ridge drowns in the rounding of the Gram matrix it is added to, which then decides the weights.
SMALLEST_REG = 1e-12
# Squares of coordinates within 2**+-EXPONENT_RANGE, summed over any number of features, stay normal numbers.
EXPONENT_RANGE = 300
# Squares of differences up to 2**FARTHEST_EXPONENT do not overflow.
FARTHEST_EXPONENT = 500


def check_settings(parameters: dict[str, Any]) -> Settings:
    """Return the parameters as checked Settings."""
    known = [field.name for field in fields(Settings)]
    for name in parameters:
        if name not in known:
            msg = f"{name} is not a parameter of embed(). Parameters are: {', '.join(known)}."
            raise InputTypeError(msg)
    settings = Settings(**parameters)
    check_integer("n_neighbors", settings.n_neighbors, 1, "Try n_neighbors=6")
    check_integer("n_components", settings.n_components, 1, "Try n_components=2")
    check_integer("n_rounds", settings.n_rounds, 0, "The paper uses n_rounds=1")
    check_choice("variant", settings.variant, VARIANTS)
    check_choice("eigen_solver", settings.eigen_solver, EIGEN_SOLVERS)
    _check_reg("reg", settings.reg)
    if settings.outer_reg is not None:
        _check_reg("outer_reg", settings.outer_reg)
    check_number("gamma", settings.gamma)
    if not (0 < settings.gamma < math.inf):
        msg = f"gamma must be positive and finite, got {settings.gamma!r}. The paper uses gamma=1.0."
        raise InputError(msg)
    check_number("tol", settings.tol)
    if not (0 <= settings.tol < 1):
        msg = f"tol must be at least 0 and below 1, got {settings.tol!r}. Try tol=1e-7."
        raise InputError(msg)
    _check_random_state(settings.random_state)
    if settings.n_jobs is not None and check_integer("n_jobs", settings.n_jobs, None, "Try n_jobs=-1") == 0:
        msg = "n_jobs must be positive, or negative to count from all cores, got 0. Try n_jobs=-1."
        raise InputError(msg)
    if not isinstance(settings.include_self, bool | np.bool_):
        msg = f"include_self must be True or False, got {settings.include_self!r}. The paper uses True."
        raise InputTypeError(msg)
    return settings


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
    """Return the value if it is a real number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        msg = f"{name} must be a number, got {value!r} of type {type(value).__name__}. Pass a float."
        raise InputTypeError(msg)
    return float(value)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        msg = f"{name} must be one of {words}, got {value!r}. Choose one of them, in lower case."
        error = InputError if isinstance(value, str) else InputTypeError
        raise error(msg)
    return value


def _check_reg(name: str, value: object) -> None:
    check_number(name, value)
    if not (SMALLEST_REG <= value < math.inf):  # type: ignore[operator]
        msg = f"{name} must be at least {SMALLEST_REG:g} and finite, got {value!r}. Try {name}=1e-4."
        raise InputError(msg)


def _check_random_state(value: object) -> None:
    try:
        check_random_state(value)
    except ValueError as error:
        msg = f"random_state must be an integer, None or a RandomState, got {value!r}. Try random_state=0."
        raise InputError(msg) from error


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


def check_matrix(X: ArrayLike) -> FloatArray:
    """Return X as a finite float64 matrix of samples x features."""
    matrix = _as_float(X)
    if matrix.ndim != 2:
        msg = (
            f"X must have two dimensions (samples, features), got {matrix.ndim} with shape {matrix.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(len(X), -1) for images."
        )
        raise InputError(msg)
    if matrix.shape[1] == 0:
        # The words in the middle are those that scikit-learn's common tests look for.
        msg = (
            f"X must have features, got 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required. "
            "Check how X was read."
        )
        raise InputError(msg)
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        names = getattr(X, "columns", None)
        named = f"{column}" if names is None else f"{names[column]!r}"
        msg = (
            f"X must be finite, got {matrix[row, column]} in row {row}, column {named} "
            f"({np.isnan(matrix).sum()} NaN and {np.isinf(matrix).sum()} inf in all). Drop or impute such values."
        )
        raise InputError(msg)
    return matrix


def _as_float(X: ArrayLike) -> FloatArray:
    """Convert anything array-like, data frames included, to float64; kinds that are not numbers are refused."""
    _check_kind(X)
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
            msg = f"X must be real, got {got} (Complex data not supported). Pass X.real and X.imag as features."
            raise InputError(msg) from None
        reason = str(error).split(". ")[0].splitlines()[0]
        msg = f"X must be a table of numbers, got {got} ({reason}). Drop or encode what is not a number."
        raise (InputTypeError if isinstance(error, TypeError) else InputError)(msg) from error
    return matrix


def _check_kind(X: ArrayLike) -> None:
    """Refuse what would convert to numbers without being a table of them."""
    if issparse(X):
        msg = "X must be a dense array, got a sparse matrix. Pass X.toarray()."
        raise InputTypeError(msg)
    if X is None:
        msg = "X must be a table of numbers, got None. Pass an array of samples x features."
        raise InputTypeError(msg)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        msg = (
            f"X must have all its values, got a masked array with {np.sum(X.mask)} masked. "
            "Fill them (X.filled) or drop their rows."
        )
        raise InputTypeError(msg)
    if getattr(getattr(X, "dtype", None), "kind", "f") in "US":
        msg = f"X must be a table of numbers, got {_described(X)}. Convert it if it spells numbers: X.astype(float)."
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


def check_new_samples(X: ArrayLike, unit: float) -> FloatArray:
    """Return new samples times `unit`, the scale that the fitted ones are worked on in."""
    matrix = check_matrix(X)
    if not len(matrix):
        msg = f"X must have samples, got 0 sample(s) (shape={matrix.shape}). Pass at least one row."
        raise InputError(msg)
    with np.errstate(over="ignore"):
        scaled = matrix if unit == 1.0 else matrix * unit
    too_far = np.abs(scaled).max(axis=1, initial=0.0) > 2.0**FARTHEST_EXPONENT
    if too_far.any():
        row = int(np.flatnonzero(too_far)[0])
        msg = (
            f"X must be within {2.0**FARTHEST_EXPONENT / unit:.0e} of the origin to be placed among the fitted "
            f"samples, got {np.abs(matrix[row]).max():.1e} in row {row}. Check the units of X."
        )
        raise InputError(msg)
    return scaled


def unit_scale(X: FloatArray) -> float:
    """Power of two that brings extreme X to about one; 1.0 for all ordinary data.

    The method does not depend on units, and scaling by a power of two changes no digit.
    """
    _, exponent = math.frexp(max(abs(float(X.max())), abs(float(X.min()))))
    if abs(exponent) <= EXPONENT_RANGE:
        return 1.0
    return math.ldexp(1.0, -max(exponent, -1000))
