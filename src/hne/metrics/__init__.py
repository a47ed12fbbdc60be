"""Quality of an embedding: Y, and what is known of the truth -> numbers that can be read."""

from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import TangentScore
from hne.metrics.errors import (
    affine_errors,
    intrinsic_dimension,
    procrustes_error,
    reconstruction_errors,
    tangent_score,
)
from hne.metrics.geodesics import GeodesicQuality, geodesic_quality, geodesic_rank_correlation, residual_variance
from hne.metrics.ranks import (
    Coranking,
    RankQuality,
    continuity,
    coranking,
    neighborhood_preservation,
    rank_quality,
    trustworthiness,
)

__all__ = [
    "Coranking",
    "Dimension",
    "GeodesicQuality",
    "RankQuality",
    "TangentScore",
    "affine_errors",
    "continuity",
    "coranking",
    "geodesic_quality",
    "geodesic_rank_correlation",
    "intrinsic_dimension",
    "neighborhood_preservation",
    "procrustes_error",
    "rank_quality",
    "reconstruction_errors",
    "residual_variance",
    "tangent_score",
    "trustworthiness",
]
