"""Embedding -> one HTML file to look at, and to judge it by."""

from hne.report._details import Details
from hne.report._gathered import details_of
from hne.report._measures import Measure, measures
from hne.report._notebook import notebook_html
from hne.report._pack import static_text
from hne.report._page import report_page, write_report
from hne.report._tuning import write_tuning_report

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
