"""X -> samples that the walk can work with: a dense array, a CSR array, or distances; and every message about them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from hne._samples import Distances, Samples
from hne._types import (
    INT32_MAX,
    PRECOMPUTED,
    Distinct,
    FloatArray,
    NeighborGraph,
    Settings,
    SparseMatrix,
    is_euclidean,
)
from hne.exceptions import InputError, InputTypeError

# Relative to the largest distance: what programs that sum in different order disagree by.
SYMMETRY = 1e-6
BLOCK_BYTES = 2**25
# How pandas, polars and pyarrow begin the names of their kinds of numbers.
NUMBERS = ("int", "uint", "float", "halffloat", "double", "bool", "decimal")
# From this share of stored entries on, a sparse matrix may be a full one whose zeros went unstored.
FULL = 0.5


def check_samples(X: ArrayLike, settings: Settings) -> Samples:
    """Return X as samples of float64: dense, CSR, or Distances where the metric is "precomputed"."""
    samples: Samples = _check_square(X) if settings.metric == PRECOMPUTED else _check_coordinates(X)
    n, n_features = samples.shape
    _check_sizes(n, n, settings)
    if settings.metric != PRECOMPUTED and settings.n_components > n_features:
        msg = (
            f"n_components={settings.n_components} needs at least {settings.n_components} features, "
            f"got n_features={n_features}. Lower n_components or pass more features."
        )
        raise InputError(msg)
    _check_fits_neighbors(samples, settings)
    return samples


def check_places(distinct: Distinct, settings: Settings) -> None:
    """Raise where there are too few distinct samples for the settings."""
    if distinct.n_places == 1:
        n = distinct.n_samples
        msg = f"X must have different samples, got {n} samples that are all equal. Check how X was read."
        raise InputError(msg)
    _check_sizes(distinct.n_samples, distinct.n_places, settings)


def _check_sizes(n: int, m: int, settings: Settings) -> None:
    """Raise where n samples, m of them different, are too few."""
    if n == 0:
        msg = "X must have samples, got n_samples=0. Check how X was read."
        raise InputError(msg)
    k, d = settings.n_neighbors, settings.n_components
    different, got = ("different ", f"n_samples={n}, {m} of them different") if m < n else ("", f"n_samples={n}")
    # Given neighborhoods may be as small as they like.
    if m <= k and not isinstance(settings.neighbors, NeighborGraph):
        msg = (
            f"n_neighbors={k} needs at least {k + 1} {different}samples, got {got}. "
            "Lower n_neighbors or pass more samples."
        )
        raise InputError(msg)
    if m <= d:
        msg = (
            f"n_components={d} needs at least {d + 1} {different}samples, got {got}. "
            "Lower n_components or pass more samples."
        )
        raise InputError(msg)


def check_new_samples(X: ArrayLike, fitted: Samples) -> Samples:
    """Return new samples to place, of the kind of the fitted ones, at least one row."""
    if isinstance(fitted, Distances):
        new: Samples = _check_distances(X)
    else:
        new = _check_coordinates(X)
        if issparse(fitted) != issparse(new):
            new = csr_array(new) if issparse(fitted) else new.toarray()
    if not new.shape[0]:
        msg = f"X must have samples, got 0 sample(s) (shape={new.shape}). Pass at least one row."
        raise InputError(msg)
    return new


def check_points(Y: ArrayLike, n_components: int) -> FloatArray:
    """Return points of the embedding as a float64 matrix of `n_components` columns."""
    points = check_matrix(Y, "Y")
    if points.shape[1] != n_components:
        msg = f"Y must have {n_components} columns, as the embedding, got {points.shape[1]}. Pass what transform gave."
        raise InputError(msg)
    if not len(points):
        msg = f"Y must have points, got 0 sample(s) (shape={points.shape}). Pass at least one row."
        raise InputError(msg)
    return points


def is_table(X: object) -> bool:
    """Whether X is a table with named columns, of pandas, polars or pyarrow."""
    return bool(_columns(X))


def output_kind(X: object) -> Any:
    """Kind of numbers that go out: float32 where X is all of it, else float64."""
    kinds = set(_columns(X).values()) or {str(getattr(X, "dtype", ""))}
    # pyarrow calls it float, and its double double; NumPy the one of the other byte order >f4.
    return np.float32 if {kind.lower() for kind in kinds} <= {"float32", "float", ">f4", "<f4"} else np.float64


def _columns(X: Any) -> dict[str, str]:
    """Name and kind of each column of a table; nothing for what is none."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "names") and hasattr(schema, "types"):
        named = zip(schema.names, schema.types() if callable(schema.types) else schema.types, strict=False)
    else:
        named = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return {str(name): str(kind) for name, kind in named}


