"""A random generator -> parameters: sound ones at the edges of what is allowed, and unsound ones."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import VALID_METRICS

from hne.settings import COORDINATES, EIGEN_SOLVERS, VARIANTS, known_settings

SHORT_CIRCUITS, PIECE_POLICIES = (known_settings()[name].choices for name in ("short_circuits", "pieces"))


def sound(rng, n, n_features):
    """Parameters that are allowed for most data of this size, at the edges as often as in the middle."""
    most = max(1, n - 1)
    few = int(rng.integers(1, 11))
    # Time grows with k^4.
    edges = [few, few, few, 1, 2, most, max(1, n - 2), max(1, n // 2)]
    k = few if n > 70 or (n > 30 and rng.random() < 0.9) else int(rng.choice(edges))
    small = int(rng.integers(1, 1 + max(1, min(3, n_features))))
    d = int(rng.choice([small] * 6 + [1, max(1, n_features), min(max(1, n_features), most), most]))
    chosen = {
        "n_neighbors": k if rng.random() < 0.6 else None,
        "n_components": d,
        "variant": str(rng.choice(VARIANTS)),
        "reg": 10.0 ** rng.choice([-4, -4, -12, -9, -5, -2, 0, 3]),
        "outer_reg": rng.choice([None, 1e-4, 1e-12, 1e3]),
        "gamma": float(rng.choice([1.0, 1.0, 1e-6, 1e6])),
        "n_rounds": int(rng.integers(4)),
        "include_self": bool(rng.integers(2)),
        "short_circuits": str(rng.choice(SHORT_CIRCUITS)),
        "pieces": str(rng.choice([*PIECE_POLICIES, "separate", "separate"])),
        "coordinates": str(rng.choice(COORDINATES)),
        "eigen_solver": str(rng.choice([*EIGEN_SOLVERS, "auto"])),
        "n_jobs": rng.choice([None, 1, 2, -1]),
    }
    # A parameter or two at a time: with all of them strange at once, one hides what the others do.
    for name in list(chosen):
        if name not in {"n_neighbors", "n_components", "eigen_solver", "pieces"} and rng.random() < 0.5:
            del chosen[name]
    return chosen


WRONG = {
    "n_neighbors": [0, -1, 2.5, 5.0, "6", None, True, np.nan, 10**30, np.int8(3), np.float64(5), np.array(3), [3]],
    "n_components": [0, -1, 1.5, 2.0, "2", None, True, 10**30, np.int64(2), [1, 2]],
    "variant": ["HNE", "BHNE", "", None, 3, b"bhne", ["bhne"], np.str_("ihne")],
    "reg": [0, -1.0, 1e-13, 1e13, np.nan, np.inf, "1", None, True, 1e-400, 10**400, np.float32(1e-3), 1j, [1e-4]],
    "outer_reg": [0, -1.0, np.nan, np.inf, "1", True, 10**400, np.array(1e-3)],
    "gamma": [0, -1.0, np.nan, np.inf, "1", None, 10**400, 1e-12, 1e12],
    "n_rounds": [-1, 0.5, "1", None, True, 50],
    "include_self": [0, 1, "yes", None, np.bool_(False)],
    "metric_params": [3, "p", {}, {"p": 3}, {"nothing": 1}, []],
    "neighbors": ["", "AUTO", None, 3, "approximate", "exact", (), (1, 2), ([[1]], [[2, 3]]), {}, np.eye(3)],
    "short_circuits": ["", "CUT", None, True, ["cut"]],
    "cut_edges": [[], [(0, 1)], [(1, 0), (0, 1)], [(0, 10**9)], [(0, 10**30)], [(2, 2)], [(0.0, 1.0)], "0-1", 3, {}],
    "keep_edges": [(), [(0, 1)], [(-1, 0)], [(0, 1, 2)], [(0, 1), (2,)], [None], np.eye(2), np.zeros((0, 2)), "auto"],
    "pieces": ["", "SEPARATE", None, 0, ["join"]],
    "coordinates": ["", "whitened", None, 0, "Chart"],
    "eigen_solver": ["", "arpack", None, 0, "Dense"],
    "n_landmarks": [0, -5, 13, 20, 2.5, "20", True, 10**30, np.int64(15)],
    "tol": [0, -1e-7, 1.0, 1e-13, 1e-12, 0.9, np.nan, "0", None, 1j],
    "n_jobs": [0, -100, 64, 1.5, "2", True, 10**20, -(10**20)],
    "random_state": [-1, "0", 0.5, None, 2**40, np.random.RandomState(3), np.random.default_rng(3), [1]],
    "verbose": [-1, 1, 2, 100, "1", None, 0.5, True],
}


def unsound(rng, n, n_features):
    """Sound parameters but for one or two."""
    chosen = sound(rng, n, n_features)
    for name in rng.choice(list(WRONG), size=rng.integers(1, 3), replace=False):
        chosen[str(name)] = WRONG[name][rng.integers(len(WRONG[name]))]
    return chosen


def _raises(x, y):
    raise KeyError("broken metric")


FUNCTIONS = {
    "Chebyshev": lambda x, y: float(np.abs(x - y).max(initial=0)),
    "one sided": lambda x, y: float(np.maximum(x - y, 0).sum()),
    "negative": lambda x, y: -1.0,
    "NaN": lambda x, y: np.nan,
    "inf": lambda x, y: np.inf,
    "text": lambda x, y: "far",
    "an array": lambda x, y: np.abs(x - y),
    "complex": lambda x, y: 1j,
    "all alike": lambda x, y: 1.0,
    "all zero": lambda x, y: 0.0,
    "raises": _raises,
    "None": lambda x, y: None,
}


def metric(rng):
    """A metric's parameters: any of scikit-learn's, or a function that deserves the name or not."""
    if rng.random() < 0.4:
        return {"metric": FUNCTIONS[rng.choice(list(FUNCTIONS))]}
    name = str(rng.choice([*VALID_METRICS["brute"], "cosine", "manhattan", "haversine", "Euclidean"]))
    params = [None, None, None, {"p": 1}, {"p": 0.5}, {"w": np.ones(2)}, {"V": np.ones(3)}]
    return {"metric": name, "metric_params": params[rng.integers(len(params))]}


def distances(rng, X):
    """Distances of the samples, most of them sound: dense, and with metric='precomputed'."""
    with np.errstate(all="ignore"):
        D = cdist(X, X, metric=rng.choice(["euclidean", "euclidean", "cityblock", "sqeuclidean", "cosine"]))
    n = len(D)
    spoil = rng.integers(12) if n else 99
    if spoil == 0:
        D[0, -1] *= 2
    elif spoil == 1:
        D[rng.integers(n), rng.integers(n)] = rng.choice([-1.0, np.nan, np.inf])
    elif spoil == 2:
        np.fill_diagonal(D, rng.choice([1.0, 1e-12, 1e-3]))
    elif spoil == 3:
        # Of no Euclidean space, nor any other.
        D = rng.uniform(0, 1, size=D.shape)
        D = D + D.T
        np.fill_diagonal(D, 0.0)
    elif spoil == 4:
        D = D[:, : n // 2]
    elif spoil == 5:
        D = np.exp(-D)
    elif spoil == 6:
        D = (np.median(D) < D).astype(float)
    return D


def known_distances(rng, X):
    """Distances to some neighbors, as scikit-learn's transformer makes them, some of them spoiled."""
    D = distances(rng, X)
    if not D.size:
        return sparse.csr_array(D)
    few = int(rng.choice([1, 3, min(20, D.shape[1]), D.shape[1]]))
    near = np.argsort(np.where(np.isnan(D), np.inf, D), axis=1, kind="stable")[:, :few]
    rows = np.repeat(np.arange(len(D)), near.shape[1])
    graph = sparse.csr_array((D[rows, near.ravel()], (rows, near.ravel())), shape=D.shape)
    if rng.random() < 0.2:
        graph.data[:] = 1.0
    return [graph, graph, sparse.csr_matrix(graph), graph.tocoo(), graph.tolil()][rng.integers(5)]


