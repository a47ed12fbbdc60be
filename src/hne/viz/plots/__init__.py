"""Pictures of embeddings and of what they come from: a fitted model or arrays -> matplotlib axes.

    scatter           an embedding, colored by what is known of the samples
    scatter_images    the same, with images beside their dots
    compare           what several methods make of the same samples
    neighbor_links    the edges that it comes from, the bridges, both layers of one sample
    scree             whether its coordinates stand out from the next
    reconstruction    which samples their neighbors rebuild badly

The rest are the parts that these and the paper's figures are made of.
"""

from hne.viz.plots.diagnostics import neighbor_links, reconstruction, scree
from hne.viz.plots.drawing import LINK_COLOR, embedding_panel, empty_panel, oriented, space_panel
from hne.viz.plots.embeddings import compare, scatter, scatter_images
from hne.viz.plots.sources import position_colors, pyplot, value_colors

__all__ = [
    "LINK_COLOR",
    "compare",
    "embedding_panel",
    "empty_panel",
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
