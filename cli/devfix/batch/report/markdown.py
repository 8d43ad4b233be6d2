"""`report.md`: what the run adds up to, the errors, and a table of all repositories.

What strangers say stands in code spans, in which nothing is markup, a link or the name of somebody to be told.
"""

import re
from collections.abc import Iterable, Iterator

from devfix.batch.ledger import ErrorGroup, Row, Run
from devfix.batch.report.figures import headline, numbers
from devfix.batch.report.run import PAGES, facts_of
from devfix.batch.report.totals import Totals
from devfix.batch.report.words import spoken, told
from devfix.reporting.markdown import code_span

SHORT = 200
"""Of a longer text, this many characters are shown."""

_COLUMNS = ("Repository", "State", "Files", "Fixes", "Dropped", "Replay", "Seconds", "Published or failed")


def document(rows: Iterable[Row], totals: Totals, run: Run) -> Iterator[str]:
    """The document in pieces, a repository each."""
    yield f"# devfix batch: {headline(totals)}\n\n"
    yield from _table(("", ""), ((title, code(text)) for title, text in facts_of(run) if text))
    yield from _table(("", ""), ((_plain(title), number) for title, number in numbers(totals)))
    if totals.summary.errors:
        yield "## Errors\n\n"
        errors = (
            (code(group.kind), str(group.count), code(totals.messages.get(group.kind, "")), _names(group))
            for group in totals.summary.errors
        )
        yield from _table(("Error", "Repositories", "The first one says", "Which"), errors)
    yield "## Repositories\n\n"
    yield from _table(_COLUMNS, map(_cells, rows))


def code(text: str) -> str:
    """A text, or its beginning, as a code span for a cell of a table."""
    return code_span(told(text, SHORT))


def _plain(title: str) -> str:
    """The title as it is, where it is made of words."""
    return title if re.fullmatch(r"[A-Za-z ]+", title) else code(title)


def _names(group: ErrorGroup) -> str:
    more = group.count - len(group.names)
    return " ".join(map(_link, group.names)) + (f" and {more} more" if more else "")


def _link(name: str) -> str:
    return f"[{code(name)}]({PAGES}/{name}.html)"


def _cells(row: Row) -> tuple[str, ...]:
    verdicts = ", ".join(f"{number} {code(spoken(kind))}" for kind, number in row.verdicts.items() if number)
    error = row.error if row.state.is_final else None
    says = [code(row.published)] if row.published else []
    says += [f"{code(error.kind)} {code(error.message)}"] if error is not None else []
    return (
        _link(row.name) if row.state.is_final else code(row.name),
        str(row.state),
        str(row.files),
        str(row.kept),
        str(row.dropped),
        verdicts,
        f"{row.seconds:.1f}" if row.state.is_final else "",
        " ".join(says),
    )


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _line(titles) + _line(tuple("---" for _ in titles))
    yield from map(_line, rows)
    yield "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |\n"