def neighbors(rng, X):
    """A graph of the samples that is given, sound or not."""
    n = len(X)
    if n < 2:
        return np.empty((n, 0), dtype=int), np.empty((n, 0))
    with np.errstate(all="ignore"):
        D = cdist(X, X)
    few = int(rng.integers(1, min(n, 9)))
    indices = np.argsort(D, axis=1, kind="stable")[:, 1 : few + 1]
    lengths = np.take_along_axis(D, indices, axis=1)
    indices, lengths = _spoiled(rng, indices, lengths)
    if rng.random() < 0.3:
        return indices, None
    if rng.random() < 0.5 and len(indices) == n and set(np.unique(indices)) <= set(range(-1, n)):
        rows, slots = np.nonzero(indices >= 0)
        links = (lengths[rows, slots], (rows, indices[rows, slots]))
        graph = sparse.coo_array(links, shape=(n, n))
        return graph if rng.random() < 0.5 else graph.tocsr()
    return [(indices, lengths), [indices.tolist(), lengths.tolist()]][rng.integers(2)]


def _spoiled(rng, indices, lengths):
    """Neighbors and distances with something wrong, or at least strange, about them."""
    n = len(indices)
    match rng.integers(14):
        case 0:
            indices[rng.integers(n), -1] = rng.choice([n, -2, 10**9])
        case 1:
            indices[:, 0] = np.arange(n)
        case 2:
            indices[rng.random(n) < 0.3] = -1
        case 3:
            indices[rng.random(indices.shape) < 0.5] = -1
        case 4:
            indices[:] = -1
        case 5:
            indices = rng.integers(n, size=indices.shape)
        case 6:
            lengths[0, 0] = rng.choice([np.nan, np.inf, -1.0])
        case 7:
            indices = indices[:-1]
        case 8:
            indices = indices.astype(float)
        case 9:
            indices[:] = 0
        case 10:
            indices, lengths = indices[: n // 2], lengths[: n // 2]
    return indices, lengths
