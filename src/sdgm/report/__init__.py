"""The training story of a model as one HTML file, and its summary in notebooks."""

from sdgm.report.held_out import held_out_summary
from sdgm.report.notebook import Summary, summary, summary_html
from sdgm.report.page import report_html, write_report
from sdgm.report.story import film

__all__ = [
    "Summary",
    "film",
    "held_out_summary",
    "report_html",
    "summary",
    "summary_html",
    "write_report",
]
