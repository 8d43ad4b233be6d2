"""`devfix repair`, from its options to its exit code."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devfix.changes.saving import refuse_dirty, saved
from devfix.changes.writing import WriteError, write
from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.project.scripts import script_named
from devfix.repairing import report
from devfix.repairing.session import Limits, Loop, Session, State
from devfix.repairing.suites import SuiteError, SuiteLoop
from devfix.repairing.trials import Bench
from devfix.replay.backends import BackendError
from devfix.replay.options import ReplayOptions
from devfix.replay.programs import Program, suite_of
from devfix.replay.replaying import choose_backend, runs_to_come
from devfix.replay.stage import Stage
from devfix.replay.workspace import Workspace, WorkspaceError, project_root
from devfix.reporting.progress import replay_progress


@dataclass(frozen=True)
class Ask:
    """What `devfix repair` was asked for: a script, or without one the tests of the project here.

    `seconds` is how long new candidates are tried.
    """

    script: str | None
    options: ReplayOptions
    seconds: float = 1800.0
    max_fixes: int = 10
    write: bool = False
    allow_dirty: bool = False
    output_format: OutputFormat = OutputFormat.TEXT
    quiet: bool = False


def repair(ask: Ask) -> int:
    """Repair a script, or what tests reveal, as far as it goes, show or write the patch, and return the exit code.

    Raises:
        UsageError: there is nothing that could be run, or the patch would touch uncommitted work.
    """
    program = _program(ask)
    try:
        with (
            runs_to_come(),
            replay_progress(ask.quiet) as tell,
            Workspace(project_root(program.script), ask.options.limits, ask.options.keep) as workspace,
        ):
            backend = choose_backend(ask.options)
            stage = Stage(workspace, ask.options, tell)
            bench, limits = Bench(stage, program), Limits(ask.max_fixes, time.monotonic() + ask.seconds)
            loop = SuiteLoop(stage, program, backend, limits) if program.is_suite else Loop(bench, backend, limits)
            session = loop.run()
            command, root = bench.command, workspace.original
            kept = workspace.folder if ask.options.keep else None
    except (BackendError, WorkspaceError, SuiteError) as error:
        raise UsageError(str(error)) from error
    files = [(str(root / file), session.before[file], data) for file, data in sorted(session.after.items())]
    written = _is_to_be_written(ask, session, files)
    if written:
        _write(files)
    report.show(
        report.Told(command, backend, session, files, session.compared, written, kept), ask.output_format, ask.quiet
    )
    return _exit_code(session, written)


def _program(ask: Ask) -> Program:
    if ask.script is None:
        return suite_of(project_root(Path.cwd()), ask.options.args)
    return Program(script_named(ask.script), ask.options.args)


# Writing


def _is_to_be_written(ask: Ask, session: Session, files: Sequence[tuple[str, bytes, bytes]]) -> bool:
    if not ask.write or not files or session.state is State.UNREPAIRED:
        return False
    if not ask.allow_dirty:
        refuse_dirty(path for path, _, _ in files)
    return True


def _write(files: Sequence[tuple[str, bytes, bytes]]) -> None:
    run = saved(files)
    try:
        for path, before, after in files:
            write(path, before, after, run.temporary)
    except WriteError as error:
        raise UsageError(f"{error}; `devfix undo` takes back what was written before") from error


def _exit_code(session: Session, written: bool) -> int:
    """0 where the script runs clean, as it is or as it was written; 1 where something is left."""
    if session.state is State.CLEAN:
        return 0
    return 0 if session.state is State.REPAIRED and written else 1
