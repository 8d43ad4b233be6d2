"""A run: the repositories of its ledger through an engine, their results onto the disk, and the report.

The driver alone writes the ledger, the results, the patches and the report. A result is on the disk before the ledger
says that its repository is done, so that a driver that is killed leaves nothing to trust that is not there.
"""

import datetime
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from devfix.atomic import put
from devfix.batch.choices import Commits, Existing, Publish
from devfix.batch.engines import Engine, Finished, Lost
from devfix.batch.git.process import require_git
from devfix.batch.git.sources import revision_fault
from devfix.batch.ledger import Ledger, View, Waiting, is_held
from devfix.batch.manifest import Manifest, read
from devfix.batch.progress import Told, batch_progress
from devfix.batch.publishing.publish import require_publisher
from devfix.batch.records import Error, Job, Outcome, Plan, Repository, Rules, State
from devfix.batch.report import Totals, status_document, status_lines, summary_lines, write_index, write_pages
from devfix.batch.report.run import INDEX, PAGES
from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.reporting.terminal import Printer, visible

MOST_ATTEMPTS = 2
"""A repository whose worker died is given to one other."""
_NAMED_RULES = 3
"""A branch names so many rules; of more it has a digest."""


@dataclass(frozen=True)
class Wishes:
    """What the command line says of a run; None where it leaves the choice to the manifest."""

    publish: Publish | None = None
    existing: Existing | None = None
    commits: Commits | None = None
    branch: str | None = None
    execute: bool = False
    trust_code: bool = False
    drop_clones: bool = False
    replay_tests: bool = False


def run(manifest: str, folder: str, wishes: Wishes, rules: Rules, engine: Engine, quiet: bool) -> int:
    """Begin a run, or go on with it, and return the exit code.

    Raises:
        UsageError: the run cannot start.
    """
    read_in = read(manifest)
    if wishes.branch is not None and (fault := revision_fault(wishes.branch)) is not None:
        raise UsageError(f"--branch {visible(wishes.branch)}: {fault}")
    repositories = [replace(one, rules=_over(one.rules, rules)) for one in read_in.repositories]
    plan = _plan(read_in, repositories, Path(folder).absolute(), wishes)
    _require(plan, repositories)
    with Ledger.open(plan.folder) as ledger:
        plan = ledger.begin(plan, _told(rules))
        for name in ledger.enter(repositories).superseded:
            _forget(Path(plan.folder), name)
        return _Drive(ledger, plan, engine, quiet).to_its_end()


def retry(folder: str, names: Sequence[str], failed: bool, engine: Engine, quiet: bool) -> int:
    """Do some repositories of a run again, and return the exit code.

    Raises:
        UsageError: there is no such run or repository, or nothing says which ones.
    """
    if not names and not failed:
        raise UsageError("name the repositories to do again, or say --failed")
    Ledger.read_only(folder).close()  # says so where there is none, and makes none
    with Ledger.open(folder) as ledger:
        plan = replace(ledger.run().plan, folder=str(Path(folder).absolute()))  # it may have been moved since
        _require(plan, ledger.repositories())
        if failed:
            ledger.requeue()
        if names:
            ledger.requeue(names)
        return _Drive(ledger, plan, engine, quiet).to_its_end()


def _over(own: Rules, given: Rules) -> Rules:
    """The rules of a repository with what the command line says instead."""
    return Rules(
        own.select if given.select is None else given.select,
        own.ignore + given.ignore,
        own.unsafe if given.unsafe is None else given.unsafe,
        given.target_torch or own.target_torch,
        own.suggestions if given.suggestions is None else given.suggestions,
        own.min_confidence if given.min_confidence is None else given.min_confidence,
    )


def _plan(manifest: Manifest, repositories: Sequence[Repository], folder: Path, wishes: Wishes) -> Plan:
    now = datetime.datetime.now().astimezone().replace(microsecond=0)
    return Plan(
        folder=str(folder),
        branch=wishes.branch or f"devfix/{now:%Y-%m-%d}-{_rules_told(repositories)}",
        date=now.isoformat(),
        publish=wishes.publish or manifest.publish or Publish.PATCH,
        existing=wishes.existing or manifest.existing or Existing.SKIP,
        commits=wishes.commits or manifest.commits or Commits.RULE,
        execute=wishes.execute,
        trust_code=wishes.trust_code,
        tests=wishes.replay_tests,
        keep_clones=not wishes.drop_clones,
        git_config=manifest.git_config,
    )


def _rules_told(repositories: Sequence[Repository]) -> str:
    """The rules of all repositories in a word that a branch can have."""
    chosen = {one.rules.select for one in repositories}
    if chosen == {None}:
        return "all"
    names = sorted({name.lower() for select in chosen for name in select or ("all",)})
    if len(names) <= _NAMED_RULES:
        return "-".join(names)
    return f"{len(names)}-rules-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:8]}"


def _told(rules: Rules) -> str:
    """What the command line says of the rules."""
    words = [f"--select {','.join(rules.select)}"] if rules.select is not None else []
    words += [f"--ignore {','.join(rules.ignore)}"] if rules.ignore else []
    words += [] if rules.unsafe is None else ["--unsafe" if rules.unsafe else "--no-unsafe"]
    words += ["--target-torch {}.{}".format(*rules.target_torch)] if rules.target_torch is not None else []
    words += [] if rules.suggestions is None else ["--suggestions" if rules.suggestions else "--no-suggestions"]
    words += [f"--min-confidence {rules.min_confidence:g}"] if rules.min_confidence is not None else []
    return " ".join(words)


