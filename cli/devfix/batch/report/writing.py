"""The files of the report, each put in its place whole."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from devfix.atomic import replacing
from devfix.batch.ledger import Row, View
from devfix.batch.records import Outcome
from devfix.batch.report.run import ALONE, INDEX, PAGES, Neighbours, Wanted
from devfix.batch.report.totals import Totals


def write_page(folder: Path, outcome: Outcome, wanted: Wanted, neighbours: Neighbours = ALONE) -> None:
    """Write the page of one repository, with a link to its patch, where that was written before.

    Raises:
        OSError: it cannot be written.
    """
    from devfix.batch.report import repository

    path = folder / PAGES / f"{outcome.name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    has_patch = (folder / "patches" / f"{outcome.name}.patch").is_file()
    _put(path, (piece.encode() for piece in repository.document(outcome, wanted, neighbours, has_patch)))


def write_index(folder: Path, view: View) -> Totals:
    """Write `report/index.html`, `report.md` and `report.json`, and answer what the rows add up to.

    Raises:
        OSError: one of them cannot be written.
        UsageError: the ledger cannot be read.
    """
    from devfix.batch.report import index, json, markdown

    totals = Totals.of(view)
    run = view.run()
    (folder / INDEX).parent.mkdir(parents=True, exist_ok=True)
    _put(folder / INDEX, (piece.encode() for piece in index.document(view.rows(), totals, run)))
    _put(folder / "report.md", (piece.encode() for piece in markdown.document(view.rows(), totals, run)))
    _put(folder / "report.json", json.document(folder, view.rows(), totals, run))
    return totals


def write_pages(folder: Path, view: View) -> None:
    """Write the pages of all repositories that are done, each with its neighbours.

    Raises:
        OSError: one of them cannot be written.
        UsageError: the ledger cannot be read.
    """
    from devfix.batch.report.outcomes import outcome_of

    for row, neighbours in _with_neighbours(row for row in view.rows() if row.state.is_final):
        write_page(folder, outcome_of(folder, row), row, neighbours)


def _with_neighbours(rows: Iterable[Row]) -> Iterator[tuple[Row, Neighbours]]:
    previous: str | None = None
    at: Row | None = None
    for row in rows:
        if at is not None:
            yield at, Neighbours(previous, row.name)
            previous = at.name
        at = row
    if at is not None:
        yield at, Neighbours(previous)


def _put(path: Path, pieces: Iterable[bytes]) -> None:
    with replacing(str(path)) as stream:
        for piece in pieces:
            stream.write(piece)