def _check_coordinates(X: ArrayLike) -> FloatArray | SparseMatrix:
    return _check_sparse(X) if issparse(X) else check_matrix(X)


def _check_fits_neighbors(X: Samples, settings: Settings) -> None:
    """Refuse what the wanted search does not know."""
    graph = settings.neighbors
    if isinstance(graph, NeighborGraph):
        if graph.n_samples != X.shape[0]:
            n = X.shape[0]
            msg = f"neighbors must have a row for each of the {n} samples, got {graph.n_samples}. Pass the graph of X."
            raise InputError(msg)
    elif graph == "approximate" and (issparse(X) or isinstance(X, Distances)):
        kind = "distances" if isinstance(X, Distances) else "a sparse X"
        msg = f"neighbors='approximate' needs a dense X, got {kind}. Pass neighbors='auto'."
        raise InputError(msg)
    elif graph == "approximate" and not is_euclidean(settings.metric, settings.metric_params):
        msg = (
            f"neighbors='approximate' knows the Euclidean and the cosine metric, got metric={settings.metric!r}. "
            "Pass neighbors='auto'."
        )
        raise InputError(msg)


def _check_square(X: ArrayLike) -> Distances:
    """Return the distances of samples among each other: symmetric, with nothing between a sample and itself."""
    distances = _check_distances(X)
    if distances.shape[0] != distances.shape[1]:
        msg = (
            f"X must be square (distances of samples to each other) with metric='precomputed', got shape "
            f"{distances.shape}. Pass pairwise distances, or coordinates with another metric."
        )
        raise InputError(msg)
    if not distances.is_complete:
        return Distances(_with_copies(_symmetric(distances.matrix)))
    matrix = distances.matrix
    largest, block = float(matrix.max(initial=0.0)), max(1, BLOCK_BYTES // (8 * max(1, len(matrix))))
    itself = np.diagonal(matrix)
    if len(itself) and itself.max() > SYMMETRY * largest:
        row = int(itself.argmax())
        msg = (
            f"X must have zero distance of samples to themselves, got {itself[row]:.3g} in row {row}. "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    for start in range(0, len(matrix), block):
        off = np.abs(matrix[start : start + block] - matrix[:, start : start + block].T)
        if off.max() > SYMMETRY * largest:
            row, column = (int(number) for number in np.unravel_index(off.argmax(), off.shape))
            row += start
            msg = (
                f"X must be symmetric with metric='precomputed', got {matrix[row, column]:.6g} from sample {row} to "
                f"{column} and {matrix[column, row]:.6g} back. Pass X + X.T of a triangle, else (X + X.T) / 2."
            )
            raise InputError(msg)
    if itself.any():
        matrix = np.array(matrix)
        np.fill_diagonal(matrix, 0.0)
    return Distances(matrix)


def _symmetric(graph: SparseMatrix) -> SparseMatrix:
    """The graph with each distance known from both ends, and zero from a sample to itself."""
    n, entries = graph.shape[0], graph.tocoo()
    everyone = np.arange(n)
    rows = np.concatenate([entries.row, entries.col, everyone])
    columns = np.concatenate([entries.col, entries.row, everyone])
    values = np.concatenate([entries.data, entries.data, np.zeros(n)])
    values[rows == columns] = 0.0
    order = np.lexsort((values, columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[is_new], minlength=n))])
    return csr_array((values[is_new], columns[is_new], ends), shape=(n, n))


