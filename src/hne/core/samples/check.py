"""X -> samples that the pipeline can work with: dense, CSR, or distances; enough of them, and of one kind."""

from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import (
    INT32_MAX,
    FloatArray,
    IndexArray,
    NeighborGraph,
    SparseMatrix,
    UniqueSamples,
    is_euclidean,
    nearest_landmarks,
)
from hne.core.samples.kinds import Distances, Samples, csr_of_edges, is_dense, shortest_edges, stored_values
from hne.exceptions import InputError, InputTypeError, quoted, refuse
from hne.settings import PRECOMPUTED, Settings

REMEDY = "Pass what KNeighborsTransformer.fit_transform returns, or (indices, distances)"
# Relative to the largest distance: what programs that sum in different order disagree by.
SYMMETRY = 1e-6
BLOCK_BYTES = 2**25
# From this share of stored entries on, a sparse matrix may be a full one whose zeros went unstored.
FULL = 0.5
# How pandas, polars and pyarrow begin the names of their kinds of numbers.
NUMBERS = ("int", "uint", "float", "halffloat", "double", "bool", "decimal")
TWO_DIMENSIONS, TABLE = "must have two dimensions (samples, features)", "must be a table of numbers"


def check_graph(graph: Any) -> NeighborGraph:
    """Return the neighbors that are given for each sample; a sample may still be its own, or be listed twice."""
    if isinstance(graph, NeighborGraph):
        return graph
    if issparse(graph):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            refuse("neighbors", "as a sparse matrix must be square", f"shape {graph.shape}", REMEDY)
        if graph.dtype.kind not in "biuf":
            refuse("neighbors", "as a sparse matrix must hold distances", f"values of {graph.dtype}", REMEDY)
        graph = csr_array(graph, dtype=np.float64)
        counts = np.diff(graph.indptr)
        slots = np.arange(max(1, int(counts.max(initial=0)))) < counts[:, None]
        indices, lengths = np.full(slots.shape, -1, dtype=np.intp), np.full(slots.shape, np.inf)
        indices[slots], lengths[slots] = graph.indices, graph.data
    else:
        if not isinstance(graph, tuple | list) or len(graph) != 2:
            rule = "must be 'auto', 'exact', 'approximate' or a graph"
            refuse("neighbors", rule, type(graph).__name__, REMEDY, InputTypeError)
        kinds = [getattr(getattr(part, "dtype", None), "kind", "-") for part in graph]
        if kinds[0] == "f" and kinds[1] in "iu":
            refuse("neighbors", "must be (indices, distances)", "(distances, indices)", "Swap the two")
        indices, lengths = _check_indices(graph[0]), graph[1]
    return NeighborGraph(indices, _check_lengths(lengths, indices), "given")


def _check_indices(lists: Any) -> IndexArray:
    try:
        indices = np.asarray(lists)
    except ValueError:
        indices = np.empty(0)
    if indices.ndim != 2 or indices.dtype.kind not in "iu" or not indices.size:
        rule = "as (indices, distances) must have a row of sample numbers for each sample"
        got = f"indices of shape {indices.shape} and kind {indices.dtype}"
        refuse("neighbors", rule, got, "Fill short rows up with -1")
    if indices.min() < -1 or indices.max() >= len(indices):
        worst = int(indices.min() if indices.min() < -1 else indices.max())
        rule = f"must be numbers of samples from 0 to {len(indices) - 1}, or -1 for none"
        refuse("neighbors", rule, f"{worst}", "Pass a graph of X itself")
    return indices.astype(np.intp)


