"""`devfix replay`: a script, or a test suite, as it is and as devfix, or a patch, would make it."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devfix.analysis.jobs import Task
from devfix.analysis.runner import Request, run
from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.operations.inputs import Ask, Outcome
from devfix.operations.rewrite import as_changes
from devfix.project.discovery import Discovery, discover, label_of
from devfix.project.scripts import script_named
from devfix.replay import (
    BackendError,
    Change,
    Kind,
    LoneRun,
    Program,
    ReplayOptions,
    ReplayResult,
    SuiteReplay,
    WorkspaceError,
    as_json,
    choose_backend,
    lone_as_json,
    project_root,
    render,
    render_lone,
    replay_program,
    replay_suite,
    runs_to_come,
    suite_of,
)
from devfix.replay.outcomes import Ending
from devfix.replay.probe.testing import files as test_files
from devfix.replay.suite_report import render_suite, suite_as_json
from devfix.replay.suites.comparing import compared
from devfix.replay.suites.verdicts import trouble
from devfix.replay.unified import PatchError, changes_of
from devfix.reporting import json, text
from devfix.reporting.progress import no_progress, replay_progress
from devfix.reporting.terminal import err, out, visible
from devfix.results import Failed, Rewritten

STANDARD_INPUT = "-"
_NAMED = 5
"""How many files a line names."""


@dataclass(frozen=True)
class Order:
    """What to replay: a script with its arguments, with the fixes of its tree or with the unified diff `patch`.

    Without a script it is the test suite of the project here, and the arguments are those of pytest.
    """

    script: str | None
    arguments: tuple[str, ...]
    ask: Ask
    options: Callable[[Program], ReplayOptions]
    patch: str | None = None


def replay(order: Order) -> int:
    """Replay and report, and return the exit code.

    Raises:
        UsageError: the replay cannot start.
    """
    program = _program(order)
    options = order.options(program)
    try:
        with runs_to_come():
            backend = choose_backend(options)
            source = _Fixes(order.ask) if order.patch is None else _patch(order.patch, project_root(program.script))
            with replay_progress(order.ask.quiet) as tell:
                work = replay_suite if program.is_suite else replay_program
                found = work(program, source, backend, options, tell)
    except (BackendError, WorkspaceError) as error:
        raise UsageError(str(error)) from error
    errors = source.errors if isinstance(source, _Fixes) else []
    if isinstance(found, SuiteReplay):
        return _report_suite(order.ask, found, errors)
    if isinstance(found, LoneRun):
        return _report_lone(order.ask, found, errors)
    return _report(order.ask, program.script, found, errors)


def _program(order: Order) -> Program:
    if order.script is None:
        return suite_of(project_root(Path.cwd()), order.arguments)
    return Program(script_named(order.script, or_notebook=True), order.arguments)


def _patch(name: str, root: Path) -> Callable[[Sequence[Path]], list[Change]]:
    """What a unified diff changes, whatever is loaded."""
    try:
        changes = changes_of(_patch_text(name), root)
    except PatchError as error:
        raise UsageError(f"--patch {name}: {error}") from error
    return lambda _files: changes


def _patch_text(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"--patch {name}: {error.strerror}") from error


class _Fixes:
    """What `rewrite` would do to the files that it is called with. `errors` are those that could not be handled."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.errors: list[Failed] = []

    def __call__(self, files: Sequence[Path]) -> list[Change]:
        found = self._found(files)
        results = run(
            found.files, Request(Task.REWRITE, self._ask.jobs(), detailed=False), self._ask.cache(), no_progress
        )
        self.errors += Outcome(found, tuple(results)).errors
        changed = [one for one in results if isinstance(one, Rewritten) and not one.target.outside]
        return as_changes(changed, found.choice_by_path)

    def _found(self, files: Sequence[Path]) -> Discovery:
        """The files but for those that the settings leave out. A script was named, so it is always one."""
        if not self._ask.names:
            return discover(_of_library(files), replace(self._ask.overrides, force_exclude=True))
        script = os.path.realpath(self._ask.names[0])
        imported = [str(file) for file in files if str(file) != script]
        found = discover(imported, replace(self._ask.overrides, force_exclude=True))
        if len(imported) < len(files):
            named = discover([script], self._ask.overrides)
            found.files[:0], found.errors[:0] = named.files, named.errors
        return found


