"""Reading a ledger, also while a run writes it."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from devfix.batch.ledger.database import Database, open_to_read
from devfix.batch.ledger.rows import COLUMNS, ErrorGroup, Row, Run, Summary, row_of
from devfix.batch.records import Plan, Repository, State
from devfix.errors import UsageError
from devfix.reporting.terminal import visible

EXAMPLES = 5
"""How many repositories an error group names."""
_PAGE = 200
"""Rows are read in pages: no statement stays open over what the caller does, and memory does not grow with the run."""


class View:
    """A ledger to read. Rows come in the order of the manifest, without repositories that it no longer names.

    Raises:
        UsageError: (from any method) the file cannot be read, or is damaged.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @staticmethod
    def read_only(folder: str | Path) -> "View":
        """The ledger in `folder`. A run may go on writing it: each query sees what is there by then.

        Raises:
            UsageError: there is none.
        """
        return View(open_to_read(Path(folder).absolute()))

    def run(self) -> Run:
        """The run of this folder.

        Raises:
            UsageError: it never began.
        """
        if (found := self._run()) is None:
            raise UsageError(f"no batch run in {self._folder}: nothing was started there")
        return found

    def rows(self, *states: State) -> Iterator[Row]:
        """All rows, or those in one of `states`; read while they are asked for."""
        marks = ", ".join("?" * len(states))
        condition = f"wanted AND state IN ({marks})" if states else "wanted"
        for values in self._pages(", ".join(COLUMNS), condition, *states):
            yield row_of(values)

    def repositories(self) -> Iterator[Repository]:
        """The repositories as the manifest describes them, with the credentials in their URLs; read as `rows` are."""
        for (repository,) in self._pages("repository", "wanted"):
            yield msgspec.json.decode(repository, type=Repository)

    def row(self, name: str) -> Row | None:
        """The row of a repository; None where the run has none of that name."""
        found = self._database.all(f"SELECT {', '.join(COLUMNS)} FROM repositories WHERE name = ? AND wanted", name)
        return row_of(found[0]) if found else None

    def summary(self) -> Summary:
        """The sums over all rows. SQL makes them: a run may have more rows than memory should hold."""
        states = dict.fromkeys(State, 0)
        counted = self._database.all("SELECT state, count(*) FROM repositories WHERE wanted GROUP BY state")
        states |= {State(state): count for state, count in counted}
        sums = ", ".join(f"total({name})" for name in ("files", "findings", "kept", "dropped", "unhandled"))
        [(*counts, published, seconds, first, last)] = self._database.all(
            f"SELECT {sums}, count(published), total(seconds), min(started), max(finished)"
            " FROM repositories WHERE wanted"
        )
        [(unwanted,)] = self._database.all("SELECT count(*) FROM repositories WHERE NOT wanted")
        files, findings, kept, dropped, unhandled = map(int, counts)
        phases, verdicts = self._totals("phases"), self._totals("verdicts")
        return Summary(
            states=states,
            files=files,
            findings=findings,
            kept=kept,
            dropped=dropped,
            unhandled=unhandled,
            published=published,
            seconds=seconds,
            phases=phases,
            verdicts={kind: int(count) for kind, count in verdicts.items()},
            errors=self._error_groups(),
            first_started=first,
            last_finished=last,
            unwanted=unwanted,
        )

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _folder(self) -> str:
        return visible(str(self._database.path.parent))

    def _run(self) -> Run | None:
        found = self._database.all("SELECT plan, rules, version, fingerprint, created, started FROM run")
        return Run(msgspec.json.decode(found[0][0], type=Plan), *found[0][1:]) if found else None

    def _pages(self, columns: str, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows that fulfil a condition, by position. Each comes once, even if the caller then changes its state."""
        last = -1
        while True:
            page = self._database.all(
                f"SELECT position, {columns} FROM repositories WHERE {condition} AND position > ?"
                f" ORDER BY position LIMIT {_PAGE}",
                *values,
                last,
            )
            for _, *row in page:
                yield tuple(row)
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    def _totals(self, column: str) -> dict[str, float]:
        """The sums by key of a column that holds a mapping, as JSON."""
        return dict(
            self._database.all(
                f"SELECT each.key, total(each.value) FROM repositories, json_each(repositories.{column}) AS each"
                " WHERE wanted GROUP BY each.key ORDER BY each.key"
            )
        )

    def _error_groups(self) -> tuple[ErrorGroup, ...]:
        """The most frequent first; each with its first few repositories, which is what numbering the rows is for."""
        found = self._database.all(
            "SELECT error_kind, total, name FROM ("
            " SELECT error_kind, name, count(*) OVER (PARTITION BY error_kind) AS total,"
            " row_number() OVER (PARTITION BY error_kind ORDER BY position) AS number"
            " FROM repositories WHERE wanted AND error_kind IS NOT NULL"
            f") WHERE number <= {EXAMPLES} ORDER BY total DESC, error_kind, number"
        )
        groups: dict[str, ErrorGroup] = {}
        for kind, total, name in found:
            names = groups[kind].names if kind in groups else ()
            groups[kind] = ErrorGroup(kind, total, (*names, name))
        return tuple(groups.values())
