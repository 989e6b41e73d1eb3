"""The training story of a model as one HTML file, and its summary in notebooks."""

from sdgm.report.notebook import Summary, summary, summary_html
from sdgm.report.page import report_html, write_report
from sdgm.report.story import film

__all__ = [
    "Summary",
    "film",
    "report_html",
    "summary",
    "summary_html",
    "write_report",
]
