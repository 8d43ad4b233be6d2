"""The page over all repositories: what the run adds up to, why some failed, and a table that leads to each page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devfix.batch.ledger import ErrorGroup, Row, Run
from devfix.batch.report.figures import headline, numbers, ranked
from devfix.batch.report.repository import BATCH_STYLE, HERE
from devfix.batch.report.run import facts_of
from devfix.batch.report.totals import STATES, Totals
from devfix.batch.report.words import spoken, told, web_address
from devfix.reporting.html.framing import SCRIPT, STYLE, page
from devfix.reporting.html.summary import VERDICTS, Facet, facet

SHORT = 300
"""Of a longer text in the table, this many characters are shown."""


MOST_KINDS = 200
"""Of the kinds of errors, this many are listed."""


@dataclass(frozen=True)
class Line:
    """A line of the table. `kind` and `message` are those of its error."""

    name: str
    has_page: bool
    labels: tuple[str, ...]
    state: str
    files: int
    fixes: int
    dropped: int
    verdicts: tuple[tuple[str, int], ...]
    seconds: str
    published: str | None
    address: str | None
    kind: str | None
    message: str | None


@dataclass(frozen=True)
class Failures:
    """Repositories that failed for one reason: what the first says, how many there are, and the first few."""

    kind: str
    message: str
    count: int
    names: tuple[str, ...]


def document(rows: Iterable[Row], totals: Totals, run: Run) -> Iterator[str]:
    """The page in pieces. `totals` are those of the rows, which are read one at a time."""
    members = {
        "headline": headline(totals),
        "numbers": numbers(totals),
        "facts": [(told(title), told(text)) for title, text in facts_of(run)],
        "facets": _facets(totals),
        "groups": [_failures(group, totals) for group in totals.summary.errors[:MOST_KINDS]],
        "lines": map(_line, rows),
    }
    return page((HERE, "index.html.jinja"), members, [STYLE, BATCH_STYLE], [SCRIPT, (HERE, "index.js")])


def _failures(group: ErrorGroup, totals: Totals) -> Failures:
    message = told(totals.messages.get(group.kind, ""), SHORT)
    return Failures(told(group.kind), message, group.count, group.names)


def _facets(totals: Totals) -> list[Facet]:
    """What the table can be filtered by, as far as the repositories differ in it."""
    summary = totals.summary
    states = {str(state): summary.states[state] for state in STATES if summary.states[state]}
    replayed = {spoken(kind): number for kind, number in ranked(totals.replayed).items()}
    verdicts = {kind: replayed[kind] for kind in (*VERDICTS, *replayed) if kind in replayed}
    errors = {told(group.kind): group.count for group in summary.errors[:MOST_KINDS]}
    labels = {told(label): number for label, number in ranked(totals.labels).items()}
    found = (
        facet("state", "State", states),
        facet("verdict", "Replay", verdicts),
        facet("error", "Error", errors),
        facet("label", "Label", labels),
    )
    return [one for one in found if one.options]


def _line(row: Row) -> Line:
    error = row.error if row.state.is_final else None
    published = told(row.published, SHORT) if row.published is not None else None
    return Line(
        name=row.name,
        has_page=row.state.is_final,
        labels=tuple(map(told, row.labels)),
        state=str(row.state),
        files=row.files,
        fixes=row.kept,
        dropped=row.dropped,
        verdicts=tuple((spoken(kind), number) for kind, number in row.verdicts.items() if number),
        seconds=f"{row.seconds:.1f}" if row.state.is_final else "",
        published=published,
        address=web_address(published),
        kind=told(error.kind) if error is not None else None,
        message=told(error.message, SHORT) if error is not None else None,
    )
