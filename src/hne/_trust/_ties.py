"""Samples and their graph -> for how many of them the last neighbor is one of several that are as near."""

import logging

import numpy as np

from hne._neighbors import nearest_by
from hne._progress import unheard
from hne._samples import Samples
from hne._trust._limits import TIED_ROWS, TIES_NOTED
from hne._types import NeighborGraph, Settings

logger = logging.getLogger("hne")


def tied_share(X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> float:
    """Share of samples with another that is as near as their last neighbor and was left out.

    Measured on some of them, and only where neighbors tie at all: 0 where they do not, and in a graph that was given.
    """
    n, k = X.shape[0], settings.n_neighbors
    if graph.method == "given" or n <= k + 1 or (k > 1 and _listed_ties(graph) <= TIES_NOTED):
        return 0.0
    rows = np.arange(n) if n <= TIED_ROWS else np.sort(np.random.RandomState(0).choice(n, TIED_ROWS, replace=False))
    targets = X if len(rows) == n else X[rows]
    with unheard():
        _, lengths, _ = nearest_by(settings.metric, settings.metric_params, X, targets, k + 1, rows, n_threads)
    if lengths.shape[1] <= k:
        return 0.0
    share = float(np.mean(np.isfinite(lengths[:, k]) & (lengths[:, k] == lengths[:, k - 1])))
    if share > TIES_NOTED:
        logger.info("neighbors: for %.0f%% of the samples, the last is one of several that are as near", 100 * share)
    return share


def _listed_ties(graph: NeighborGraph) -> float:
    """Share of samples of whom two neighbors are as near as each other."""
    lengths = np.asarray(graph.distances)
    return float(np.mean(((lengths[:, 1:] == lengths[:, :-1]) & np.isfinite(lengths[:, 1:])).any(axis=1)))
