"""X -> Y by an estimator of scikit-learn or another library: its warnings passed on, each once, or a BaselineError.

scikit-learn's LLE, MLLE, HLLE and LTSA count a sample as its own neighbor where it has copies: here X has none. Their
ARPACK solver inverts a matrix that is singular to rounding: here LAPACK runs where it can.
"""

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import SparseEfficiencyWarning, csr_array
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import NearestNeighbors

from hne._runtime.threads import load_unbroken, thread_count
from hne.baselines.methods import Baseline
from hne.core.pieces.split import connected_pieces
from hne.core.records import FloatArray, NeighborGraph, Pieces, Settings
from hne.core.samples.check import check_graph
from hne.exceptions import BaselineError, MissingExtraError, caller_stacklevel

logger = logging.getLogger("hne")

SKLEARN_NAMES = {"lle": "standard", "mlle": "modified", "hlle": "hessian", "ltsa": "ltsa"}
# Samples up to which LAPACK comes first (some seconds), and up to which it stands in for ARPACK (minutes, 2 GB).
DENSE_MAX, STAND_IN_MAX = 2_500, 8_000
# scikit-learn's own perplexity of t-SNE, which looks at three times as many neighbors.
PERPLEXITY = 30.0
# Who works in single precision, and powers of two beyond which these get samples in other units: at 1e15 t-SNE goes
# wrong, at 1e60 it crashes the interpreter.
SINGLE, ORDINARY = ("tsne", "umap"), 40
# What is said to those who wrote the library, not to those who use it.
UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, SparseEfficiencyWarning)


def locally_linear_embedding(baseline: Baseline, X: FloatArray, settings: Settings) -> FloatArray:
    """Embed distinct samples by scikit-learn's LLE, MLLE, HLLE or LTSA."""
    search, graph = _neighborhoods(X, settings)
    pieces = _pieces(baseline, graph)
    solvers = ["arpack", "dense"] if len(X) <= STAND_IN_MAX else ["arpack"]
    if len(X) <= DENSE_MAX:
        solvers = ["dense"]
    models = [
        LocallyLinearEmbedding(
            n_neighbors=settings.n_neighbors,
            n_components=settings.n_components,
            reg=settings.reg,
            method=SKLEARN_NAMES[baseline.name],
            eigen_solver=solver,
            neighbors_algorithm=search,
            random_state=settings.random_state,
            n_jobs=settings.n_jobs,
        )
        for solver in solvers
    ]
    logger.info("%s: %s eigensolver, %s neighbor search", baseline.label, solvers[0], search)
    for model, substitute in pairwise(models):
        try:
            return fitted_coordinates(baseline, model, X, pieces, settings)
        except BaselineError as error:
            logger.warning("%s: %s The %s eigensolver takes over.", baseline.label, error, substitute.eigen_solver)
    return fitted_coordinates(baseline, models[-1], X, pieces, settings)


def _neighborhoods(X: FloatArray, settings: Settings) -> tuple[str, NeighborGraph]:
    """Search of neighbors that finds every sample nearest to itself, and the graph it makes."""
    for algorithm in ("auto", "kd_tree"):
        search = NearestNeighbors(n_neighbors=settings.n_neighbors + 1, algorithm=algorithm, n_jobs=settings.n_jobs)
        distances, indices = search.fit(X).kneighbors(X)
        # Brute force takes differences of squares: a near-copy may come out nearer than the sample itself.
        if (indices[:, 0] == np.arange(len(X))).all():
            break
    return algorithm, NeighborGraph(indices[:, 1:], distances[:, 1:], algorithm)


