"""X -> Yardstick: what embeddings of these samples are measured by, made once, and the lengths it gives them back."""

from hne._yardstick._dimension import dimension_of
from hne._yardstick._frames import Frames, frame_neighbors, frames_of, is_measurable
from hne._yardstick._score import TangentScore, Yardstick, yardstick

__all__ = [
    "Frames",
    "TangentScore",
    "Yardstick",
    "dimension_of",
    "frame_neighbors",
    "frames_of",
    "is_measurable",
    "yardstick",
]
