"""From changed files to verdicts: which of them run, in which tree, and what their runs say of each fix."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.replay.backends import Backend, BackendError, select
from devfix.replay.changes import Change, Part, findings_of, parts_of, refuted_in_part
from devfix.replay.harness.driving import Harness
from devfix.replay.harness.telling import judged_by_driver
from devfix.replay.leftovers import stopped_cleanly
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Outcome
from devfix.replay.programs import Program, suite_of
from devfix.replay.results import FixResult, LoneRun, ReplayResult, SuiteReplay, notes_of
from devfix.replay.run_lock import RunLock, run_in_threads
from devfix.replay.schedule import Schedule
from devfix.replay.scripts import why_not_runnable
from devfix.replay.stage import Progress, Stage, silent
from devfix.replay.suites.verdicts import as_seen_by_patch, trouble
from devfix.replay.trials import Trial, Trials, first_run, plain_run
from devfix.replay.verdict_kinds import Kind, Verdict, inconclusive
from devfix.replay.warm import warm_starts
from devfix.replay.workspace import Workspace, WorkspaceError, project_root
from devfix.replay.workspace_pool import default_parallelism

NO_SYSTEM = "replay needs Linux or macOS"

Fixes = Callable[[Sequence[Path]], Sequence[Change]]
"""What to judge in these files of a tree."""


def run_replays(
    changes: Sequence[Change], options: ReplayOptions, progress: Progress | None = None
) -> list[ReplayResult]:
    """Replay each changed script, and judge each changed library file by the scripts of its tree that ran it.

    With a program in `options` that is what runs, and judges all changes to its tree. The runs after see all changes to
    a tree together. Where they refute them, those that hold together are searched for. Results come in the order of
    `changes`.
    """
    with warm_starts():
        try:
            backend = choose_backend(options)
        except BackendError as error:
            return [_unrun(change, options, str(error)) for change in changes]
        return replay_on(backend, changes, options, progress)


def choose_backend(options: ReplayOptions) -> Backend:
    """Where to run.

    Raises:
        BackendError: there is no such place, or this system cannot replay.
    """
    if not hasattr(os, "wait4"):
        raise BackendError(NO_SYSTEM)
    return select(options.on, options.python, options.devices, options.env, options.confinement, options.seed)


def replay_on(
    backend: Backend, changes: Sequence[Change], options: ReplayOptions, progress: Progress | None = None
) -> list[ReplayResult]:
    """`run_replays` with the backend already chosen."""
    members = _by_tree(changes)
    count = options.parallel_runs or default_parallelism()
    each = replace(options, parallel_runs=max(1, count // max(1, len(members))))
    lock = RunLock()
    trees = [_Tree(root, changed, backend, each) for root, changed in members.items()]
    with stopped_cleanly(), warm_starts():
        results = run_in_threads(lambda tree: tree.replay(progress or silent, lock), trees, count, lock)
    found = {result.path: result for results_of_tree in results for result in results_of_tree}
    return [found[change.path] for change in changes]


def replay_program(
    program: Program,
    fixes: Fixes,
    backend: Backend,
    options: ReplayOptions,
    progress: Progress | None = None,
) -> LoneRun | list[ReplayResult]:
    """Run a program, and run it again with the `fixes` of the files that it loads.

    A patched run may come to load more files: then theirs are added. Where there is nothing to fix, the one run is all.

    Raises:
        WorkspaceError: the tree could not be copied.
    """
    options = replace(options, program=program)
    with _scheduled(program, options, progress) as schedule:
        before = first_run(schedule, program, backend)
        results = _judged(schedule, program, fixes, backend, options, before)
        return results or _lone(schedule.stage, program, backend, before)


def replay_suite(
    program: Program, fixes: Fixes, backend: Backend, options: ReplayOptions, progress: Progress | None = None
) -> SuiteReplay:
    """Run a test suite on the plain CPU and on `backend`, and there again with the `fixes` of the files that it loads.

    Raises:
        WorkspaceError: the tree could not be copied.
    """
    options = replace(options, program=program)
    with _scheduled(program, options, progress) as schedule:
        before = first_run(schedule, program, backend)
        plain = plain_run(schedule, program)
        can_judge = trouble(before) is None and trouble(plain) is None
        results = _judged(schedule, program, fixes, backend, options, before) if can_judge else []
        lone = _lone(schedule.stage, program, backend, before)
        return SuiteReplay(lone, plain, tuple(results))


@contextlib.contextmanager
def _scheduled(program: Program, options: ReplayOptions, progress: Progress | None) -> Iterator[Schedule]:
    with (
        stopped_cleanly(),
        warm_starts(),
        Workspace(project_root(program.script), options.limits, options.keep) as workspace,
        Schedule(Stage(workspace, options, progress or silent)) as schedule,
    ):
        yield schedule


def _judged(
    schedule: Schedule, program: Program, fixes: Fixes, backend: Backend, options: ReplayOptions, before: Outcome
) -> list[ReplayResult]:
    """A result for each file with fixes among those that the program loads."""
    stage, root = schedule.stage, project_root(program.script)
    files = _loaded(stage, program, [before])
    changes, results = tuple(fixes(files)), list[ReplayResult]()
    more = changes
    while more:
        results = _Tree(root, changes, backend, options).judge(schedule, [program])
        after = _loaded(stage, program, [result.after for result in results if result.after is not None])
        new = [file for file in after if file not in files]
        files = [*files, *new]
        more = tuple(change for change in fixes(new) if change not in changes) if new else ()
        changes = (*changes, *more)
    return results


def _loaded(stage: Stage, program: Program, outcomes: Sequence[Outcome]) -> list[Path]:
    """The program's script, and the files of the original tree that runs imported."""
    names = sorted({name for outcome in outcomes for name in outcome.loaded})
    files = [program.script.resolve(), *(stage.workspace.original / name for name in names)]
    return [file for file in dict.fromkeys(files) if file.is_file()]


