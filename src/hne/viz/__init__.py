"""What a person looks at: plots by matplotlib, and reports of one HTML file."""

from hne.viz.plots import compare, neighbor_links, reconstruction, scatter, scatter_images, scree
from hne.viz.report import write_report, write_tuning_report

__all__ = [
    "compare",
    "neighbor_links",
    "reconstruction",
    "scatter",
    "scatter_images",
    "scree",
    "write_report",
    "write_tuning_report",
]
