"""The report of a batch: pages for people, Markdown and JSON beside them, all from the ledger and the result files.

However many repositories there are, one is held in memory at a time.
"""

from devfix.batch.report.run import INDEX, Neighbours
from devfix.batch.report.status import status_document, status_lines, summary_lines
from devfix.batch.report.totals import Totals
from devfix.batch.report.writing import write_index, write_page, write_pages

__all__ = [
    "INDEX",
    "Neighbours",
    "Totals",
    "status_document",
    "status_lines",
    "summary_lines",
    "write_index",
    "write_page",
    "write_pages",
]
