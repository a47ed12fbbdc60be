"""What a walk made -> Trust."""

import math
from dataclasses import dataclass
from typing import Any

from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.eigenpairs import PieceEmbeddings
from hne.core.records import Embedding, IndexArray, NeighborGraph, Pieces, Rescaled, Settings, Weights
from hne.core.samples.kinds import Samples
from hne.core.trust.measures import measures
from hne.core.trust.record import Assessment
from hne.core.trust.verdict import judged


def trust_of(
    X: Samples,
    graph: NeighborGraph,
    pieces: Pieces,
    weights: Weights,
    parts: PieceEmbeddings,
    rescaled: Rescaled,
    circuits: IndexArray,
    settings: Settings,
    n_threads: int,
    *,
    is_chosen: bool = False,
) -> Assessment:
    """How far the embedding of places can be believed; pairs of its record are pairs of places.

    `is_chosen` says that the settings were, which is then no advice any more.
    """
    with limit_blas_threads(1):
        found = measures(X, graph, pieces, weights, parts, rescaled, circuits, settings, n_threads)
    level, verdict, findings = judged(found, settings, is_chosen=is_chosen)
    shape = found.shape
    return Assessment(
        level=level,
        verdict=verdict,
        findings=findings,
        score=None if shape is None else shape.score,
        eigenvalue_gap=found.eigenvalue_gap,
        repeated_share=found.repeated_share,
        self_share=found.self_share,
        n_pieces=pieces.count,
        n_thin_links=len(found.thin.pairs),
        short_circuits=found.short_circuits,
        dimension=found.dimension,
        collapsed_share=math.nan if shape is None else shape.collapsed_share,
    )


@dataclass(frozen=True)
class Judgment:
    """Trust, which says in a few words what it is where stages are told of."""

    trust: Assessment

    def __str__(self) -> str:
        score = self.trust.score
        return self.trust.level if score is None else f"{self.trust.level}, score {score.score:.4f}"


def judgment(is_chosen: bool, *walked: Any) -> Judgment:
    """What `trust_of` makes of the same, as the record of a stage."""
    return Judgment(trust_of(*walked, is_chosen=is_chosen))


def trust_in(result: Embedding) -> Assessment:
    """How far a finished embedding can be believed, with pairs of samples."""
    core, settings = result.core, result.settings
    parts = PieceEmbeddings(core.Y, core.parts)
    n_threads = thread_count(settings.n_jobs)
    walked = (core.X, core.graph, core.pieces, core.weights, parts, core.rescaled, core.short_circuits)
    found = trust_of(*walked, settings, n_threads)
    return found.of_samples(result.distinct.index)
