"""What a fit made -> scalars and arrays, and back, every number checked that later code relies on."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hne.core.records import (
    PRECOMPUTED,
    ROUTES,
    Certificate,
    Chart,
    Core,
    EigenPairs,
    Embedding,
    FloatArray,
    IndexArray,
    NeighborGraph,
    Pieces,
    Rescaled,
    Settings,
    SparseMatrix,
    UniqueSamples,
    Weights,
)
from hne.core.samples.kinds import Distances, Samples
from hne.core.samples.scaling import FARTHEST, ORDINARY, InputScaling
from hne.estimators.model_file.archive import Archive
from hne.estimators.model_file.values import Arrays, graph_from, number, packed, share

Scalars = dict[str, Any]

KERNELS = ("numpy", "numba")
DTYPES = {"float32": np.float32, "float64": np.float64}
# The numbers of a piece's eigenpairs and their certificate: an array of each, an entry for each piece.
OF_A_PIECE = ("next_value", "gap", "rounding", "resolution", "orthogonality", "ritz_error", "last_move")
# Samples and what is of their size, in the units of the walk; and lengths of ways among them.
LARGEST, LONGEST = 2.0**ORDINARY, 2.0**FARTHEST
# How far weights of a row may be from one in sum, in units of their sizes: some digits more than rounding takes.
SUM_ERROR = 1e-9
# Those that files of earlier versions lack.
LATER = {"last_move": 0.0}


def walk_parts(fitted: Embedding) -> tuple[Scalars, Arrays]:
    """Scalars and arrays of an embedding, all of it over places."""
    core, distinct, units = fitted.core, fitted.distinct, fitted.units
    is_distances = isinstance(core.X, Distances)
    X = core.X.matrix if is_distances else core.X
    d = core.Y.shape[1]
    arrays: Arrays = {
        "Y": core.Y,
        "place": _int64(distinct.inverse),
        "first": _int64(distinct.index),
        "neighbors.indices": _int64(core.graph.indices),
        "neighbors.distances": core.graph.distances,
        "pieces.labels": _int64(core.pieces.labels),
        "pieces.sizes": _int64(core.pieces.sizes),
        "reconstruction_errors": core.reconstruction_errors,
        **_csr_parts("W", core.weights.W),
        **_csr_parts("J", core.weights.J),
        **({"X": X} if isinstance(X, np.ndarray) else _csr_parts("X", X)),
        **({} if units.origin is None else {"units.origin": units.origin}),
        **eigen_parts(core.parts, core.Y),
        **_rescaled_parts(core.rescaled, d),
        "short_circuits": _int64(core.short_circuits),
    }
    scalars = {
        "dtype": np.dtype(fitted.dtype).name,
        "samples": ("distances" if is_distances else "coordinates"),
        "is_sparse": not isinstance(X, np.ndarray),
        "is_moved": units.origin is not None,
        "scale": units.scale,
        "kernel": core.weights.kernel,
        "neighbor_method": core.graph.method,
        "neighbor_recall": packed("recall", core.graph.recall, {}),
        "eigen_solvers": [None if pairs is None else pairs.solver for pairs in core.parts],
        "charts": [
            None if one is None else {"route": one.route, "n_put_back": one.n_put_back} for one in core.rescaled.charts
        ],
        "is_refused": core.rescaled.is_refused,
    }
    return scalars, arrays


def _rescaled_parts(rescaled: Rescaled, d: int) -> Arrays:
    """Coordinates in the lengths of X, matrices of the pieces one below the other, and numbers of their charts."""
    matrices = [np.empty((0, d)) if A is None else A for A in rescaled.matrices]
    charts = [one for one in rescaled.charts if one is not None]
    return {
        "rescaled.Y": rescaled.Y,
        "rescaled.A": np.concatenate(matrices),
        "rescaled.ends": np.cumsum([0, *map(len, matrices)], dtype=np.int64),
        "chart.stress": np.array([[one.stress, one.way_stress] for one in charts]).reshape(-1, 2),
        "chart.spectrum": np.concatenate([np.empty(0), *(one.spectrum for one in charts)]),
    }


def _int64(numbers: IndexArray) -> Any:
    return numbers.astype(np.int64, copy=False)


def _csr_parts(name: str, matrix: SparseMatrix) -> Arrays:
    return {f"{name}.data": matrix.data, f"{name}.indices": matrix.indices, f"{name}.indptr": matrix.indptr}


def eigen_parts(parts: Sequence[EigenPairs | None], Y: FloatArray) -> Arrays:
    """Eigenpairs of all pieces, one below the other; a piece without any has NaN and no rows of vectors."""
    m = max([Y.shape[1], *(len(pairs.values) for pairs in parts if pairs is not None)])
    lengths = [0 if pairs is None else len(pairs.vectors) for pairs in parts]
    found: Arrays = {
        "eigen.values": np.array([_widened(None if pairs is None else pairs.values, m) for pairs in parts]),
        "eigen.residuals": np.array([_widened(None if pairs is None else pairs.residuals, m) for pairs in parts]),
        "eigen.ends": np.cumsum([0, *lengths], dtype=np.int64),
    }
    for name in OF_A_PIECE:
        home = [None if pairs is None else pairs if name == "next_value" else pairs.certificate for pairs in parts]
        found[f"eigen.{name}"] = np.array([np.nan if one is None else getattr(one, name) for one in home])
    vectors = [pairs.vectors for pairs in parts if pairs is not None]
    # With one piece they are the embedding.
    if not (len(vectors) == 1 and vectors[0] is Y):
        wide = [np.pad(one, ((0, 0), (0, m - one.shape[1]))) for one in vectors]
        found["eigen.vectors"] = np.concatenate([np.empty((0, m)), *wide])
    return found


def _widened(numbers: FloatArray | None, m: int) -> FloatArray:
    """Numbers of a piece, with NaN behind the last."""
    found = np.empty(0) if numbers is None else numbers
    return np.pad(found, (0, m - len(found)), constant_values=np.nan)


def walk_from(archive: Archive, settings: Settings) -> Embedding:
    """The embedding that `walk_parts` took apart."""
    n = len(archive.array("place", "i8", (None,)))
    m = len(archive.array("first", "i8", (None,)))
    distinct = UniqueSamples(archive.indices("first", (m,), 0, n), archive.indices("place", (n,), 0, m))
    if not m or (distinct.inverse[distinct.index] != np.arange(m)).any():
        archive.refuse("arrays 'first' and 'place' must belong together")
    Y = archive.array("Y", "f8", (m, settings.n_components))
    if m <= settings.n_neighbors and not isinstance(settings.neighbors, NeighborGraph):
        archive.refuse(f"n_neighbors={settings.n_neighbors} does not go with its {m} samples")
    has_place = ~np.isnan(Y)
    if np.isinf(Y).any():
        archive.refuse("array 'Y' must be finite where samples are embedded, got inf")
    archive.check_size("Y", Y, LARGEST)
    if (has_place.any(axis=1) != has_place.all(axis=1)).any():
        archive.refuse("array 'Y' must have coordinates in all columns of a row, or in none")
    kernel = _choice(archive, "kernel", KERNELS)
    weights = Weights(_weights(archive, "W", m), _weights(archive, "J", m), kernel)
    dtype = DTYPES[_choice(archive, "dtype", tuple(DTYPES))]
    X, units = _samples_from(archive, m, n, settings)
    errors = archive.known("reconstruction_errors", (m,))
    parts = eigen_from(archive, Y)
    rescaled = _rescaled_from(archive, Y, parts)
    circuits = np.empty((0, 2), dtype=np.intp)
    if "short_circuits" in archive.arrays:
        circuits = archive.indices("short_circuits", (None, 2), 0, m)
    core = Core(X, _graph(archive, m), _pieces(archive, m), weights, parts, Y, errors, rescaled, circuits)
    return Embedding(settings, distinct, units, core, dtype)


def _choice(archive: Archive, key: str, choices: tuple[str, ...]) -> str:
    value: str = archive.entry(key, str)
    if value not in choices:
        archive.refuse(f"'{key}' in its header must be one of {', '.join(choices)}, got {value!r:.40}")
    return value


def _weights(archive: Archive, name: str, n: int) -> SparseMatrix:
    archive.finite(f"{name}.data", (None,), LARGEST)
    matrix = archive.csr(name, (n, n))
    sums, sizes = matrix.sum(axis=1), np.abs(matrix).sum(axis=1)
    if not ((np.abs(sums - 1) <= SUM_ERROR * sizes) | (sizes == 0)).all():
        archive.refuse(f"array '{name}.data' must hold weights that sum to one in each row")
    return matrix


def _samples_from(archive: Archive, m: int, n: int, settings: Settings) -> tuple[Samples, InputScaling]:
    """The samples at their places, and the units that they are in."""
    is_distances = _choice(archive, "samples", ("coordinates", "distances")) == "distances"
    is_sparse, is_moved = archive.entry("is_sparse", bool), archive.entry("is_moved", bool)
    n_features = archive.entry("n_features_in", int)
    if is_distances != (settings.metric == PRECOMPUTED) or (is_distances and n_features != n):
        archive.refuse(f"its samples do not go with metric={settings.metric!r:.40}")
    width = m if is_distances else n_features
    archive.finite("X.data" if is_sparse else "X", (None,) if is_sparse else (m, width), LARGEST)
    X = archive.csr("X", (m, width)) if is_sparse else archive.arrays["X"]
    scale = number(archive, "scale")
    if not 0 < scale < np.inf or np.frexp(scale)[0] != 0.5:  # as frexp writes powers of two
        archive.refuse(f"'scale' in its header must be a power of two, got {scale}")
    if is_moved and (is_sparse or is_distances):
        archive.refuse("'is_moved' in its header must be false for what is not moved")
    origin = archive.finite("units.origin", (width,)) if is_moved else None
    return Distances(X) if is_distances else X, InputScaling(origin, scale)


def _graph(archive: Archive, m: int) -> NeighborGraph:
    """The neighbors of every place. Kernels take it as it is: a list ends where its first -1 is."""
    archive.array("neighbors.indices", "i8", (m, None))
    method = archive.entry("neighbor_method", str)
    graph = graph_from(archive, "neighbors", method, share(archive, "neighbor_recall"))
    absent = graph.indices < 0
    if (absent[:, :-1] & ~absent[:, 1:]).any() or (graph.indices == np.arange(m)[:, None]).any():
        archive.refuse("array 'neighbors.indices' must list other samples, and -1 behind the last")
    return graph


def _pieces(archive: Archive, m: int) -> Pieces:
    sizes = archive.indices("pieces.sizes", (None,), 1, m + 1)
    labels = archive.indices("pieces.labels", (m,), 0, len(sizes))
    if (np.bincount(labels, minlength=len(sizes)) != sizes).any():
        archive.refuse("arrays 'pieces.labels' and 'pieces.sizes' must belong together")
    if (sizes[1:] > sizes[:-1]).any():
        archive.refuse("array 'pieces.sizes' must have the largest piece first")
    return Pieces(labels, sizes)


def eigen_from(archive: Archive, Y: FloatArray) -> tuple[EigenPairs | None, ...]:
    """The eigenpairs that `eigen_parts` took apart."""
    solvers, d = archive.entry("eigen_solvers", list), Y.shape[1]
    count = len(solvers)
    if not count or any(solver is not None and not isinstance(solver, str) for solver in solvers):
        archive.refuse("'eigen_solvers' in its header must name a solver for each piece")
    has_own = "eigen.vectors" in archive.arrays
    vectors = archive.array("eigen.vectors", "f8", (None, None)) if has_own else Y
    m = vectors.shape[1]
    if m < d:
        archive.refuse(f"array 'eigen.vectors' must have {d} columns at least")
    ends = archive.indices("eigen.ends", (count + 1,), 0, len(vectors) + 1)
    if ends[0] != 0 or ends[-1] != len(vectors) or (ends[1:] < ends[:-1]).any():
        archive.refuse(f"array 'eigen.ends' must ascend from 0 to {len(vectors)}")
    values, residuals = (archive.array(f"eigen.{name}", "f8", (count, m)) for name in ("values", "residuals"))
    of_a_piece = {name: _of_pieces(archive, name, count) for name in OF_A_PIECE}
    parts: list[EigenPairs | None] = []
    for piece, solver in enumerate(solvers):
        if solver is None:
            parts.append(None)
            continue
        numbers = {name: float(entries[piece]) for name, entries in of_a_piece.items()}
        next_value = numbers.pop("next_value")
        # All rows where there is one piece: the embedding itself, not a view of it.
        own = vectors if count == 1 else vectors[ends[piece] : ends[piece + 1]]
        width = int(np.isfinite(values[piece]).sum())
        if width < d or not np.isfinite(values[piece, :width]).all():
            archive.refuse(f"array 'eigen.values' must have {d} numbers at least for a piece, and NaN behind the last")
        own = own if width == m else own[:, :width]
        _check_piece(archive, values[piece, :width], residuals[piece, :width], {**numbers, "next_value": next_value})
        if has_own and not (np.abs(own) <= LARGEST).all():
            archive.refuse("array 'eigen.vectors' must hold entries of unit vectors")
        proof = Certificate(residuals[piece, :width], **numbers)
        parts.append(EigenPairs(values[piece, :width], own, next_value, solver, proof))
    return tuple(parts)


def _check_piece(archive: Archive, values: FloatArray, residuals: FloatArray, numbers: dict[str, float]) -> None:
    """Refuse what eigenvalues, their residuals and the other numbers of a piece cannot be."""
    if (values < 0).any() or (values[1:] < values[:-1]).any():
        archive.refuse("array 'eigen.values' must ascend from zero or more")
    for name, found in {"residuals": residuals, **numbers}.items():
        if not np.all(np.asarray(found) >= 0):
            archive.refuse(f"array 'eigen.{name}' must hold numbers of zero and more")


def _of_pieces(archive: Archive, name: str, count: int) -> FloatArray:
    """A number of each piece."""
    if name in LATER and f"eigen.{name}" not in archive.arrays:
        return np.full(count, LATER[name])
    return archive.array(f"eigen.{name}", "f8", (count,))


def _rescaled_from(archive: Archive, Y: FloatArray, parts: Sequence[EigenPairs | None]) -> Rescaled:
    """The coordinates in the lengths of X, and how they were found; of a file without any, others stand for them."""
    d, count = Y.shape[1], len(parts)
    if "rescaled.Y" not in archive.arrays:
        return Rescaled(Y, (None,) * count)
    lengths = archive.array("rescaled.Y", "f8", Y.shape)
    if (np.isnan(lengths) != np.isnan(Y)).any() or np.isinf(lengths).any():
        archive.refuse("array 'rescaled.Y' must have coordinates where 'Y' has")
    archive.check_size("rescaled.Y", lengths, LONGEST)
    rows = archive.finite("rescaled.A", (None, d), LONGEST)
    ends = archive.indices("rescaled.ends", (count + 1,), 0, len(rows) + 1)
    if ends[0] != 0 or ends[-1] != len(rows) or (ends[1:] < ends[:-1]).any():
        archive.refuse(f"array 'rescaled.ends' must ascend from 0 to {len(rows)}")
    matrices = [rows[start:stop] if stop > start else None for start, stop in pairwise(ends)]
    charts = _charts_from(archive, matrices)
    for A, chart, pairs in zip(matrices, charts or [None] * count, parts, strict=True):
        if A is not None and (pairs is None or len(A) != (d if chart is None else len(pairs.values))):
            archive.refuse("array 'rescaled.A' must have a row for each eigenvector that coordinates are made of")
    return Rescaled(lengths, tuple(matrices), charts, archive.entry("is_refused", bool))


def _charts_from(archive: Archive, matrices: Sequence[FloatArray | None]) -> tuple[Chart | None, ...]:
    """How the coordinates of each piece were found: their numbers are those of all charts, one after the other."""
    facts = archive.entry("charts", list)
    there = [A for A, fact in zip(matrices, facts, strict=False) if fact is not None]
    if len(facts) not in {0, len(matrices)} or any(A is None for A in there) or not all(map(_is_chart, facts)):
        archive.refuse("'charts' in its header must say of each piece how its chart was found")
    stresses = archive.array("chart.stress", "f8", (len(there), 2))
    ends = np.cumsum([0, *(0 if A is None else len(A) for A in there)])
    spectra = archive.finite("chart.spectrum", (int(ends[-1]),))
    if not (stresses[:, 0] >= 0).all() or (stresses[:, 1] < 0).any() or (spectra < 0).any():
        archive.refuse("arrays 'chart.stress' and 'chart.spectrum' must hold numbers of zero and more")
    found = iter(zip(stresses.tolist(), pairwise(ends), strict=True))
    charts: list[Chart | None] = []
    for fact, A in zip(facts, matrices, strict=False):
        if fact is None or A is None:
            charts.append(None)
            continue
        (stress, way_stress), (start, stop) = next(found)
        charts.append(Chart(fact["route"], A, stress, spectra[start:stop], way_stress, fact["n_put_back"]))
    return tuple(charts)


def _is_chart(fact: Any) -> bool:
    """Whether that is what a header has of a chart, or of a piece without one."""
    if fact is None:
        return True
    count = fact.get("n_put_back") if isinstance(fact, dict) else None
    return isinstance(count, int) and not isinstance(count, bool) and count >= 0 and fact.get("route") in ROUTES


# Attributes of a fitted LinearHNE: arrays of float64 by their shape in letters, n samples, D features, d components.
LINEAR_ARRAYS = {"components": "dD", "loadings": "dD", "mean": "D", "eigenvalues": "d"}


def linear_parts(model: Any) -> tuple[Scalars, Arrays]:
    """Scalars and arrays of a fitted LinearHNE."""
    arrays: Arrays = {name: getattr(model, f"{name}_") for name in LINEAR_ARRAYS}
    arrays["embedding"] = model.embedding_
    arrays |= _csr_parts("W", model.inner_weights_) | _csr_parts("J", model.joint_weights_)
    arrays["short_circuits"] = _int64(model.short_circuits_)
    scalars = {
        "rank": int(model.rank_),
        "neighbor_method": model.neighbor_method_,
        "neighbor_recall": packed("recall", model.neighbor_recall_, {}),
    }
    return scalars, arrays


def linear_from(archive: Archive) -> dict[str, Any]:
    """The fitted attributes that `linear_parts` wrote down."""
    n, d = archive.array("embedding", "f4 f8", (None, None)).shape
    lengths = {"d": d, "D": archive.entry("n_features_in", int)}
    attributes: dict[str, Any] = {
        f"{name}_": archive.array(name, "f8", tuple(lengths[letter] for letter in letters))
        for name, letters in LINEAR_ARRAYS.items()
    }
    for name in LINEAR_ARRAYS:
        archive.finite(name, attributes[f"{name}_"].shape)
    if not np.isfinite(archive.arrays["embedding"]).all():
        archive.refuse("array 'embedding' must be finite, got inf or NaN")
    rank = archive.entry("rank", int)
    if not d <= rank <= lengths["D"]:
        archive.refuse(f"'rank' in its header must be between {d} and {lengths['D']}, got {rank}")
    circuits = np.empty((0, 2), dtype=np.intp)
    if "short_circuits" in archive.arrays:
        circuits = archive.indices("short_circuits", (None, 2), 0, n)
    return attributes | {
        "short_circuits_": circuits,
        "embedding_": archive.arrays["embedding"],
        "rank_": rank,
        "inner_weights_": _weights(archive, "W", n),
        "joint_weights_": _weights(archive, "J", n),
        "neighbor_method_": archive.entry("neighbor_method", str),
        "neighbor_recall_": share(archive, "neighbor_recall"),
    }
