"""One repository from its clone to its outcome."""

import contextlib
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from devfix.batch.choices import Commits
from devfix.batch.errors import BranchTakenError, RepositoryError
from devfix.batch.git.clones import checkout
from devfix.batch.git.process import Git
from devfix.batch.git.worktrees import Checkout
from devfix.batch.migration.fixes import Fixes, Found, find
from devfix.batch.migration.recording import fixes_told, readable, suggestions_told, unhandled_told, verdicts_told
from devfix.batch.migration.timing import Timer
from devfix.batch.migration.verification import Proof, prove
from devfix.batch.publishing.messages import commit_message, pull_request
from devfix.batch.publishing.publish import publish
from devfix.batch.records import Commit, Error, Job, Outcome, State
from devfix.errors import UsageError
from devfix.replay.changes import Part


def migrate(job: Job) -> Outcome:
    """What becomes of the repository. Never raises, but where the user interrupts."""
    timer = Timer()
    try:
        outcome = _migrated(job, timer)
    except BranchTakenError as taken:
        outcome = Outcome(job.repository.name, State.SKIPPED, notes=(readable(str(taken)),))
    except RepositoryError as error:
        outcome = _failed(job, error.record)
    except UsageError as error:
        outcome = _failed(job, Error("settings", str(error)))
    except OSError as error:
        outcome = _failed(job, Error(f"{type(error).__name__}: {error.strerror}", str(error)))
    except Exception as error:  # one repository must not end a run of thousands
        outcome = _failed(job, Error("a defect of devfix", f"please report it: {type(error).__name__}: {error}"))
    return _with_worker(outcome, timer)


def _migrated(job: Job, timer: Timer) -> Outcome:
    plan, repository = job.plan, job.repository
    git = Git(plan.git_config)
    with contextlib.ExitStack() as stack:
        with timer.of("clone"):
            tree = stack.enter_context(checkout(plan, repository, git))
        stack.enter_context(_temporary(tree.scratch / "tmp"))
        start = Outcome(repository.name, State.CLEAN, tree.commit, tree.branch)
        with timer.of("rewrite"):
            found = find(tree.top, tree.folder, repository.rules, job.cores)
        fixes = found.fixes()
        proof = prove(job, fixes, timer) if plan.execute and fixes.all else Proof(tree.folder)
        told = _told(start, found, fixes, proof)
        if not fixes.parts:
            return told
        with timer.of("commit"):
            made = _committed(tree, fixes, told, plan.commits)
        with timer.of("publish"):
            return _published(job, tree, made)


def _told(start: Outcome, found: Found, fixes: Fixes, proof: Proof) -> Outcome:
    """The outcome as far as it is known before anything is committed."""
    return replace(
        start,
        state=_state(fixes),
        files=len(found.discovery.files),
        findings=found.left,
        fixes=fixes_told(found, fixes, proof.replays, proof.root),
        suggestions=suggestions_told(found, fixes.top),
        verdicts=verdicts_told(proof.replays, proof.root),
        checks=proof.checks,
        unhandled=unhandled_told(found, fixes.top),
        notes=proof.notes,
    )


def _state(fixes: Fixes) -> State:
    if fixes.dropped:
        return State.REFUTED
    return State.CHANGED if fixes.all else State.CLEAN


def _committed(tree: Checkout, fixes: Fixes, told: Outcome, how: Commits) -> Outcome:
    """The outcome with the fixes that hold as commits on the branch of the worktree."""
    codes = sorted(frozenset(code for part in fixes.parts for code in fixes.rules_of(part)))
    groups = [codes] if how is Commits.ALL else [[code] for code in codes]
    commits, chosen, there = list[Commit](), list[Part](), dict[Path, bytes]()
    for group in groups:
        chosen += [part for part in fixes.parts if part not in chosen and fixes.rules_of(part).intersection(group)]
        files = {path: data for path, data in fixes.files(chosen).items() if there.get(path) != data}
        if files:
            message = commit_message([fix for fix in told.kept if fix.code in group])
            commits.append(tree.commit_files({_below(path, tree): data for path, data in files.items()}, message))
            there |= files
    return replace(told, commits=tuple(commits), diff=tree.diff(), patch=tree.patch())


def _below(path: Path, tree: Checkout) -> str:
    return path.relative_to(tree.folder).as_posix()


def _published(job: Job, tree: Checkout, made: Outcome) -> Outcome:
    title, body = pull_request(made, job.repository)
    told = replace(made, body=body)
    return replace(told, published=publish(tree, job.plan, job.repository, title, body))


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Temporary files go into `folder`, so that all that a run writes is in its own."""
    folder.mkdir(exist_ok=True)
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before[0]
        os.environ.pop("TMPDIR")
        if before[1] is not None:
            os.environ["TMPDIR"] = before[1]


def _failed(job: Job, error: Error) -> Outcome:
    told = Error(readable(error.kind), readable(error.message))
    return Outcome(job.repository.name, State.FAILED, error=told)


def _with_worker(outcome: Outcome, timer: Timer) -> Outcome:
    return replace(outcome, seconds=timer.seconds, worker=outcome.worker or platform.node())
