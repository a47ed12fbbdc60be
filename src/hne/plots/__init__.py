"""Pictures of data and embeddings: arrays -> matplotlib axes."""

from hne.plots._colors import angle_colors, position_colors, value_colors
from hne.plots._images import image_panel
from hne.plots._panels import LINK_COLOR, embedding_panel, empty_panel, oriented, space_panel
from hne.plots._pyplot import pyplot

__all__ = [
    "LINK_COLOR",
    "angle_colors",
    "embedding_panel",
    "empty_panel",
    "image_panel",
    "oriented",
    "position_colors",
    "pyplot",
    "space_panel",
    "value_colors",
]