def run_alone(program: Program, backend: Backend, options: ReplayOptions, progress: Progress | None = None) -> LoneRun:
    """One run of a program in a copy of its tree.

    Raises:
        WorkspaceError: the tree could not be copied.
    """
    with (
        stopped_cleanly(),
        warm_starts(),
        Workspace(project_root(program.script), options.limits, options.keep) as workspace,
    ):
        stage = Stage(workspace, options, progress or silent)
        return _lone(stage, program, backend, stage.run(program, "run", backend, {}))


def _lone(stage: Stage, program: Program, backend: Backend, outcome: Outcome) -> LoneRun:
    kept = stage.workspace.folder if stage.options.keep else None
    return LoneRun(program.script, stage.command(program), backend.name, outcome, kept, notes_of(backend, outcome))


def _by_tree(changes: Sequence[Change]) -> dict[Path, list[Change]]:
    trees: dict[Path, list[Change]] = {}
    for change in changes:
        trees.setdefault(project_root(change.path), []).append(change)
    return trees


def _unrun(change: Change, options: ReplayOptions, reason: str) -> ReplayResult:
    fixes = tuple(FixResult(finding, Kind.INCONCLUSIVE) for finding in change.findings)
    verdict = inconclusive(reason)
    return ReplayResult(change.path, "", options.on, verdict, fixes=fixes, holds=change.after, cells=change.cells)