def _forget(folder: Path, name: str) -> None:
    """Results of another order are none."""
    for file in (f"results/{name}.json", f"patches/{name}.patch", f"{PAGES}/{name}.html"):
        (folder / file).unlink(missing_ok=True)


def _require(plan: Plan, repositories: Iterable[Repository]) -> None:
    """Go on only where what every repository needs is there.

    Raises:
        UsageError: something is not.
    """
    require_git()
    require_publisher(plan, repositories)
    if plan.execute and not plan.trust_code:
        from devfix.replay.confinement import find_confinement

        found = find_confinement()
        if isinstance(found, str):
            raise UsageError(f"--replay has no sandbox for strangers' code: {found}; --trust-code goes without one")


class _Drive:
    """The driver of one run."""

    def __init__(self, ledger: Ledger, plan: Plan, engine: Engine, quiet: bool) -> None:
        self._ledger = ledger
        self._plan = plan
        self._engine = engine
        self._quiet = quiet
        self._folder = Path(plan.folder)
        self._queue: Iterator[Waiting] = iter(())
        self._told = Told()

    def to_its_end(self) -> int:
        for name in self._ledger.interrupted():
            shutil.rmtree(self._folder / "work" / name, ignore_errors=True)
        self._clear()
        summary = self._ledger.summary()
        with batch_progress(summary.total, summary.finished, self._quiet) as self._told:
            self._work()
        return _report(self._folder, self._ledger, self._quiet)

    def _clear(self) -> None:
        """Remove what a driver that was killed had half written."""
        for part in ("", "results", "patches", PAGES):
            for file in (self._folder / part).glob(".*.tmp"):
                file.unlink(missing_ok=True)

    def _work(self) -> None:
        self._queue = self._ledger.queued()
        with closing(self._engine.run(self._next, self._started, self._told.refresh)) as results:
            for one in results:
                if isinstance(one, Finished):
                    self._finished(one.outcome)
                else:
                    self._lost(one)

    def _next(self) -> Job | None:
        """The next job. What was put back stands at the end, and comes when the queue is asked again."""
        for _ in range(2):
            waiting = next(self._queue, None)
            if waiting is not None:
                self._ledger.start(waiting.repository.name, waiting.attempt)
                return Job(self._plan, waiting.repository, waiting.attempt)
            self._queue = self._ledger.queued()
        return None

    def _started(self, job: Job, worker: str) -> None:
        self._ledger.assign(job.repository.name, worker)
        self._told.started(job.repository.name)

    def _lost(self, lost: Lost) -> None:
        """The worker is gone: once more with another, then it counts as failed."""
        name = lost.job.repository.name
        if lost.job.attempt < MOST_ATTEMPTS:
            self._ledger.put_back(name)
            self._told.again(name, lost.reason)
            return
        error = Error("worker lost", f"{lost.reason} ({lost.job.attempt} attempts)")
        self._finished(Outcome(name, State.FAILED, error=error, worker=lost.worker))

    def _finished(self, outcome: Outcome) -> None:
        self._put(f"results/{outcome.name}.json", msgspec.json.encode(outcome))
        if self._plan.publish is Publish.PATCH and outcome.patch:
            self._put(f"patches/{outcome.name}.patch", outcome.patch)
        else:
            (self._folder / "patches" / f"{outcome.name}.patch").unlink(missing_ok=True)
        self._ledger.finish(outcome)
        self._told.ended(outcome)

    def _put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        try:
            path.parent.mkdir(exist_ok=True)
            put(str(path), data)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}; the same command goes on") from error


def status(folder: str, output_format: OutputFormat) -> int:
    """Show how far a run is.

    Raises:
        UsageError: there is none.
    """
    with Ledger.read_only(folder) as view:
        totals, now, active = Totals.of(view), time.time(), is_held(Path(folder))
    if output_format is OutputFormat.JSON:
        print(json.dumps(status_document(totals, now, active), indent=2))
    else:
        Printer(sys.stdout).lines(status_lines(totals, now, active))
    return 0


def report(folder: str) -> int:
    """Write the report of a run anew, as far as the run is.

    Raises:
        UsageError: there is none, or it cannot be written.
    """
    with Ledger.read_only(folder) as view:
        return _report(Path(folder), view, quiet=False)


def _report(folder: Path, view: View, quiet: bool) -> int:
    """Write the report, tell what came of the run, and return the exit code."""
    totals = _written(folder, view)
    if not quiet:
        Printer(sys.stdout).lines(summary_lines(totals, os.path.relpath(folder / INDEX)))
    return _exit_code(totals)


def _written(folder: Path, view: View) -> Totals:
    try:
        write_pages(folder, view)
        return write_index(folder, view)
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.strerror}: {error.filename}") from error


def _exit_code(totals: Totals) -> int:
    """2 where a repository failed, 1 where a fix was refuted, else 0."""
    states = totals.summary.states
    return 2 if states[State.FAILED] else int(bool(states[State.REFUTED]))
