"""A fitted model -> one file, and back, without pickle: arrays and a header of JSON. docs/format.md is its description.

Reading runs nothing that the file says, and believes nothing either: what comes out is a model as `save` found it, or
one `ModelFileError`.
"""

from hne._persist._archive import Archive
from hne._persist._fitted import Scalars, eigen_from, eigen_parts, linear_from, linear_parts, walk_from, walk_parts
from hne._persist._mixin import SavedMixin
from hne._persist._values import Arrays

__all__ = [
    "Archive",
    "Arrays",
    "SavedMixin",
    "Scalars",
    "eigen_from",
    "eigen_parts",
    "linear_from",
    "linear_parts",
    "walk_from",
    "walk_parts",
]