def _check_lengths(lengths: Any, indices: IndexArray) -> FloatArray:
    """Return distances that belong to the indices; None stands for unknown ones, all alike."""
    if lengths is None:
        return np.where(indices >= 0, 1.0, np.inf)
    try:
        distances = np.asarray(lengths, dtype=np.float64)
    except (TypeError, ValueError):
        distances = np.empty(0)
    if distances.shape != indices.shape:
        rule = "as (indices, distances) must have two arrays of one shape"
        got = f"{indices.shape} and {distances.shape}"
        refuse("neighbors", rule, got, "Pass (indices, None) to have distances measured")
    known = distances[indices >= 0]
    is_wrong = ~((known >= 0) & np.isfinite(known))
    if is_wrong.any():
        refuse("neighbors", "must have finite distances of zero and more", f"{known[is_wrong][0]}", REMEDY)
    return np.where(indices >= 0, distances, np.inf)


def check_square(X: ArrayLike) -> Distances:
    """Return the distances of samples among each other: symmetric, with nothing between a sample and itself."""
    distances = check_distances(X)
    if distances.shape[0] != distances.shape[1]:
        rule = "must be square (distances of samples to each other) with metric='precomputed'"
        remedy = "Pass pairwise distances, or coordinates with another metric"
        refuse("X", rule, f"shape {distances.shape}", remedy)
    matrix = distances.matrix
    if not distances.is_complete:
        # Each distance known from both ends, and zero from a sample to itself.
        n, entries, everyone = matrix.shape[0], matrix.tocoo(), np.arange(matrix.shape[0])
        rows = np.concatenate([entries.row, entries.col, everyone])
        columns = np.concatenate([entries.col, entries.row, everyone])
        values = np.concatenate([entries.data, entries.data, np.zeros(n)])
        values[rows == columns] = 0.0
        return Distances(_with_copies(csr_of_edges(*shortest_edges(rows, columns, values), (n, n))))
    largest, block = float(matrix.max(initial=0.0)), max(1, BLOCK_BYTES // (8 * max(1, len(matrix))))
    itself = np.diagonal(matrix)
    if len(itself) and itself.max() > SYMMETRY * largest:
        row = int(itself.argmax())
        rule, got = "must have zero distance of samples to themselves", f"{itself[row]:.3g} in row {row}"
        refuse("X", rule, got, "Pass distances, not similarities")
    for start in range(0, len(matrix), block):
        off = np.abs(matrix[start : start + block] - matrix[:, start : start + block].T)
        if off.max() > SYMMETRY * largest:
            row, column = (int(number) for number in np.unravel_index(off.argmax(), off.shape))
            row += start
            got = f"{matrix[row, column]:.6g} from sample {row} to {column} and {matrix[column, row]:.6g} back"
            remedy = "Pass X + X.T of a triangle, else (X + X.T) / 2"
            refuse("X", "must be symmetric with metric='precomputed'", got, remedy)
    if itself.any():
        matrix = np.array(matrix)
        np.fill_diagonal(matrix, 0.0)
    return Distances(matrix)


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
    np.fill_diagonal(known, val=False)
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
    rows, columns = np.nonzero(~np.isnan(full))
    return csr_of_edges(rows, columns, full[rows, columns], graph.shape)


def check_distances(X: ArrayLike) -> Distances:
    """Return X as distances, full or as a graph of those that are known."""
    if getattr(X, "ndim", 2) == 1:
        square = "scipy.spatial.distance.squareform(X) of condensed distances"
        remedy = f"Reshape your data: {square}, X.reshape(1, -1) for one sample"
        refuse("X", "must be a matrix of distances with metric='precomputed'", "one dimension", remedy)
    distances = Distances(check_stored(X) if issparse(X) else check_matrix(X))
    values = stored_values(distances)
    if values.size and values.min() < 0:
        got, remedy = f"{values.min():.3g} (Negative values in data)", "Pass distances, not similarities"
        refuse("X", "must hold distances with metric='precomputed'", got, remedy)
    is_graph = not distances.is_complete and distances.matrix.nnz > distances.shape[0]
    if is_graph and values.any() and (values[values > 0] == 1).all():
        instead = "fit the coordinates and pass the graph as neighbors="
        remedy = f"Pass mode='distance' to KNeighborsTransformer, or {instead}"
        refuse("X", "as a graph must hold distances", "ones alone", remedy)
    return distances


def check_samples(X: ArrayLike, settings: Settings) -> Samples:
    """Return X as samples of float64: dense, CSR, or Distances where the metric is "precomputed"."""
    samples: Samples = check_square(X) if settings.metric == PRECOMPUTED else _check_coordinates(X)
    check_shape(samples.shape, settings)
    if settings.n_landmarks is not None and issparse(samples):
        remedy = "Reduce its features to a few first, or leave n_landmarks out"
        got = f"n_landmarks={settings.n_landmarks} and a sparse matrix"
        refuse("n_landmarks", "needs a dense X", got, remedy)
    check_neighbors(samples, settings)
    return samples


def check_shape(shape: tuple[int, int], settings: Settings) -> None:
    """Raise where there are too few samples or features for the settings."""
    n, n_features = shape
    _check_sizes(n, n, settings)
    d = settings.n_components
    if settings.metric != PRECOMPUTED and d > n_features:
        remedy = "Lower n_components or pass more features"
        refuse(f"n_components={d}", f"needs at least {d} features", f"n_features={n_features}", remedy)
    for name, pairs in (("cut_edges", settings.cut_edges), ("keep_edges", settings.keep_edges)):
        beyond = next((pair for pair in pairs or () if pair[1] >= n), None)
        if beyond is not None:
            refuse(name, f"must be pairs of samples from 0 to {n - 1}", f"{beyond}", "Pass rows of X, counted from 0")


def check_places(distinct: UniqueSamples, settings: Settings) -> None:
    """Raise where there are too few distinct samples for the settings."""
    n = distinct.n_samples
    if distinct.n_places == 1:
        refuse("X", "must have different samples", f"{n} samples that are all equal", "Check how X was read")
    _check_sizes(n, distinct.n_places, settings)
    if settings.cut_edges and settings.keep_edges:
        first = distinct.same_as
        lists = (np.sort(first[np.array(pairs)], axis=1) for pairs in (settings.cut_edges, settings.keep_edges))
        check_decided_once(*([(one, other) for one, other in pairs.tolist() if one < other] for pairs in lists))


def check_decided_once(cut: Collection[tuple[int, int]], kept: Collection[tuple[int, int]]) -> None:
    """Raise where an edge is to be cut and to be kept."""
    both = sorted({*cut} & {*kept})
    if both:
        remedy = "Leave it out of one of them"
        refuse("keep_edges", "must have no edge of cut_edges", f"{both[0]} in both", remedy)


def _check_sizes(n: int, m: int, settings: Settings) -> None:
    """Raise where n samples, m of them different, are too few."""
    k, d, landmarks = settings.n_neighbors, settings.n_components, settings.n_landmarks
    if n == 0:
        refuse("X", "must have samples", "n_samples=0", "Check how X was read")
    # Of n_neighbors nobody has to have said anything.
    if n == k == 1:
        refuse("X", "must have at least 2 samples", "n_samples=1", "Pass more samples")
    different, got = ("different ", f"n_samples={n}, {m} of them different") if m < n else ("", f"n_samples={n}")
    # Given neighborhoods may be as small as they like.
    if m <= k and not isinstance(settings.neighbors, NeighborGraph):
        remedy = "Lower n_neighbors or pass more samples"
        refuse(f"n_neighbors={k}", f"needs at least {k + 1} {different}samples", got, remedy)
    if m <= d:
        remedy = "Lower n_components or pass more samples"
        refuse(f"n_components={d}", f"needs at least {d + 1} {different}samples", got, remedy)
    if landmarks is not None and landmarks >= m:
        remedy = "Leave n_landmarks out: so few samples are embedded without"
        refuse(f"n_landmarks={landmarks}", f"needs at least {landmarks + 1} {different}samples", got, remedy)
    if landmarks is not None and landmarks <= nearest_landmarks(d):
        rule = f"must be at least {nearest_landmarks(d) + 1} with n_components={d}"
        refuse("n_landmarks", rule, f"{landmarks}", "Try a hundredth of the samples, or more")


def check_new_samples(X: ArrayLike, fitted: Samples) -> Samples:
    """Return new samples to place, of the kind of the fitted ones, at least one row."""
    new: Samples = check_distances(X) if isinstance(fitted, Distances) else _check_coordinates(X)
    if issparse(fitted) != issparse(new):
        new = csr_array(new) if issparse(fitted) else new.toarray()
    if not new.shape[0]:
        refuse("X", "must have samples", f"0 sample(s) (shape={new.shape})", "Pass at least one row")
    return new


def check_points(Y: ArrayLike, n_components: int) -> FloatArray:
    """Return points of the embedding as a float64 matrix of `n_components` columns."""
    points = check_matrix(Y, "Y")
    if points.shape[1] != n_components:
        rule = f"must have {n_components} columns, as the embedding"
        refuse("Y", rule, f"{points.shape[1]}", "Pass what transform gave")
    if not len(points):
        refuse("Y", "must have points", f"0 sample(s) (shape={points.shape})", "Pass at least one row")
    return points


def check_neighbors(X: Samples, settings: Settings) -> None:
    """Refuse what the wanted search does not know."""
    graph, n = settings.neighbors, X.shape[0]
    if isinstance(graph, NeighborGraph):
        if graph.n_samples != n:
            rule = f"must have a row for each of the {n} samples"
            refuse("neighbors", rule, f"{graph.n_samples}", "Pass the graph of X")
    elif graph == "approximate" and not is_dense(X):
        kind = "distances" if isinstance(X, Distances) else "a sparse X"
        refuse("neighbors='approximate'", "needs a dense X", kind, "Pass neighbors='auto'")
    elif graph == "approximate" and not is_euclidean(settings.metric, settings.metric_params):
        rule = "knows the Euclidean and the cosine metric"
        refuse("neighbors='approximate'", rule, f"metric={quoted(settings.metric)}", "Pass neighbors='auto'")


def _check_coordinates(X: ArrayLike) -> FloatArray | SparseMatrix:
    """Return samples as a matrix of float64; sparse ones as a CSR array without stored zeros, and no graph."""
    if not issparse(X):
        return check_matrix(X)
    matrix = check_stored(X)
    n, counts = matrix.shape[0], np.diff(matrix.indptr)
    # What a neighbor search makes, and only it: square, equally many in each row, and a diagonal of nothing; or of
    # ones alone, as all its other entries, where only who is a neighbor is told.
    if n == matrix.shape[1] and n > 1 and counts.min() == counts.max() and 0 < counts[0] < n:
        itself, is_distance = matrix.diagonal(), (matrix.data >= 0).all()
        if is_distance and ((itself == 0).all() or ((itself == 1).all() and (matrix.data == 1).all())):
            instead = "fit the samples and pass the graph as neighbors="
            remedy = f"Pass metric='precomputed' for a graph of distances, or {instead}"
            got = f"what looks like a graph of neighbors (square, {counts[0]} in every row)"
            refuse("X", "must hold samples", got, remedy)
    matrix.eliminate_zeros()
    return matrix


def check_matrix(X: ArrayLike, name: str = "X", first_row: int = 0) -> FloatArray:
    """Return X as a finite float64 matrix of samples x features; messages call it by its name, rows from the first."""
    matrix = X if type(X) is np.ndarray and X.dtype == np.float64 else _as_float(X, name)
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


def _refuse_not_finite(name: str, values: FloatArray, first: str) -> NoReturn:
    counts = f"({np.isnan(values).sum()} NaN and {np.isinf(values).sum()} inf in all)"
    refuse(name, "must be finite", f"{first} {counts}", "Drop or impute such values")


def _as_float(X: ArrayLike, name: str) -> FloatArray:
    """Convert anything array-like, data frames included, to float64; kinds that are not numbers are refused."""
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
