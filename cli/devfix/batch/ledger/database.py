"""The file behind a ledger: SQLite, in which a transaction is there as a whole or not at all."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from devfix.errors import UsageError
from devfix.reporting.terminal import visible

FILE = "ledger.sqlite"
_OURS = 0x64766678
"""`dvfx`: marks the file as a ledger, https://www.sqlite.org/pragma.html#pragma_application_id."""
_VERSION = 1
_WAIT = 60.0
"""How long to wait for another process, in seconds: it only ever writes for moments."""
_SCHEMA = (
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1), plan TEXT NOT NULL, rules TEXT NOT NULL, version TEXT NOT NULL,
        fingerprint TEXT NOT NULL, created REAL NOT NULL, started REAL NOT NULL
    )
    """,
    """
    CREATE TABLE repositories (
        id INTEGER PRIMARY KEY, position INTEGER NOT NULL, wanted INTEGER NOT NULL DEFAULT 1,
        name TEXT NOT NULL COLLATE NOCASE UNIQUE, key TEXT NOT NULL, repository TEXT NOT NULL, source TEXT NOT NULL,
        revision TEXT, subfolder TEXT NOT NULL, labels TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'queued',
        attempt INTEGER NOT NULL DEFAULT 0, commit_found TEXT NOT NULL DEFAULT '', started REAL, finished REAL,
        seconds REAL NOT NULL DEFAULT 0, phases TEXT NOT NULL DEFAULT '{}', files INTEGER NOT NULL DEFAULT 0,
        findings INTEGER NOT NULL DEFAULT 0, kept INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0,
        unhandled INTEGER NOT NULL DEFAULT 0, verdicts TEXT NOT NULL DEFAULT '{}', published TEXT, error_kind TEXT,
        error_message TEXT, worker TEXT NOT NULL DEFAULT ''
    )
    """,
    "CREATE INDEX in_order ON repositories (position) WHERE wanted",
    "CREATE INDEX by_state ON repositories (state, position) WHERE wanted",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)


class Database:
    """A connection, which ends with `close`. What SQLite reports becomes one line: a UsageError."""

    def __init__(self, path: Path, mode: str) -> None:
        self.path = path
        # As bytes, which need be no text; behind an empty authority, which else a path that begins with // would be.
        location = f"file://{quote(bytes(path.absolute()))}?{mode}"
        with self._plainly():
            self._connection = sqlite3.connect(location, uri=True, timeout=_WAIT, isolation_level=None)

    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._plainly():
            return self._connection.execute(statement, values).fetchall()

    def do(self, statement: str, *values: Any) -> int:
        """How many rows it changed."""
        with self._plainly():
            return self._connection.execute(statement, values).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done inside is done when it ends well, on the disk, or not at all."""
        self.do("BEGIN IMMEDIATE")
        try:
            yield
            self.do("COMMIT")
        finally:
            if self._connection.in_transaction:
                self.do("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        path = visible(str(self.path))
        try:
            yield
        except sqlite3.OperationalError as error:
            raise UsageError(f"{path}: {error}") from error
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # a mistake of ours
                raise
            raise UsageError(f"{path} is damaged or no ledger ({error}); use another folder") from error


def open_to_write(folder: Path) -> Database:
    """The ledger in `folder`, made where there is none.

    Raises:
        UsageError: what is there is no ledger, or a newer devfix made it.
        OSError: it cannot be made.
    """
    path = folder / FILE
    # It holds what the sources hold, credentials too: for the user's eyes only.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    database = Database(path, "mode=rw")
    try:
        is_new = _is_new(database)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            database.all(f"PRAGMA {pragma}")
        if is_new:
            with database.transaction():
                for statement in _SCHEMA:
                    database.do(statement)
    except BaseException:
        database.close()
        raise
    return database


def open_to_read(folder: Path) -> Database:
    """The ledger in `folder`, which may be written meanwhile.

    Raises:
        UsageError: there is none, or a newer devfix made it.
    """
    path = folder / FILE
    if not path.is_file():
        raise UsageError(f"no batch run in {visible(str(folder))}: it holds no {FILE}")
    # On a read-only disk SQLite has no place for its notes on who reads; nobody can write there either.
    is_fixed = not os.access(folder, os.W_OK) and not path.with_name(f"{FILE}-wal").exists()
    database = Database(path, "immutable=1" if is_fixed else "mode=ro")
    try:
        if _is_new(database):
            raise UsageError(f"no batch run in {visible(str(folder))}: nothing was started there")
    except BaseException:
        database.close()
        raise
    return database


_KIND = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""


def _is_new(database: Database) -> bool:
    """Whether the file is still empty.

    Raises:
        UsageError: it is somebody else's, or from a newer devfix.
    """
    path = visible(str(database.path))
    [(application, version, tables)] = database.all(_KIND)  # in one go: somebody may be about to begin
    if application == version == tables == 0:
        return True
    if application != _OURS:
        raise UsageError(f"{path} is no ledger of devfix; use another folder")
    if version > _VERSION:
        raise UsageError(f"{path} was written by a newer devfix; use that, or another folder")
    return False
