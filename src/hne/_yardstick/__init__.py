"""X -> Yardstick: what embeddings of these samples are measured by, made once, and the lengths it gives them back."""

from hne._yardstick._dimension import dimension_of
from hne._yardstick._flatness import NEAR_SURFACE, flat_share
from hne._yardstick._frames import Frames, frame_neighbors, frames_of, is_measurable
from hne._yardstick._ranks import ranks_of
from hne._yardstick._score import TangentScore, Yardstick, yardstick

__all__ = [
    "NEAR_SURFACE",
    "Frames",
    "TangentScore",
    "Yardstick",
    "dimension_of",
    "flat_share",
    "frame_neighbors",
    "frames_of",
    "is_measurable",
    "ranks_of",
    "yardstick",
]
