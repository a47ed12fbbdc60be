"""X -> Y by scikit-learn's LLE, MLLE, HLLE or LTSA, and a BaselineError where it has no answer.

scikit-learn counts a sample as its own neighbor where it has copies: here X has none. Its ARPACK solver inverts a
matrix that is singular to rounding: here LAPACK runs where it can.
"""

import logging
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import NearestNeighbors

from hne.baselines.estimators import answer
from hne.baselines.methods import Rival
from hne.core.neighbors.graph import knn_graph
from hne.core.pieces.split import connected_pieces
from hne.core.records import FloatArray, NeighborGraph, Pieces, Settings, SparseMatrix
from hne.core.samples.check import check_graph
from hne.core.weights.layers import layer_weights
from hne.exceptions import BaselineError

logger = logging.getLogger("hne")

SKLEARN_NAMES = {"lle": "standard", "mlle": "modified", "hlle": "hessian", "ltsa": "ltsa"}
# Samples up to which LAPACK comes first (some seconds), and up to which it stands in for ARPACK (minutes, 2 GB).
DENSE_MAX = 2_500
STAND_IN_MAX = 8_000


def sklearn_embedding(rival: Rival, X: FloatArray, settings: Settings) -> FloatArray:
    """Embed distinct samples by scikit-learn; its warnings are passed on, each once."""
    search, neighbors = _neighborhoods(X, settings)
    pieces = _pieces(rival, neighbors)
    solvers = _solvers(len(X))
    logger.info("%s: %s eigensolver, %s neighbor search", rival.label, solvers[0], search)
    for solver, substitute in pairwise(solvers):
        try:
            return answer(rival, _model(rival, settings, solver, search), X, pieces, settings)
        except BaselineError as error:
            logger.warning("%s: %s The %s eigensolver takes over.", rival.label, error, substitute)
    return answer(rival, _model(rival, settings, solvers[-1], search), X, pieces, settings)


def _solvers(n: int) -> tuple[str, ...]:
    """scikit-learn's solvers in the order in which they are tried."""
    if n <= DENSE_MAX:
        return ("dense",)
    return ("arpack", "dense") if n <= STAND_IN_MAX else ("arpack",)


def _neighborhoods(X: FloatArray, settings: Settings) -> tuple[str, NeighborGraph]:
    """Search of neighbors that finds every sample nearest to itself, and the graph it makes."""
    k = settings.n_neighbors
    for algorithm in ("auto", "kd_tree"):
        search = NearestNeighbors(n_neighbors=k + 1, algorithm=algorithm, n_jobs=settings.n_jobs).fit(X)
        distances, indices = search.kneighbors(X)
        # Brute force takes differences of squares: a near-copy may come out nearer than the sample itself.
        if (indices[:, 0] == np.arange(len(X))).all():
            break
    return algorithm, NeighborGraph(indices[:, 1:], distances[:, 1:], algorithm)


def _pieces(rival: Rival, neighbors: NeighborGraph) -> Pieces:
    """Samples that hang together in the matrix of the method.

    scikit-learn leaves a sample out of its own neighborhood in HLLE and LTSA: one that is nobody's neighbor has a row
    of zeros, and takes a coordinate for itself.
    """
    if not rival.leaves_out_self:
        return connected_pieces(neighbors)
    n, k = neighbors.indices.shape
    members = csr_array((np.ones(n * k), neighbors.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return connected_pieces(check_graph(members.T @ members))


def _model(rival: Rival, settings: Settings, solver: str, search: str) -> LocallyLinearEmbedding:
    return LocallyLinearEmbedding(
        n_neighbors=settings.n_neighbors,
        n_components=settings.n_components,
        reg=settings.reg,
        method=SKLEARN_NAMES[rival.name],
        eigen_solver=solver,
        neighbors_algorithm=search,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )


def lle_weights(X: FloatArray, settings: Settings, n_threads: int = 1) -> tuple[NeighborGraph, SparseMatrix]:
    """Find the neighbors among these samples and their weights, a row for each sample."""
    graph = knn_graph(X, settings.n_neighbors, n_threads, "exact")
    # Both layers come together; of the outer ones, which nobody uses here, these are the quickest.
    return graph, layer_weights(X, graph, replace(settings, variant="ihne"), None, n_threads).W
