"""`devfix review`: which front end it has, and how it ends."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devfix.errors import UsageError
from devfix.operations.inputs import Ask
from devfix.reporting.progress import progress
from devfix.reporting.terminal import err, out, visible
from devfix.reporting.text import check_summary, count, report_errors, report_left_out
from devfix.review import messages, plain
from devfix.review.session import Plan, Session, prepare

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions


@dataclass(frozen=True)
class Mode:
    """How to review. `resume` goes on with the decisions of an interrupted review, `restart` drops them."""

    replay: "Callable[[], ReplayOptions]"
    plain: bool = False
    resume: bool = False
    restart: bool = False
    allow_dirty: bool = False


def review(ask: Ask, mode: Mode) -> int:
    """Review and write, and return the exit code.

    Raises:
        UsageError: the review cannot start, or what was decided cannot be written.
    """
    if mode.resume and mode.restart:
        raise UsageError("--resume and --restart contradict each other")
    session = prepare(ask, mode.allow_dirty)
    if not ask.quiet:
        report_left_out(session.outcome.left_out, err())
    if not session.review.items:
        return _nothing(session)
    is_plain = mode.plain or plain.is_due(sys.stdout.isatty())
    told = _resume(session, mode, asks_later=not is_plain)
    return _end(session, _by_prompt(session, mode, told) if is_plain else _on_screen(session, mode, told))


def _nothing(session: Session) -> int:
    if not session.ask.quiet:
        out().line(*check_summary(session.outcome.tally, True))
    report_errors(session.errors, err())
    return 2 if session.errors else 0


def _resume(session: Session, mode: Mode, asks_later: bool) -> list[str]:
    """Bring back the decisions of an interrupted review, or drop them, as `mode` says. Returns what there is to say.

    Raises:
        UsageError: there are some, nothing says what to do with them, and nobody will be asked.
    """
    if mode.restart:
        session.keep()  # nothing is decided yet, so that this drops what was
        return []
    kept = session.saved_review.load()
    if not kept and not mode.resume:
        return []
    if not kept:
        others = "; ".join(" ".join(names) for names in session.saved_review.others())
        where = f" (there is one of: {visible(others)})" if others else ""
        return [f"No interrupted review of these paths{where}: this one begins."]
    if mode.resume:
        lost = session.resume(kept)
        return [f"{count(len(kept) - len(lost), 'decision')} brought back.", *messages.lost_lines(lost)]
    if not asks_later:
        what = f"an interrupted review of these paths has {count(len(kept), 'decision')}"
        raise UsageError(f"{what}: --resume goes on with it, --restart drops it")
    return []


def _by_prompt(session: Session, mode: Mode, told: Sequence[str]) -> Plan | None:
    """What is to be written; None where the user left."""
    for line in told:
        err().line((line, "faint"))
    prompt = plain.Prompt(session, out(), mode.replay)
    if prompt.decide() is plain.Ending.QUIT:
        return None
    with progress("Putting together", session.ask.quiet) as advance:
        plan = session.plan(advance)
    _refuse_dirty(session, plan)
    return plan if prompt.confirm(plan) else None


def _refuse_dirty(session: Session, plan: Plan) -> None:
    """Tell where uncommitted work is in the way, and that nothing decided is lost."""
    try:
        session.refuse_dirty(plan)
    except UsageError as error:
        raise UsageError(str(error), [*error.details, messages.left_line(session)]) from error


def _on_screen(session: Session, mode: Mode, told: Sequence[str]) -> Plan | None:
    try:
        import textual as _textual  # noqa: F401
    except ImportError as error:
        what = "devfix review needs textual: pip install 'devfix[review]'"
        raise UsageError(f"{what}; --plain asks line by line") from error
    from devfix.review.screens.app import INTERRUPTED, ReviewApp

    app = ReviewApp(session, mode.replay, asks_to_resume=not (mode.resume or mode.restart), notice=" ".join(told))
    plan = app.run()
    if app.return_code == INTERRUPTED:
        out().line((messages.left_line(session), ""))
        raise KeyboardInterrupt
    return plan


def _end(session: Session, plan: Plan | None) -> int:
    """Write, and say what was done and what is left."""
    printer = out()
    if plan is None:
        printer.line((messages.left_line(session), ""))
    else:
        written = session.write(plan)
        messages.report_written(written, session, printer, err())
        printer.lines(messages.missed_lines(plan))
        if written.run is None and not written.errors:
            printer.line(("Nothing to write", "good"), (f" ({messages.tally(session)}).", ""))
    if session.trouble is not None:
        err().line(("error: ", "error"), (session.trouble, ""))
    report_errors(session.errors, err())
    return _exit_code(session, plan, bool(session.errors or (plan is not None and written.errors)))


def _exit_code(session: Session, plan: Plan | None, failed: bool) -> int:
    if failed:
        return 2
    return int(plan is None or bool(plan.missed) or bool(session.review.undecided))