class _Tree:
    """One tree with all its changes."""

    def __init__(self, root: Path, changes: Sequence[Change], backend: Backend, options: ReplayOptions) -> None:
        self._root = root
        self._changes = tuple(changes)
        self._backend = backend
        self._options = options
        self._program = options.program if options.suite is None else suite_of(root, options.suite)
        self._reasons = {change.path: self._why_not_run(change) for change in changes}

    def replay(self, progress: Progress, lock: RunLock) -> list[ReplayResult]:
        """A result for each change."""
        programs = self._programs()
        if not programs and not self._drives:
            return [_unrun(change, self._options, self._reasons[change.path] or "") for change in self._changes]
        try:
            with (
                Workspace(self._root, self._options.limits, self._options.keep) as workspace,
                Schedule(Stage(workspace, self._options, progress, lock)) as schedule,
            ):
                return self.judge(schedule, programs)
        except WorkspaceError as error:
            return [_unrun(change, self._options, str(error)) for change in self._changes]

    def judge(self, schedule: Schedule, programs: Sequence[Program]) -> list[ReplayResult]:
        """A result for each change.

        Raises:
            WorkspaceError: the tree could not be copied.
        """
        trials = Trials(schedule, self._changes, self._backend)
        ran = trials.judge(programs)
        results = [self._result(change, trials, ran) for change in self._changes]
        if not self._drives:
            return results
        parts = frozenset(part for change in self._changes for part in change.parts if part not in trials.withdrawn)
        return self._driven(Harness(schedule, self._changes, self._backend, parts), results)

    def _driven(self, harness: Harness, results: Sequence[ReplayResult]) -> list[ReplayResult]:
        """The results with those of drivers, where nothing else ran. What breaks one file is not there for the next."""
        driven: list[ReplayResult] = []
        for change, result in zip(self._changes, results, strict=True):
            driven.append(judged_by_driver(harness, change, result))
            harness = harness.without(parts_of(change, driven[-1].withdrawn))
        return driven

    @property
    def _drives(self) -> bool:
        return self._options.harness and self._backend.can_show_device_bugs

    def _why_not_run(self, change: Change) -> str | None:
        """The reason for which a change is not run by itself."""
        program = self._program
        if program is None:
            return why_not_runnable(change.path, change.after if change.before is None else change.before)
        if project_root(program.script) != self._root:
            return f"not in the tree of {program.script.name}, which was run"
        return None

    def _programs(self) -> list[Program]:
        chosen = self._program
        if chosen is not None:
            return [chosen] if project_root(chosen.script) == self._root else []
        scripts = [change for change in self._changes if self._reasons[change.path] is None]
        return [Program(change.path.resolve(), self._options.args) for change in scripts]

    def _result(self, change: Change, trials: Trials, ran: Sequence[Trial]) -> ReplayResult:
        trial = self._telling(change, trials, ran)
        if trial is None:
            return _unrun(change, self._options, self._reasons[change.path] or "")
        after, patch = trial.runs.after, trial.version.patches.get(change.path)
        before = as_seen_by_patch(trial.runs.before, after, patch, trials.stage.relative(change.path))
        broken = {part: why for part, why in trials.withdrawn.items() if part in change.parts}
        verdict = _verdict(change, trials, trial, broken)
        return ReplayResult(
            change.path,
            trials.stage.command(trial.program),
            self._backend.name,
            verdict,
            before,
            after,
            tuple(_fix_result(finding, change, trials, trial, verdict) for finding in change.findings),
            trials.stage.workspace.folder if self._options.keep else None,
            change.with_parts([part for part in change.parts if part not in broken]),
            findings_of(change, broken),
            notes_of(self._backend, before, after),
            change.cells,
        )

    def _telling(self, change: Change, trials: Trials, ran: Sequence[Trial]) -> Trial | None:
        """The trial of the file itself, or for one that is not run the first that reached its patch."""
        for trial in ran:
            if self._program is not None or trial.program.script == change.path.resolve():
                return trial
        is_withdrawn = any(part in trials.withdrawn for part in change.parts)
        return next((trial for trial in ran if is_withdrawn or trials.lines(trial, change.path)), None)


def _verdict(change: Change, trials: Trials, trial: Trial, broken: dict[Part, str]) -> Verdict:
    """The verdict on a file: that of its trial, where all of its patch holds."""
    verdict = trials.verdict(trial, change)
    if not broken:
        return verdict or inconclusive("the patch changes nothing")
    return refuted_in_part(change, broken, verdict if _is_of_what_holds(trial, trials) else None)


def _is_of_what_holds(trial: Trial, trials: Trials) -> bool:
    """Whether nothing in the trial was withdrawn. Where something was, what was not never ran."""
    return trial.version.parts.isdisjoint(trials.withdrawn)


def _fix_result(finding: Finding, change: Change, trials: Trials, trial: Trial, verdict: Verdict) -> FixResult:
    """A fix shares the good verdict of its file only where its own lines ran."""
    whole, own = Part(change.path), Part(change.path, finding)
    for part in (whole, own):
        if part in trials.withdrawn:
            return FixResult(finding, Kind.REFUTED, trials.withdrawn[part])
    if not _is_of_what_holds(trial, trials):
        return FixResult(finding, Kind.NOT_REACHED)
    shared = trials.verdict(trial, change) or verdict
    if shared.kind not in (Kind.CONFIRMED, Kind.HARMLESS) or finding.fix is None:
        return FixResult(finding, shared.kind)
    missed = trial.version.coverage(own, trials.lines(trial, change.path)).missed
    return FixResult(finding, Kind.NOT_REACHED if missed else shared.kind)


@contextlib.contextmanager
def runs_to_come() -> Iterator[None]:
    """Several runs in a row: they are forked from what is kept, and an interrupt leaves nothing of them."""
    with stopped_cleanly(), warm_starts():
        yield
