"""Embedding -> one HTML file to look at, and to judge it by."""

from hne.viz.report.details import Details
from hne.viz.report.gathered import details_of
from hne.viz.report.measures import Measure, measures
from hne.viz.report.notebook import notebook_html
from hne.viz.report.pack import static_text
from hne.viz.report.page import report_page, write_report
from hne.viz.report.tuning import write_tuning_report

__all__ = [
    "Details",
    "Measure",
    "details_of",
    "measures",
    "notebook_html",
    "report_page",
    "static_text",
    "write_report",
    "write_tuning_report",
]
