"""Pictures of embeddings and of what they come from: a fitted model or arrays -> matplotlib axes.

    scatter           an embedding, colored by what is known of the samples
    scatter_images    the same, with images beside their dots
    compare           what several methods make of the same samples
    neighbor_links    the links that it comes from, the thin ones, both layers of one sample
    scree             whether its coordinates stand out from the next
    reconstruction    which samples their neighbors rebuild badly

The rest are the parts that these and the paper's figures are made of.
"""

from hne.viz.plots.colors import angle_colors, position_colors, value_colors
from hne.viz.plots.compare import compare
from hne.viz.plots.diagnostics import reconstruction, scree
from hne.viz.plots.images import image_panel
from hne.viz.plots.neighborhoods import neighbor_links
from hne.viz.plots.panels import LINK_COLOR, embedding_panel, empty_panel, oriented, space_panel
from hne.viz.plots.pyplot import pyplot
from hne.viz.plots.scatter import scatter, scatter_images

__all__ = [
    "LINK_COLOR",
    "angle_colors",
    "compare",
    "embedding_panel",
    "empty_panel",
    "image_panel",
    "neighbor_links",
    "oriented",
    "position_colors",
    "pyplot",
    "reconstruction",
    "scatter",
    "scatter_images",
    "scree",
    "space_panel",
    "value_colors",
]