def _pieces(baseline: Baseline, graph: NeighborGraph) -> Pieces:
    """Samples that hang together in the matrix of the method.

    scikit-learn leaves a sample out of its own neighborhood in HLLE and LTSA: one that is nobody's neighbor has a row
    of zeros, and takes a coordinate for itself.
    """
    if not baseline.leaves_out_self:
        return connected_pieces(graph)
    n, k = graph.indices.shape
    members = csr_array((np.ones(n * k), graph.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return connected_pieces(check_graph(members.T @ members))


def estimator_embedding(baseline: Baseline, X: FloatArray, settings: Settings, *, is_named: bool) -> FloatArray:
    """Embed distinct samples by an estimator with its own defaults, of n_neighbors too unless that `is_named`."""
    baseline.check_memory(len(X))
    model, seed = _load(baseline), settings.random_state
    parameters = {
        "n_components": settings.n_components,
        "random_state": seed,
        # UMAP takes one thread where it has a seed, and warns of more.
        "n_jobs": 1 if baseline.name == "umap" and seed is not None else thread_count(settings.n_jobs),
        "perplexity": min(PERPLEXITY, (len(X) - 1) / 3),
        "verbose": 0,
    }
    if is_named:
        parameters[baseline.neighbors] = settings.n_neighbors
    known = model.get_params()
    model.set_params(**{name: value for name, value in parameters.items() if name in known})
    logger.info("%s: %r", baseline.label, model)
    exponent = math.frexp(np.abs(X).max())[1]
    if baseline.name in SINGLE and abs(exponent) > ORDINARY:
        X = np.ldexp(X, -exponent)
    whole = Pieces(np.zeros(len(X), dtype=np.intp), np.array([len(X)]))
    return fitted_coordinates(baseline, model, X, whole, settings)


def _load(baseline: Baseline) -> Any:
    """The estimator with all defaults, its library imported here and no earlier: UMAP takes seconds to load."""
    module, _, kind = baseline.estimator.rpartition(".")
    try:
        with warnings.catch_warnings():
            # UMAP tells of its extras that are not installed.
            warnings.simplefilter("ignore")
            return getattr(load_unbroken(module), kind)()
    except Exception as error:
        msg = (
            f"method={baseline.name!r} needs {baseline.library}, got one that cannot be loaded: {_reason(error)}. "
            f"Run: pip install --upgrade {baseline.library}."
        )
        raise MissingExtraError(msg) from error


def fitted_coordinates(baseline: Baseline, model: Any, X: FloatArray, pieces: Pieces, settings: Settings) -> FloatArray:
    """What the estimator makes of X, if it is an embedding; warnings become notes of the error where it is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Y = baseline.check_answer(_fit(baseline, model, X, settings), pieces, settings)
        except BaselineError as error:
            for message, category in _different(caught):
                error.add_note(f"{baseline.library} warned of it: {category.__name__}: {message}")
            raise
    for message, category in _different(caught):
        warnings.warn(f"{baseline.label} of {baseline.library}: {message}", category, stacklevel=caller_stacklevel())
    baseline.warn_of_pieces(pieces, settings)
    return Y


def _fit(baseline: Baseline, model: Any, X: FloatArray, settings: Settings) -> FloatArray:
    try:
        with _logs_as_warnings():
            return np.asarray(model.fit_transform(X), dtype=np.float64)
    except MemoryError:
        raise
    except Exception as error:
        k = model.get_params().get(baseline.neighbors or "n_neighbors")
        msg = (
            f"method={baseline.name!r} must embed {len(X)} samples with {'' if k is None else f'n_neighbors={k} and '}"
            f"n_components={settings.n_components}, got {type(error).__name__} of {baseline.library}: "
            f"{_reason(error)}. Try another {'' if k is None else 'n_neighbors or another '}method."
        )
        raise BaselineError(msg) from error


@contextmanager
def _logs_as_warnings() -> Iterator[None]:
    """Make warnings of what PHATE logs, which would go to standard output among the results of others."""

    def warn(record: logging.LogRecord) -> bool:
        warnings.warn(record.getMessage().strip(), UserWarning, stacklevel=2)
        return False

    theirs = logging.getLogger("graphtools")
    theirs.addFilter(warn)
    try:
        yield
    finally:
        theirs.removeFilter(warn)


def _different(caught: list[Any]) -> list[tuple[str, type[Warning]]]:
    seen = [one for one in caught if not issubclass(one.category, UNSEEN)]
    return list(dict.fromkeys((str(one.message), one.category) for one in seen))


def _reason(error: Exception) -> str:
    """The first sentence of what another library says."""
    return str(error).strip().split(". ")[0].partition("\n")[0].rstrip(".:") or "no reason given"
