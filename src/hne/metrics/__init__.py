"""Quality of an embedding: Y, and what is known of the truth -> numbers that can be read."""

from hne.metrics._chart import affine_errors, procrustes_error
from hne.metrics._groups import group_affine_errors, label_overlap, label_spread
from hne.metrics._rebuilding import reconstruction_errors
from hne.metrics._rings import ring_order_error

__all__ = [
    "affine_errors",
    "group_affine_errors",
    "label_overlap",
    "label_spread",
    "procrustes_error",
    "reconstruction_errors",
    "ring_order_error",
]
