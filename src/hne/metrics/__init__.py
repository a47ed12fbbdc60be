"""Quality of an embedding: Y, and what is known of the truth -> numbers that can be read."""

from hne._dimension import Dimension
from hne._yardstick import TangentScore
from hne.metrics._chart import affine_errors, procrustes_error
from hne.metrics._coranking import Coranking, coranking
from hne.metrics._dimension import intrinsic_dimension
from hne.metrics._geodesics import GeodesicQuality, geodesic_quality, geodesic_rank_correlation, residual_variance
from hne.metrics._ranks import RankQuality, continuity, neighborhood_preservation, rank_quality, trustworthiness
from hne.metrics._rebuilding import reconstruction_errors
from hne.metrics._tangent import tangent_score

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
