"""`devfix repair`, from its options to its exit code."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from devfix.changes.saving import refuse_dirty, saved
from devfix.changes.writing import WriteError, write
from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.project.scripts import script_named
from devfix.repairing import report
from devfix.repairing.session import Limits, Loop, Session, State
from devfix.repairing.trials import Bench
from devfix.replay.backends import BackendError, PlainCpu
from devfix.replay.comparing import loss_difference
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.programs import Program
from devfix.replay.replaying import choose_backend, stopped_cleanly
from devfix.replay.stage import Stage
from devfix.replay.workspace import Workspace, WorkspaceError, project_root
from devfix.reporting.progress import replay_progress


@dataclass(frozen=True)
class Ask:
    """What `devfix repair` was asked for. `seconds` is how long new candidates are tried."""

    script: str
    options: ReplayOptions
    seconds: float = 1800.0
    max_fixes: int = 10
    write: bool = False
    allow_dirty: bool = False
    output_format: OutputFormat = OutputFormat.TEXT
    quiet: bool = False


def repair(ask: Ask) -> int:
    """Repair a script as far as it goes, show or write the patch, and return the exit code.

    Raises:
        UsageError: there is nothing that could be run, or the patch would touch uncommitted work.
    """
    script = script_named(ask.script)
    program = Program(script, ask.options.args)
    try:
        backend = choose_backend(ask.options)
        with (
            stopped_cleanly(),
            replay_progress(ask.quiet) as tell,
            Workspace(project_root(script), ask.options.limits, ask.options.keep) as workspace,
        ):
            bench = Bench(Stage(workspace, ask.options, tell), program)
            session = Loop(bench, backend, Limits(ask.max_fixes, time.monotonic() + ask.seconds)).run()
            compared = _compared_on_cpu(bench, session)
            command, root = bench.command, workspace.original
            kept = workspace.folder if ask.options.keep else None
    except (BackendError, WorkspaceError) as error:
        raise UsageError(str(error)) from error
    files = [(str(root / file), session.before[file], data) for file, data in sorted(session.after.items())]
    written = _is_to_be_written(ask, session, files)
    if written:
        _write(files)
    report.show(report.Told(command, backend, session, files, compared, written, kept), ask.output_format, ask.quiet)
    return _exit_code(session, written)


def _compared_on_cpu(bench: Bench, session: Session) -> str | None:
    """Whether original and patched script compute the same on the plain CPU; None where that cannot be seen.

    A patch that computes something else is none: the session ends unrepaired.
    """
    if not session.after:
        return None
    cpu = PlainCpu()
    before = bench.run("before, on the plain CPU", cpu, {})
    after = bench.run("after, on the plain CPU", cpu, session.after)
    complete = (Ending.PASSED, Ending.TIMED_OUT)
    if before.ending not in complete or before.error is not None:
        return None
    if after.ending not in complete or after.error is not None:
        session.state, session.reason = State.UNREPAIRED, f"on the plain CPU the patched script fails: {after.failure}"
        return session.reason
    if not before.losses or not after.losses:
        return "both run"
    found = loss_difference(before, after)
    effects = [one.repair.effect for one in session.fixes if one.repair.effect is not None]
    if found is not None and effects and loss_difference(_first_loss(before), after) is None:
        return f"{found}, since {effects[0]}"
    if found is not None:
        session.state, session.reason = State.UNREPAIRED, f"the patch changes the computation: {found}"
        return session.reason
    return f"{min(len(before.losses), len(after.losses))} losses agree"


def _first_loss(outcome: Outcome) -> Outcome:
    """What a change to the training cannot have touched yet."""
    return replace(outcome, losses=outcome.losses[:1])


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
