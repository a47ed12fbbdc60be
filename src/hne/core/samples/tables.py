"""A table -> finite float64: dense or CSR, of pandas, polars, pyarrow, NumPy or SciPy; and every message about one."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import INT32_MAX, FloatArray, SparseMatrix
from hne.exceptions import InputError, InputTypeError, quoted, refuse

# How pandas, polars and pyarrow begin the names of their kinds of numbers.
NUMBERS = ("int", "uint", "float", "halffloat", "double", "bool", "decimal")
TWO_DIMENSIONS, TABLE = "must have two dimensions (samples, features)", "must be a table of numbers"


def check_matrix(X: ArrayLike, name: str = "X", first_row: int = 0) -> FloatArray:
    """Return X as a finite float64 matrix of samples x features; messages call it by its name, rows from the first."""
    matrix = _as_float(X, name)
    if matrix.ndim != 2:
        remedy = (
            f"Reshape your data: {name}.reshape(1, -1) for one sample, {name}.reshape(-1, 1) for one feature, "
            f"{name}.reshape(len({name}), -1) for images"
        )
        refuse(name, TWO_DIMENSIONS, f"{matrix.ndim} with shape {matrix.shape}", remedy)
    _check_has_features(matrix.shape, name)
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        names = getattr(X, "column_names", getattr(X, "columns", None))
        named = f"{column}" if names is None else f"{quoted(names[column])}"
        _refuse_not_finite(name, matrix, f"{matrix[row, column]} in row {first_row + row}, column {named}")
    return matrix


def check_stored(X: SparseMatrix) -> SparseMatrix:
    """Return a sparse matrix as a CSR array of finite float64, columns in order; explicit zeros are kept."""
    if X.dtype.kind not in "biuf":
        kind = "complex numbers (Complex data not supported)" if X.dtype.kind == "c" else f"values of {X.dtype}"
        refuse("X", TABLE, f"a sparse matrix of {kind}", "Convert it to numbers first")
    if X.ndim != 2:
        refuse("X", TWO_DIMENSIONS, f"{X.ndim} with shape {X.shape}", "Reshape your data")
    matrix = csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if max(matrix.shape[1], matrix.nnz) <= INT32_MAX:
        # scikit-learn's search is compiled for these.
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    _check_has_features(matrix.shape, "X")
    finite = np.isfinite(matrix.data)
    if not finite.all():
        entry = int(np.flatnonzero(~finite)[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right") - 1)
        _refuse_not_finite("X", matrix.data, f"{matrix.data[entry]} in row {row}, column {matrix.indices[entry]}")
    return matrix


def is_table(X: object) -> bool:
    """Whether X is a table with named columns, of pandas, polars or pyarrow."""
    return bool(_columns(X))


def output_kind(X: object) -> Any:
    """Kind of numbers that go out: float32 where X is all of it, else float64."""
    kinds = {kind for _, kind in _columns(X)} or {str(getattr(X, "dtype", ""))}
    # pyarrow calls it float, and its double double; NumPy the one of the other byte order >f4.
    return np.float32 if {kind.lower() for kind in kinds} <= {"float32", "float", ">f4", "<f4"} else np.float64


def _columns(X: Any) -> list[tuple[str, str]]:
    """Name and kind of each column of a table, in order; nothing for what is none."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "names") and hasattr(schema, "types"):
        named = zip(schema.names, schema.types() if callable(schema.types) else schema.types, strict=False)
    else:
        named = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [(str(name), str(kind)) for name, kind in named]


def _check_has_features(shape: tuple[int, ...], name: str) -> None:
    if shape[1] == 0:
        # The words in the middle are those that scikit-learn's common tests look for.
        got = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
        refuse(name, "must have features", got, "Check how X was read")


def _refuse_not_finite(name: str, values: FloatArray, first: str) -> None:
    counts = f"({np.isnan(values).sum()} NaN and {np.isinf(values).sum()} inf in all)"
    refuse(name, "must be finite", f"{first} {counts}", "Drop or impute such values")


def _as_float(X: ArrayLike, name: str) -> FloatArray:
    """Convert anything array-like, data frames included, to float64; kinds that are not numbers are refused."""
    if type(X) is np.ndarray and X.dtype == np.float64:
        return X
    from sklearn.utils import check_array  # noqa: PLC0415, a second to load, and nothing of above needs it

    _check_kind(X, name)
    anything = {"ensure_all_finite": False, "ensure_2d": False, "ensure_min_samples": 0, "ensure_min_features": 0}
    try:
        matrix: FloatArray = check_array(X, dtype=np.float64, allow_nd=True, **anything)
    except (TypeError, ValueError, OverflowError) as error:
        got = _described(X)
        if "complex" in str(error).lower():
            msg = f"{name} must be real, got {got} (Complex data not supported). Pass X.real and X.imag as features."
            raise InputError(msg) from None
        reason = str(error).split(". ")[0].splitlines()[0].rstrip(".")
        msg = f"{name} {TABLE}, got {got} ({reason}). Drop or encode what is not a number."
        raise (InputTypeError if isinstance(error, TypeError) else InputError)(msg) from error
    return matrix


def _check_kind(X: ArrayLike, name: str) -> None:
    """Refuse what would convert to numbers without being a table of them."""
    if issparse(X):
        refuse(name, "must be a dense array", "a sparse matrix", f"Pass {name}.toarray()", InputTypeError)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        refuse(name, TABLE, f"a {type(X).__name__}, not yet run", f"Pass {name}.collect()", InputTypeError)
    names, kinds = [name for name, _ in _columns(X)], [kind for _, kind in _columns(X)]
    if any(kind.startswith("Sparse[") for kind in kinds):
        remedy = f"Pass {name}.sparse.to_coo()"
        refuse(name, "must be a table of plain columns", "sparse ones", remedy, InputTypeError)
    if len({isinstance(column, str) for column in getattr(X, "columns", ())}) > 1:
        rule, remedy = "must have names of columns that are all text or none", f"Pass {name}.rename(columns=str)"
        refuse(name, rule, "both", remedy, InputTypeError)
    if len(set(names)) < len(names):
        repeated = next(one for one in names if names.count(one) > 1)
        rule = "must have a name of its own for each column"
        refuse(name, rule, f"{quoted(repeated)} more than once", "Rename one")
    if X is None:
        refuse(name, TABLE, "None", "Pass an array of samples x features", InputTypeError)
    if isinstance(X, np.matrix):
        rule = "must be an array or a table of numbers"
        refuse(name, rule, "an np.matrix", f"Pass np.asarray({name})", InputTypeError)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        got, remedy = f"a masked array with {np.sum(X.mask)} masked", "Fill them (X.filled) or drop their rows"
        refuse(name, "must have all its values", got, remedy, InputTypeError)
    if getattr(getattr(X, "dtype", None), "kind", "f") in "USmM":
        refuse(name, TABLE, _described(X), "Convert it to numbers first")


def _described(X: ArrayLike) -> str:
    """Kind of X, and of a data frame the columns that hold no numbers."""
    kind = getattr(X, "dtype", None)
    if kind is not None:
        return f"{type(X).__name__} of {kind}"
    others = [repr(name) for name, kind in _columns(X) if not kind.lower().startswith(NUMBERS)]
    return type(X).__name__ + (f" with columns {', '.join(others[:5])}" if others else "")
