"""A fitted model -> one file, and back, without pickle: arrays and a header of JSON. docs/format.md is its description.

Reading runs nothing that the file says, and believes nothing either: what comes out is a model as `save` found it, or
one `ModelFileError`.
"""

from hne._persist._fitted import linear_from, linear_parts, walk_from, walk_parts
from hne._persist._model import read_model, write_model

__all__ = ["linear_from", "linear_parts", "read_model", "walk_from", "walk_parts", "write_model"]
