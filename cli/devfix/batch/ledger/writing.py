"""The ledger as the driver keeps it. Every method is one transaction: a run that is killed leaves it whole."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import devfix
from devfix.batch.choices import Existing
from devfix.batch.git.sources import shown
from devfix.batch.ledger.database import FILE, Database, open_to_write
from devfix.batch.ledger.locking import FILE as LOCK
from devfix.batch.ledger.locking import Lock
from devfix.batch.ledger.reading import View
from devfix.batch.ledger.rows import Run, Waiting
from devfix.batch.records import Outcome, Plan, Repository, State
from devfix.errors import UsageError, close_match
from devfix.reporting.terminal import visible

_OWN_FILES = {LOCK, FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"}
_UNDONE = (
    "state = 'queued', attempt = 0, commit_found = '', started = NULL, finished = NULL, seconds = 0, phases = '{}',"
    " files = 0, findings = 0, kept = 0, dropped = 0, unhandled = 0, verdicts = '{}', published = NULL,"
    " error_kind = NULL, error_message = NULL, worker = ''"
)


@dataclass(frozen=True)
class Entered:
    """What `Ledger.enter` found: how many are new, and which were there for another order, whose results are void."""

    added: int
    superseded: tuple[str, ...]


class Ledger(View):
    """The ledger of a run that goes on; `open` it. The folder is locked until `close`.

    Raises:
        UsageError: (from any method) the file cannot be written, or is damaged.
    """

    def __init__(self, database: Database, lock: Lock) -> None:
        super().__init__(database)
        self._lock = lock

    @classmethod
    def open(cls, folder: str | Path) -> "Ledger":
        """The ledger in `folder`; both are made where they are not there.

        Raises:
            UsageError: another driver runs there, the folder is for something else, or it cannot be used.
        """
        path = Path(folder).absolute()
        try:
            str(path).encode()  # what a run keeps of it is text
            path.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in path.iterdir()}
            if FILE not in names and names - _OWN_FILES:
                raise UsageError(f"{visible(str(path))} is not the folder of a batch run, and not empty; use another")
            lock = Lock(path)
        except UnicodeEncodeError as error:
            raise UsageError(f"{visible(str(path))} cannot hold a batch run: its path is no UTF-8") from error
        except OSError as error:
            raise UsageError(f"{visible(str(path))} cannot hold a batch run: {error.strerror}") from error
        try:
            return cls(open_to_write(path), lock)
        except OSError as error:
            lock.release()
            raise UsageError(f"{visible(str(path / FILE))} cannot be written: {error.strerror}") from error
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        super().close()
        self._lock.release()

    def begin(self, plan: Plan, rules: str = "") -> Plan:
        """Start the run, or go on with it: the answer is the plan, with the branch and date of the first start.

        `rules` are those of the whole run, in words. Where `--existing` is now `replace`, what was skipped is queued.

        Raises:
            UsageError: the results would be mixed with those of another order.
        """
        from devfix.analysis.cache import fingerprint

        with self._database.transaction():
            first, now = self._run(), time.time()
            if first is not None:
                self._refuse_another(first, plan, rules)
                plan = msgspec.structs.replace(plan, branch=first.plan.branch, date=first.plan.date)
            self._database.do(
                "INSERT OR REPLACE INTO run (id, plan, rules, version, fingerprint, created, started)"
                " VALUES (1, ?, ?, ?, ?, ?, ?)",
                *(_json(plan), rules, _version(), fingerprint().hex(), first.created if first else now, now),
            )
            if plan.existing is Existing.REPLACE:
                self._database.do(f"UPDATE repositories SET {_UNDONE} WHERE state = ?", State.SKIPPED)
        return plan

    def enter(self, repositories: Iterable[Repository]) -> Entered:
        """Make these the repositories of the run. Those that are there for the same order stay as they are."""
        plan, version = self.run().plan, _version()
        added, superseded = 0, []
        with self._database.transaction():
            [(before,)] = self._database.all("SELECT count(*) FROM repositories")
            self._database.do("UPDATE repositories SET wanted = 0 WHERE wanted")
            for position, repository in enumerate(repositories):
                key = _key(plan, repository, version)
                if self._database.do("DELETE FROM repositories WHERE name = ? AND key <> ?", repository.name, key):
                    superseded.append(repository.name)
                self._put(position, key, repository)
            [(after,)] = self._database.all("SELECT count(*) FROM repositories")
            added = after - before
        return Entered(added, tuple(superseded))

    def interrupted(self) -> tuple[str, ...]:
        """Queue again what a killed run left half-done, and name it. That attempt does not count."""
        with self._database.transaction():
            found = self._database.all("SELECT name FROM repositories WHERE state = ? ORDER BY position", State.RUNNING)
            self._database.do(
                "UPDATE repositories SET state = ?, attempt = attempt - 1, started = NULL, worker = '' WHERE state = ?",
                *(State.QUEUED, State.RUNNING),
            )
        return tuple(name for (name,) in found)

    def queued(self) -> Iterator[Waiting]:
        """What is to be done, read while it is asked for.

        What is queued again, with a position that was passed already, comes with the next call.
        """
        for repository, attempt in self._pages("repository, attempt", "wanted AND state = ?", State.QUEUED):
            yield Waiting(msgspec.json.decode(repository, type=Repository), attempt + 1)

    def start(self, name: str, attempt: int, worker: str = "") -> None:
        """A queued repository is being done.

        Raises:
            LookupError: it is not queued.
        """
        self._move(
            "state = ?, attempt = ?, worker = ?, started = ?", name, State.QUEUED,
            State.RUNNING, attempt, _text(worker), time.time(),
        )  # fmt: skip

    def assign(self, name: str, worker: str) -> None:
        """A worker has a running repository: from now on its time counts.

        Raises:
            LookupError: it is not running.
        """
        self._move("worker = ?, started = ?", name, State.RUNNING, _text(worker), time.time())

    def put_back(self, name: str) -> None:
        """A repository whose worker was lost waits for its next attempt.

        Raises:
            LookupError: it is not running.
        """
        self._move("state = ?, started = NULL, worker = ''", name, State.RUNNING, State.QUEUED)

    def finish(self, outcome: Outcome) -> None:
        """A running repository is done. Its result files must be on the disk by now.

        Raises:
            LookupError: it is not running.
        """
        error = outcome.error
        values = {
            "state": outcome.state,
            "commit_found": _text(outcome.commit),
            "finished": time.time(),
            "seconds": sum(outcome.seconds.values()),
            "phases": _json(outcome.seconds),
            "files": outcome.files,
            "findings": outcome.findings,
            "kept": len(outcome.kept),
            "dropped": len(outcome.fixes) - len(outcome.kept),
            "unhandled": len(outcome.unhandled),
            "verdicts": _json(dict(Counter(verdict.kind for verdict in outcome.verdicts))),
            "published": None if outcome.published is None else _text(outcome.published),
            "error_kind": None if error is None else _text(error.kind),
            "error_message": None if error is None else _text(error.message),
        } | ({"worker": _text(outcome.worker)} if outcome.worker else {})
        self._move(", ".join(f"{name} = ?" for name in values), outcome.name, State.RUNNING, *values.values())

    def requeue(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Queue finished repositories as if they had never been done, and name them; by default those that failed.

        Raises:
            UsageError: the run has no repository of one of the names.
        """
        with self._database.transaction():
            chosen = tuple(row.name for row in self.rows(State.FAILED)) if names is None else self._known(names)
            done = [state for state in State if state.is_final]
            marks = ", ".join("?" * len(done))
            again = f"UPDATE repositories SET {_UNDONE} WHERE name = ? AND wanted AND state IN ({marks})"
            return tuple(name for name in chosen if self._database.do(again, name, *done))

    def _refuse_another(self, first: Run, plan: Plan, rules: str) -> None:
        asked = first.plan
        same = {
            f"--publish {asked.publish}": asked.publish == plan.publish,
            f"--commits {asked.commits}": asked.commits == plan.commits,
            "--replay" if asked.execute else "no --replay": asked.execute == plan.execute,
            "--replay-tests" if asked.tests else "no --replay-tests": asked.tests == plan.tests,
            f"the rules {first.rules or 'of the repositories'}": first.rules == rules,
        }
        if different := [words for words, is_same in same.items() if not is_same]:
            began = " and ".join(different)
            raise UsageError(f"the run in {self._folder} began with {began}; ask for the same, or use another folder")

    def _put(self, position: int, key: str, repository: Repository) -> None:
        """Insert the row, or keep the one that is there up to what changes no result."""
        values = {
            "position": position,
            "name": repository.name,
            "key": key,
            "repository": _json(repository),
            "source": shown(repository.source),
            "revision": repository.revision,
            "subfolder": repository.subfolder,
            "labels": _json(repository.labels),
        }
        updates = ", ".join(f"{name} = excluded.{name}" for name in ("position", "repository", "source", "labels"))
        self._database.do(
            f"INSERT INTO repositories ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
            f" ON CONFLICT (name) DO UPDATE SET wanted = 1, {updates}",
            *values.values(),
        )

    def _move(self, changes: str, name: str, state: State, *values: Any) -> None:
        with self._database.transaction():
            moved = self._database.do(
                f"UPDATE repositories SET {changes} WHERE name = ? AND state = ?", *values, name, state
            )
            if not moved:
                raise LookupError(f"{name} is not {state}")

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        found: list[str] = []
        for name in names:
            row = self.row(name)
            if row is None:
                known = [row.name for row in self.rows()]
                raise UsageError(f"the run has no repository {name!r}{close_match(name, known)}")
            found.append(row.name)
        return tuple(found)


def _key(plan: Plan, repository: Repository, version: str) -> str:
    """Changes with everything that can change the result: labels and credentials cannot."""
    order = msgspec.structs.replace(repository, labels=(), source=shown(repository.source))
    asked = {"publish": plan.publish, "commits": plan.commits, "execute": plan.execute, "devfix": version}
    return hashlib.sha256(msgspec.json.encode([asked, order], order="sorted")).hexdigest()


def _version() -> str:
    from devfix.rules import plugins

    return " + ".join([devfix.__version__, *sorted({plugin.title for plugin in plugins.in_use()})])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    """`text` as UTF-8 can hold it: file names and messages may hold bytes that are no text."""
    return text.encode(errors="backslashreplace").decode()
