"""What the ledger tells: a run, its repositories, and their sums. Times are in seconds since the epoch."""

from typing import Any

import msgspec

from devfix.batch.records import Error, Plan, Repository, State


class Run(msgspec.Struct, frozen=True):
    """The run of a folder: `created` when it was first asked for, `started` when it last went on.

    `version` is that of devfix and its plug-ins, `fingerprint` changes with their code; both as of the last start.
    """

    plan: Plan
    rules: str
    version: str
    fingerprint: str
    created: float
    started: float


class Waiting(msgspec.Struct, frozen=True):
    """A repository to be done. `attempt` counts from 1."""

    repository: Repository
    attempt: int


class Row(msgspec.Struct, frozen=True):
    """One repository of the run. The source is without credentials; other text is as a stranger may have written it.

    `kept` and `dropped` count fixes, `unhandled` files; `verdicts` counts changed files by verdict. `phases` are the
    seconds of each phase, and `seconds` their sum. `key` changes with all that can change the result.
    """

    position: int
    name: str
    source: str
    revision: str | None
    subfolder: str
    labels: tuple[str, ...]
    key: str
    state: State
    attempt: int = 0
    commit: str = ""
    started: float | None = None
    finished: float | None = None
    seconds: float = 0.0
    phases: dict[str, float] = {}
    files: int = 0
    findings: int = 0
    kept: int = 0
    dropped: int = 0
    unhandled: int = 0
    verdicts: dict[str, int] = {}
    published: str | None = None
    error: Error | None = None
    worker: str = ""


class ErrorGroup(msgspec.Struct, frozen=True):
    """Repositories that failed for the same kind of reason: how many, and the first few."""

    kind: str
    count: int
    names: tuple[str, ...]


class Summary(msgspec.Struct, frozen=True):
    """The sums over all repositories of the run. `states` has them all; `errors` begins with the most frequent.

    `unwanted` are in the ledger and no longer in the manifest; no other number counts them.
    """

    states: dict[State, int]
    files: int
    findings: int
    kept: int
    dropped: int
    unhandled: int
    published: int
    seconds: float
    phases: dict[str, float]
    verdicts: dict[str, int]
    errors: tuple[ErrorGroup, ...]
    first_started: float | None
    last_finished: float | None
    unwanted: int

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def finished(self) -> int:
        return sum(count for state, count in self.states.items() if state.is_final)


COLUMNS = (
    *("position", "name", "source", "revision", "subfolder", "labels", "key", "state", "attempt", "commit_found"),
    *("started", "finished", "seconds", "phases", "files", "findings", "kept", "dropped", "unhandled", "verdicts"),
    *("published", "error_kind", "error_message", "worker"),
)
"""Of the table, in the order in which `row_of` takes them."""

_JSON = ("labels", "phases", "verdicts")


def row_of(values: tuple[Any, ...]) -> Row:
    said = dict(zip(COLUMNS, values, strict=True))
    kind, message = said.pop("error_kind"), said.pop("error_message")
    said |= {name: msgspec.json.decode(said[name]) for name in _JSON}
    said["error"] = None if kind is None else Error(kind, message)
    said["commit"] = said.pop("commit_found")
    return msgspec.convert(said, Row)
