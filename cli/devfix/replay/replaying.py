"""From changed files to verdicts: which of them run, in which tree, and what their runs say of each fix."""

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import NoReturn

from devfix_codemods.findings import Finding

from devfix.replay.backends import Backend, BackendError, select
from devfix.replay.outcomes import Outcome
from devfix.replay.patches import Patch
from devfix.replay.runner import Task, execute
from devfix.replay.scripts import module_name, why_not_runnable
from devfix.replay.verdicts import Kind, Verdict, decide, inconclusive
from devfix.replay.workspace import Limits, Workspace, WorkspaceError, project_root

Progress = Callable[[Path, str], None]
"""Called with the script's path and what happens to it next: `before`, `after`, `before again`."""

MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Change:
    """A file and its patch. `findings` are those whose fixes made the patch, at their positions before it."""

    path: Path
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    findings: tuple[Finding, ...] = ()

    @cached_property
    def patch(self) -> Patch:
        return Patch(self.before, self.after)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay.

    `on` is one of `CHOICES`; `timeout` is in seconds and holds for each run; `args` follow the script. `memory` is in
    bytes, None for most of what the machine has. `keep` leaves the last copy of the tree where it is.
    """

    on: str = "auto"
    timeout: float = 300.0
    python: str = sys.executable
    args: tuple[str, ...] = ()
    memory: int | None = None
    seed: int = 0
    keep: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class FixResult:
    """What the replay says of one fix: the verdict on its file, unless its own lines never ran."""

    finding: Finding
    kind: Kind


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What the replay says of one changed file. `before` and `after` are None where nothing was run."""

    path: Path
    command: str
    on: str
    verdict: Verdict
    before: Outcome | None = None
    after: Outcome | None = None
    fixes: tuple[FixResult, ...] = ()
    kept: Path | None = None


def run_replays(
    changes: Sequence[Change], options: ReplayOptions, progress: Progress | None = None
) -> list[ReplayResult]:
    """Replay each changed script, and judge each changed library file by the scripts of its tree that ran it.

    The runs after see all changes to a tree together. Results come in the order of `changes`.
    """
    if not hasattr(os, "wait4"):
        return [_unrun(change, options, "replay needs Linux or macOS") for change in changes]
    try:
        backend = select(options.on, options.python)
    except BackendError as error:
        return [_unrun(change, options, str(error)) for change in changes]
    with _stopped_cleanly():
        return replay_on(backend, changes, options, progress or _silent)


def replay_on(
    backend: Backend, changes: Sequence[Change], options: ReplayOptions, progress: Progress
) -> list[ReplayResult]:
    """`run_replays` with the backend already chosen."""
    results: dict[Path, ReplayResult] = {}
    for root, members in _by_tree(changes).items():
        for result in _replay_tree(root, members, backend, options, progress):
            results[result.path] = result
    return [results[change.path] for change in changes]


def _silent(_path: Path, _step: str) -> None:
    """Report no progress."""


def _by_tree(changes: Sequence[Change]) -> dict[Path, list[Change]]:
    trees: dict[Path, list[Change]] = {}
    for change in changes:
        trees.setdefault(project_root(change.path), []).append(change)
    return trees


def _replay_tree(
    root: Path, changes: Sequence[Change], backend: Backend, options: ReplayOptions, progress: Progress
) -> list[ReplayResult]:
    reasons = {change.path: why_not_runnable(change.path, change.before) for change in changes}
    scripts = [change for change in changes if reasons[change.path] is None]
    if not scripts:
        return [_unrun(change, options, reasons[change.path] or "") for change in changes]
    try:
        with Workspace(root, options.limits, options.keep) as workspace:
            tree = _Tree(workspace, changes, backend, options, progress)
            ran = [tree.replay(change) for change in scripts]
    except WorkspaceError as error:
        return [_unrun(change, options, str(error)) for change in changes]
    others = [change for change in changes if change not in scripts]
    return ran + [tree.judge(change, ran, reasons[change.path] or "") for change in others]


def _unrun(change: Change, options: ReplayOptions, reason: str) -> ReplayResult:
    fixes = tuple(FixResult(finding, Kind.INCONCLUSIVE) for finding in change.findings)
    return ReplayResult(change.path, "", options.on, inconclusive(reason), fixes=fixes)