def _with_copies(graph: SparseMatrix) -> SparseMatrix:
    """A nearly full graph with the zeros that went unstored.

    Samples are copies if neither's distance to the other is stored, the same others are, and these are as far of both.
    """
    n = graph.shape[0]
    if graph.nnz == n * n or graph.nnz < FULL * n * n:
        return graph
    full = np.full(graph.shape, np.nan)
    full[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
    known = ~np.isnan(full)
    known[np.arange(n), np.arange(n)] = False
    alike: dict[bytes, list[int]] = {}
    for row in range(n):
        alike.setdefault(known[row].tobytes(), []).append(row)
    for members in alike.values():
        rows = np.array(members)
        others = known[rows[0]]
        if len(rows) > 1 and others.any() and not others[rows].any():
            values = full[np.ix_(rows, np.flatnonzero(others))]
            if np.ptp(values, axis=0).max() <= SYMMETRY * graph.data.max():
                full[np.ix_(rows, rows)] = 0.0
    known = ~np.isnan(full)
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return csr_array((full[known], np.nonzero(known)[1], ends), shape=graph.shape)


def _check_distances(X: ArrayLike) -> Distances:
    if getattr(X, "ndim", 2) == 1:
        msg = (
            "X must be a matrix of distances with metric='precomputed', got one dimension. Reshape your data: "
            "scipy.spatial.distance.squareform(X) of condensed distances, X.reshape(1, -1) for one sample."
        )
        raise InputError(msg)
    matrix: Any = _check_stored(X) if issparse(X) else check_matrix(X)
    values = matrix.data if issparse(matrix) else matrix
    if values.size and values.min() < 0:
        msg = (
            f"X must hold distances with metric='precomputed', got {values.min():.3g} (Negative values in data). "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    if issparse(matrix) and matrix.nnz > matrix.shape[0] and values.any() and (values[values > 0] == 1).all():
        msg = (
            "X as a graph must hold distances, got ones alone. Pass mode='distance' to KNeighborsTransformer, or fit "
            "the coordinates and pass the graph as neighbors=."
        )
        raise InputError(msg)
    return Distances(matrix)


def _check_sparse(X: SparseMatrix) -> SparseMatrix:
    """Return sparse samples as a CSR array of float64 without stored zeros."""
    matrix = _check_stored(X)
    _check_no_graph(matrix)
    matrix.eliminate_zeros()
    return matrix


def _check_no_graph(matrix: SparseMatrix) -> None:
    """Refuse what a neighbor search makes, and only it: square, equally many in each row, a diagonal of nothing.

    Or of ones alone, as all its other entries, where only who is a neighbor is told.
    """
    n, counts = matrix.shape[0], np.diff(matrix.indptr)
    if n != matrix.shape[1] or n < 2 or counts.min() != counts.max() or not 0 < counts[0] < n:
        return
    itself = matrix.diagonal()
    if (matrix.data >= 0).all() and ((itself == 0).all() or ((itself == 1).all() and (matrix.data == 1).all())):
        msg = (
            f"X must hold samples, got what looks like a graph of neighbors (square, {counts[0]} in every row). "
            "Pass metric='precomputed' for a graph of distances, or fit the samples and pass the graph as neighbors=."
        )
        raise InputError(msg)


def _check_stored(X: SparseMatrix) -> SparseMatrix:
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


def check_matrix(X: ArrayLike, name: str = "X") -> FloatArray:
    """Return X as a finite float64 matrix of samples x features; messages call it by its name."""
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
        named = f"{column}" if names is None else f"{names[column]!r}"
        raise _not_finite(name, matrix, matrix[row, column], row, named)
    return matrix


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
    if any(kind.startswith("Sparse[") for kind in _columns(X).values()):
        msg = f"{name} must be a table of plain columns, got sparse ones. Pass {name}.sparse.to_coo()."
        raise InputTypeError(msg)
    if len({isinstance(column, str) for column in getattr(X, "columns", ())}) > 1:
        msg = f"{name} must have names of columns that are all text or none, got both. Pass {name}.rename(columns=str)."
        raise InputTypeError(msg)
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
    others = [repr(name) for name, kind in _columns(X).items() if not kind.lower().startswith(NUMBERS)]
    return type(X).__name__ + (f" with columns {', '.join(others[:5])}" if others else "")
