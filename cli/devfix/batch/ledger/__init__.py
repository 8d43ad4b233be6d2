"""The ledger: what a run has to do and what became of it, in a file that a killed run leaves whole."""

from devfix.batch.ledger.locking import is_held
from devfix.batch.ledger.reading import View
from devfix.batch.ledger.rows import ErrorGroup, Row, Run, Summary, Waiting
from devfix.batch.ledger.writing import Entered, Ledger

__all__ = ["Entered", "ErrorGroup", "Ledger", "Row", "Run", "Summary", "View", "Waiting", "is_held"]
