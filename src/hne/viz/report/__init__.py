"""Embedding -> one HTML file to look at, and to judge it by."""

from hne.viz.report.details import Details, gather_details
from hne.viz.report.measures import Measure, measures
from hne.viz.report.page import notebook_html, report_page, write_report
from hne.viz.report.scripts import static_text
from hne.viz.report.tuning import write_tuning_report

__all__ = [
    "Details",
    "Measure",
    "gather_details",
    "measures",
    "notebook_html",
    "report_page",
    "static_text",
    "write_report",
    "write_tuning_report",
]
