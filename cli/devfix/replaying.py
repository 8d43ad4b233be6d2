"""`devfix replay`: a script as it is and as devfix, or a patch, would make it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devfix.analysis import Task
from devfix.discovery import discover, label_of
from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.inputs import Ask, Outcome
from devfix.replay import (
    BackendError,
    Change,
    Kind,
    LoneRun,
    Program,
    ReplayOptions,
    ReplayResult,
    WorkspaceError,
    as_json,
    choose_backend,
    lone_as_json,
    project_root,
    render,
    render_lone,
    replay_on,
    run_alone,
)
from devfix.replay.backends import Backend
from devfix.replay.outcomes import Ending
from devfix.replay.unified import PatchError, changes_of
from devfix.reporting import json, text
from devfix.reporting.progress import progress, replay_progress
from devfix.reporting.terminal import err, out, visible
from devfix.results import Failed, Rewritten
from devfix.rewriting import change_of
from devfix.running import Request, run

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Order:
    """What to replay: a script with its arguments, with the fixes of its tree or with the unified diff `patch`."""

    script: str
    arguments: tuple[str, ...]
    ask: Ask
    options: Callable[[Program], ReplayOptions]
    patch: str | None = None


def replay(order: Order) -> int:
    """Replay and report, and answer the exit code.

    Raises:
        UsageError: the replay cannot start.
    """
    program = Program(_script(order.script), order.arguments)
    options = order.options(program)
    try:
        backend = choose_backend(options)
    except BackendError as error:
        raise UsageError(str(error)) from error
    changes, errors = _changes(order, project_root(program.script))
    if not changes:
        return _report_lone(order.ask, _run_alone(order.ask, program, backend, options), errors)
    with replay_progress(order.ask.quiet) as tell:
        results = replay_on(backend, changes, options, tell)
    return _report(order.ask, results, errors)


def _script(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: {'a folder; name a script' if path.is_dir() else 'no such file'}")
    if path.suffix == ".ipynb":
        raise UsageError(f"{name}: a notebook; only scripts are replayed")
    return path.resolve()


def _changes(order: Order, root: Path) -> tuple[list[Change], list[Failed]]:
    """What to judge, and the files that could not be handled."""
    if order.patch is None:
        return _fixes(order.ask, [str(root), order.script])
    try:
        return changes_of(_patch_text(order.patch), root), []
    except PatchError as error:
        raise UsageError(f"--patch {order.patch}: {error}") from error


def _patch_text(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"--patch {name}: {error.strerror}") from error


def _fixes(ask: Ask, names: Sequence[str]) -> tuple[list[Change], list[Failed]]:
    """What `rewrite` would do to the files that are named and below."""
    ask = replace(ask, names=tuple(names))
    found = discover(ask.names, ask.overrides)
    with progress("Looking", ask.quiet) as advance:
        results = run(found.files, Request(Task.REWRITE, ask.jobs(), detailed=False), ask.cache(), advance)
    choices = {file.target.path: file.choice for file in found.files}
    changed = [result for result in results if isinstance(result, Rewritten) and not result.target.outside]
    return [change_of(result, choices[result.target.path]) for result in changed], Outcome(found, tuple(results)).errors


def _run_alone(ask: Ask, program: Program, backend: Backend, options: ReplayOptions) -> LoneRun:
    try:
        with replay_progress(ask.quiet) as tell:
            return run_alone(program, backend, options, tell)
    except WorkspaceError as error:
        raise UsageError(str(error)) from error


def _report_lone(ask: Ask, lone: LoneRun, errors: Sequence[Failed]) -> int:
    if ask.output_format is OutputFormat.JSON:
        json.report([], errors, lone_as_json(lone))
    else:
        _print([*render_lone(lone), *_unless(ask.quiet, _advice(lone))])
    text.report_errors(errors, err())
    if errors or lone.outcome.ending is Ending.NOT_STARTED:
        return 2
    return int(not lone.outcome.passed or bool(lone.outcome.not_simulated))


def _advice(lone: LoneRun) -> str:
    if lone.outcome.device_error is None:
        return "devfix found nothing to fix in its tree"
    return f"devfix found nothing to fix by reading; `devfix repair {label_of(str(lone.path))}` starts from the crash"


def _report(ask: Ask, results: Sequence[ReplayResult], errors: Sequence[Failed]) -> int:
    if ask.output_format is OutputFormat.JSON:
        json.report([], errors, as_json(results))
    else:
        _report_text(ask, results)
    text.report_errors(errors, err())
    if errors:
        return 2
    told = [result for result in results if _was_reached(result)] or results
    return int(any(result.verdict.kind not in (Kind.CONFIRMED, Kind.HARMLESS) for result in told))


def _report_text(ask: Ask, results: Sequence[ReplayResult]) -> None:
    """The files that the script reached; the others, of which it says nothing, in one line."""
    reached = [result for result in results if _was_reached(result)]
    others = [label_of(str(result.path)) for result in results if result not in reached]
    _print(render(reached or results))
    if reached and others:
        _print(_unless(ask.quiet, f"not reached: {', '.join(others)}"))


def _was_reached(result: ReplayResult) -> bool:
    """Whether the replay ran anything of the file's patch, or found it to break the script."""
    if result.verdict.kind is Kind.NOT_REACHED or result.after is None:
        return False
    name = result.path.resolve().relative_to(project_root(result.path)).as_posix()
    return bool(result.withdrawn) or any(file == name for file, _ in result.after.reached)


def _unless(quiet: bool, line: str) -> list[str]:
    return [] if quiet else [line]


def _print(lines: Sequence[str]) -> None:
    printer = out()
    for line in lines:
        printer.line((visible(line), ""))
