"""A table -> finite float64: dense or CSR, of pandas, polars, pyarrow, NumPy or SciPy; and every message about one."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import INT32_MAX, FloatArray, SparseMatrix
from hne.exceptions import InputError, InputTypeError, quoted

# How pandas, polars and pyarrow begin the names of their kinds of numbers.
NUMBERS = ("int", "uint", "float", "halffloat", "double", "bool", "decimal")


def check_matrix(X: ArrayLike, name: str = "X", first_row: int = 0) -> FloatArray:
    """Return X as a finite float64 matrix of samples x features; messages call it by its name, rows from the first."""
    matrix = _as_float(X, name)
    if matrix.ndim != 2:
        msg = (
            f"{name} must have two dimensions (samples, features), got {matrix.ndim} with shape {matrix.shape}. "
            f"Reshape your data: {name}.reshape(1, -1) for one sample, {name}.reshape(-1, 1) for one feature, "
            f"{name}.reshape(len({name}), -1) for images."
        )
        raise InputError(msg)
    _check_has_features(matrix.shape, name)
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        names = getattr(X, "column_names", getattr(X, "columns", None))
        named = f"{column}" if names is None else f"{quoted(names[column])}"
        raise _not_finite(name, matrix, matrix[row, column], first_row + row, named)
    return matrix


def check_stored(X: SparseMatrix) -> SparseMatrix:
    """Return a sparse matrix as a CSR array of finite float64, columns in order; explicit zeros are kept."""
    if X.dtype.kind not in "biuf":
        kind = "complex numbers (Complex data not supported)" if X.dtype.kind == "c" else f"values of {X.dtype}"
        msg = f"X must be a table of numbers, got a sparse matrix of {kind}. Convert it to numbers first."
        raise InputError(msg)
    if X.ndim != 2:
        msg = f"X must have two dimensions (samples, features), got {X.ndim} with shape {X.shape}. Reshape your data."
        raise InputError(msg)
    matrix = csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if max(matrix.shape[1], matrix.nnz) <= INT32_MAX:
        # scikit-learn's search is compiled for these.
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    name = "X"
    _check_has_features(matrix.shape, name)
    finite = np.isfinite(matrix.data)
    if not finite.all():
        entry = int(np.flatnonzero(~finite)[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right") - 1)
        raise _not_finite(name, matrix.data, matrix.data[entry], row, str(matrix.indices[entry]))
    return matrix


def is_table(X: object) -> bool:
    """Whether X is a table with named columns, of pandas, polars or pyarrow."""
    return bool(columns_of(X))


def output_kind(X: object) -> Any:
    """Kind of numbers that go out: float32 where X is all of it, else float64."""
    kinds = set(columns_of(X).values()) or {str(getattr(X, "dtype", ""))}
    # pyarrow calls it float, and its double double; NumPy the one of the other byte order >f4.
    return np.float32 if {kind.lower() for kind in kinds} <= {"float32", "float", ">f4", "<f4"} else np.float64


def columns_of(X: Any) -> dict[str, str]:
    """Name and kind of each column of a table; nothing for what is none."""
    return dict(_named_columns(X))


def _named_columns(X: Any) -> list[tuple[str, str]]:
    """The same in order, names that several columns have as often as they do."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "names") and hasattr(schema, "types"):
        named = zip(schema.names, schema.types() if callable(schema.types) else schema.types, strict=False)
    else:
        named = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [(str(name), str(kind)) for name, kind in named]


def _check_has_features(shape: tuple[int, ...], name: str) -> None:
    if shape[1] == 0:
        # The words in the middle are those that scikit-learn's common tests look for.
        msg = (
            f"{name} must have features, got 0 feature(s) (shape={shape}) while a minimum of 1 is required. "
            "Check how X was read."
        )
        raise InputError(msg)


def _not_finite(name: str, values: FloatArray, value: float, row: int, column: str) -> InputError:
    msg = (
        f"{name} must be finite, got {value} in row {row}, column {column} "
        f"({np.isnan(values).sum()} NaN and {np.isinf(values).sum()} inf in all). Drop or impute such values."
    )
    return InputError(msg)


def _as_float(X: ArrayLike, name: str) -> FloatArray:
    """Convert anything array-like, data frames included, to float64; kinds that are not numbers are refused."""
    if type(X) is np.ndarray and X.dtype == np.float64:
        return X
    from sklearn.utils import check_array  # noqa: PLC0415, a second to load, and nothing of above needs it

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
    except (TypeError, ValueError, OverflowError) as error:
        got = _described(X)
        if "complex" in str(error).lower():
            msg = f"{name} must be real, got {got} (Complex data not supported). Pass X.real and X.imag as features."
            raise InputError(msg) from None
        reason = str(error).split(". ")[0].splitlines()[0].rstrip(".")
        msg = f"{name} must be a table of numbers, got {got} ({reason}). Drop or encode what is not a number."
        raise (InputTypeError if isinstance(error, TypeError) else InputError)(msg) from error
    return matrix


def _check_kind(X: ArrayLike, name: str) -> None:
    """Refuse what would convert to numbers without being a table of them."""
    if issparse(X):
        msg = f"{name} must be a dense array, got a sparse matrix. Pass {name}.toarray()."
        raise InputTypeError(msg)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        msg = f"{name} must be a table of numbers, got a {type(X).__name__}, not yet run. Pass {name}.collect()."
        raise InputTypeError(msg)
    if any(kind.startswith("Sparse[") for kind in columns_of(X).values()):
        msg = f"{name} must be a table of plain columns, got sparse ones. Pass {name}.sparse.to_coo()."
        raise InputTypeError(msg)
    if len({isinstance(column, str) for column in getattr(X, "columns", ())}) > 1:
        msg = f"{name} must have names of columns that are all text or none, got both. Pass {name}.rename(columns=str)."
        raise InputTypeError(msg)
    names = [column for column, _ in _named_columns(X)]
    if len(set(names)) < len(names):
        repeated = next(one for one in names if names.count(one) > 1)
        msg = f"{name} must have a name of its own for each column, got {quoted(repeated)} more than once. Rename one."
        raise InputError(msg)
    if X is None:
        msg = f"{name} must be a table of numbers, got None. Pass an array of samples x features."
        raise InputTypeError(msg)
    if isinstance(X, np.matrix):
        msg = f"{name} must be an array or a table of numbers, got an np.matrix. Pass np.asarray({name})."
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
    others = [repr(name) for name, kind in columns_of(X).items() if not kind.lower().startswith(NUMBERS)]
    return type(X).__name__ + (f" with columns {', '.join(others[:5])}" if others else "")
