"""Embedding -> one HTML file to look at, and to judge it by."""

from hne.report._details import Details
from hne.report._measures import Measure, measures
from hne.report._page import report_page, write_report

__all__ = ["Details", "Measure", "measures", "report_page", "write_report"]
