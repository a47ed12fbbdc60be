"""How near samples are to a surface -> n_neighbors and reg, where they were left open."""

from collections.abc import Collection
from dataclasses import replace

from hne.core.records import NeighborGraph, Settings
from hne.core.samples.kinds import KNOWN_A_NEIGHBOR, Distances, Samples
from hne.core.tangent.frames import NEAR_SURFACE

# Near a surface, more neighbors are better until they are many: of 40 random rolls of 300 samples 39 come out right
# with 12, 36 with 8; from some thousand samples on 8 do as well, at half the cost. Elsewhere few are better: of 17
# tables and image sets, the truth is in 16 pictures with 5 neighbors, in 13 with 6, in 10 with 7.
NEIGHBORS, MANY_SAMPLES, NEIGHBORS_OF_MANY, NEIGHBORS_ELSEWHERE = 12, 5_000, 8, 5
# Near a surface reg = 1e-4 (k / 6)^3.3 suits; elsewhere more keeps together what differs in many directions.
RIDGE, RIDGE_NEIGHBORS, RIDGE_POWER, RIDGE_ELSEWHERE = 1e-4, 6, 3.3, 0.1


def neighbors_near_surface(n_samples: int) -> int:
    """Neighbors of a sample near a surface."""
    return min(NEIGHBORS if n_samples <= MANY_SAMPLES else NEIGHBORS_OF_MANY, n_samples - 1)


def known_of(X: Samples) -> int | None:
    """Distances that are known of a sample of a graph; None where all are."""
    return X.n_known if isinstance(X, Distances) and X.n_known < X.shape[1] - 1 else None


def suited(
    settings: Settings, unset: Collection[str], flat_share: float, n_samples: int, n_known: int | None = None
) -> Settings:
    """The settings, with those of n_neighbors and reg that were left open chosen for the samples.

    `n_known` are the distances that are known of a sample, where not all are: more neighbors need more of them.
    """
    is_near = not flat_share < NEAR_SURFACE
    if "n_neighbors" in unset:
        k = neighbors_near_surface(n_samples) if is_near else min(NEIGHBORS_ELSEWHERE, n_samples - 1)
        if n_known is not None:
            k = min(k, max(NEIGHBORS_ELSEWHERE, n_known // KNOWN_A_NEIGHBOR))
        if isinstance(settings.neighbors, NeighborGraph):
            # Who gives a graph and says no number means all of it.
            k = min(settings.neighbors.n_others, n_samples - 1)
        settings = replace(settings, n_neighbors=max(1, k))
    if "reg" in unset:
        reg = RIDGE * (settings.n_neighbors / RIDGE_NEIGHBORS) ** RIDGE_POWER if is_near else RIDGE_ELSEWHERE
        settings = replace(settings, reg=reg)
    return settings