def _of_library(files: Sequence[Path]) -> list[str]:
    """Those files that are no tests: what tests do with devices is theirs."""
    root = project_root(Path.cwd())
    names = ((file, file.relative_to(root).as_posix()) for file in files if file.is_relative_to(root))
    return [str(file) for file, name in names if test_files.owner(name) == test_files.LIBRARY]


def _report_suite(ask: Ask, found: SuiteReplay, errors: Sequence[Failed]) -> int:
    """What the tests reveal, then the verdicts on fixes. 1 where the library has device errors.

    Raises:
        UsageError: there are no tests that could be run.
    """
    why = trouble(found.plain) or trouble(found.run.outcome)
    if why is not None:
        raise UsageError(why)
    run, comparison = found.run, compared(found.plain, found.run.outcome)
    reached = [one for one in found.results if one.verdict.kind is not Kind.NOT_REACHED]
    if ask.output_format is ReportFormat.JSON:
        extra = {"suite": suite_as_json(comparison, run.command, run.on), **as_json(found.results)}
        json.report([], errors, extra)
    else:
        _print(render_suite(comparison, run.command, run.on))
        _print(render(reached))
        _print(_unless(ask.quiet, _not_reached([one for one in found.results if one not in reached])))
        _print([f"the copies are in {run.kept}"] if run.kept is not None else [])
    text.report_errors(errors, err())
    if errors:
        return 2
    refuted = any(result.verdict.kind is Kind.REFUTED for result in found.results)
    return int(bool(comparison.bugs) or refuted or comparison.ends is not None)


def _report_lone(ask: Ask, lone: LoneRun, errors: Sequence[Failed]) -> int:
    if ask.output_format is ReportFormat.JSON:
        json.report([], errors, lone_as_json(lone))
    else:
        _print([*render_lone(lone), *_unless(ask.quiet, [_advice(lone)])])
    text.report_errors(errors, err())
    if errors or lone.outcome.ending is Ending.NOT_STARTED:
        return 2
    return int(not lone.outcome.passed or bool(lone.outcome.not_simulated))


def _advice(lone: LoneRun) -> str:
    if lone.outcome.device_error is None:
        return "devfix found nothing to fix in what it ran"
    return f"devfix found nothing to fix by reading; `devfix repair {label_of(str(lone.path))}` starts from the crash"


def _report(ask: Ask, script: Path, results: Sequence[ReplayResult], errors: Sequence[Failed]) -> int:
    root = project_root(script)
    reached = [result for result in results if _was_reached(result, root)]
    if ask.output_format is ReportFormat.JSON:
        json.report([], errors, as_json(results))
    else:
        _print(render(reached or results))
        _print(_unless(ask.quiet, _not_reached([result for result in results if reached and result not in reached])))
    text.report_errors(errors, err())
    if errors:
        return 2
    return int(any(result.verdict.kind not in (Kind.CONFIRMED, Kind.HARMLESS) for result in reached or results))


def _not_reached(results: Sequence[ReplayResult]) -> list[str]:
    """The files of which the run says nothing, in one line."""
    names = [label_of(str(result.path)) for result in results]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return [f"not reached: {', '.join([*names[:_NAMED], *more])}"] if names else []


def _was_reached(result: ReplayResult, root: Path) -> bool:
    """Whether the replay ran anything of the file's patch, or found it to break the script."""
    if result.verdict.kind is Kind.NOT_REACHED or result.after is None:
        return False
    name = result.path.resolve().relative_to(root).as_posix()
    return bool(result.withdrawn) or any(file == name for file, _ in result.after.reached)


def _unless(quiet: bool, lines: list[str]) -> list[str]:
    return [] if quiet else lines


def _print(lines: Sequence[str]) -> None:
    printer = out()
    for line in lines:
        printer.paragraph(visible(line))