@dataclass(frozen=True, slots=True)
class _Tree:
    """One tree with all its changes, and the place where its scripts run."""

    workspace: Workspace
    changes: Sequence[Change]
    backend: Backend
    options: ReplayOptions
    progress: Progress

    def replay(self, change: Change) -> ReplayResult:
        """Run the script `change` before and after, and before once more where that could excuse a refutation."""
        before, after = self._run(change, "before"), self._run(change, "after")
        verdict = self._decide(change, before, after)
        if verdict.kind is Kind.REFUTED and before.error is None:
            verdict = self._decide(change, before, after, self._run(change, "before again"))
        return self._result(change, self._command(change), verdict, before, after)

    def judge(self, change: Change, ran: Sequence[ReplayResult], reason: str) -> ReplayResult:
        """The verdict on a file that does not run by itself, from the first script that reached its patch."""
        path = self._relative(change)
        for result in ran:
            before, after = result.before, result.after
            if before is not None and after is not None and any(file == path for file, _ in after.reached):
                verdict = self._decide(change, before, after)
                return self._result(change, result.command, verdict, before, after)
        return _unrun(change, self.options, reason)

    def _run(self, change: Change, step: str) -> Outcome:
        self.progress(change.path, step)
        self.workspace.fresh(
            {Path(self._relative(each)): each.after if step == "after" else each.before for each in self.changes}
        )
        return execute(self._task(change, watched=step == "after"))

    def _task(self, change: Change, watched: bool = True) -> Task:
        script = self.workspace.root / self._relative(change)
        options, backend = self.options, self.backend
        return Task(
            python=options.python,
            root=self.workspace.root,
            original=self.workspace.original,
            script=script,
            typed=os.path.relpath(script, self._cwd(script)),
            cwd=self._cwd(script),
            control=self.workspace.control,
            temporary=self.workspace.temporary,
            timeout=options.timeout,
            module=module_name(change.path.resolve(), change.before),
            arguments=options.args,
            watch={self._relative(each): each.patch.watched for each in self.changes} if watched else {},
            environment=backend.environment,
            probe_options=backend.probe_options(options.memory or _most_memory()),
            seed=options.seed,
        )

    def _cwd(self, script: Path) -> Path:
        """Where the user stands, if that is in the tree, as if the command had been typed there; else the script's."""
        with contextlib.suppress(ValueError):
            here = self.workspace.root / Path.cwd().relative_to(self.workspace.original)
            if here.is_dir():
                return here
        return script.parent

    def _relative(self, change: Change) -> str:
        return change.path.resolve().relative_to(self.workspace.original).as_posix()

    def _command(self, change: Change) -> str:
        task = self._task(change)
        target = ["-m", task.module] if task.module else [task.typed]
        return shlex.join(["python", *target, *task.arguments])

    def _decide(self, change: Change, before: Outcome, after: Outcome, again: Outcome | None = None) -> Verdict:
        verdict = decide(before, after, self.backend, change.patch, self._relative(change), again)
        left_out = self._left_out(before)
        if left_out is None or verdict.kind is not Kind.INCONCLUSIVE:
            return verdict
        return inconclusive(f"{verdict.reason} ({left_out} was not copied: {self.workspace.left_out[left_out]})")

    def _left_out(self, outcome: Outcome) -> Path | None:
        """The file that the workspace left out and that the script then missed."""
        if outcome.error is None or outcome.error.type != "FileNotFoundError":
            return None
        return next((path for path in self.workspace.left_out if path.as_posix() in outcome.error.message), None)

    def _result(self, change: Change, command: str, verdict: Verdict, before: Outcome, after: Outcome) -> ReplayResult:
        ran = {line for file, line in after.reached if file == self._relative(change)}
        fixes = tuple(FixResult(finding, _fix_kind(change, finding, ran, verdict)) for finding in change.findings)
        kept = self.workspace.folder if self.options.keep else None
        return ReplayResult(change.path, command, self.backend.name, verdict, before, after, fixes, kept)


def _fix_kind(change: Change, finding: Finding, ran: set[int], verdict: Verdict) -> Kind:
    """A fix shares the good verdict of its file only where its own lines ran."""
    if verdict.kind not in (Kind.CONFIRMED, Kind.HARMLESS) or finding.fix is None:
        return verdict.kind
    return Kind.NOT_REACHED if change.patch.coverage(ran, finding.fix).missed else verdict.kind


def _most_memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)


@contextlib.contextmanager
def _stopped_cleanly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, as Ctrl-C does: the copy is removed and the script ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in previous.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
