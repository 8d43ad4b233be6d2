"""What a repair came to, as text and as JSON: the diff with its proof."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devfix.formats import OutputFormat
from devfix.project.discovery import label_of
from devfix.repairing.session import Fixed, Session, State, Tried
from devfix.replay.backends import Backend
from devfix.replay.outcomes import ScriptError
from devfix.replay.postmortem import as_json as postmortem_as_json
from devfix.replay.postmortem import story
from devfix.replay.report import error_as_json
from devfix.reporting import diff, json
from devfix.reporting.terminal import Printer, err, one_line, out, visible


@dataclass(frozen=True)
class Told:
    """Everything that the report speaks of. `files` are (absolute path, before, after), `kept` is where copies are."""

    command: str
    backend: Backend
    session: Session
    files: Sequence[tuple[str, bytes, bytes]]
    compared: str | None
    written: bool
    kept: Path | None = None


def show(told: Told, output_format: OutputFormat, quiet: bool) -> None:
    """Print the report: the diff on standard output where nothing was written, what was proven beside it."""
    if output_format is OutputFormat.JSON:
        print(json.encode(_document(told)))
        return
    if not told.written:
        for path, before, after in told.files:
            diff.show(diff.patch(label_of(path), before, after))
    printer = out() if told.written or not told.files else err()
    for number, fixed in enumerate(told.session.fixes, 1):
        _show_fix(printer, number, fixed)
    _show_remaining(printer, told)
    if not quiet:
        _show_summary(printer, told)


def _show_fix(printer: Printer, number: int, fixed: Fixed) -> None:
    rule = f" ({fixed.repair.rule})" if fixed.repair.rule else ""
    printer.line((f"fix {number}: ", "fix"), (f"{visible(fixed.repair.title)}{rule}", "message"))
    printer.paragraph(f"  removed {one_line(fixed.error.told)}: {_said(fixed.error)}", "faint")
    if fixed.story is not None:
        printer.paragraph(f"  why: {one_line(fixed.story)}")
    printer.line((f"  seen: {one_line(fixed.proof)}", ""))
    if fixed.repair.effect is not None:
        printer.line((f"  effect: {visible(fixed.repair.effect)}", "unsafe"))


def _show_remaining(printer: Printer, told: Told) -> None:
    session, error = told.session, told.session.remaining
    if error is None or session.state in (State.CLEAN, State.REPAIRED):
        return
    printer.line(("left: ", "error"), (f"{one_line(error.told)}: {_said(error)}", ""))
    if session.last is not None and session.last.postmortem is not None:
        printer.paragraph(f"  why: {one_line(story(session.last.postmortem))}")
    for tried in session.rejected:
        printer.line((f"  tried: {visible(tried.title)}: {one_line(tried.reason)}", "faint"))


def _show_summary(printer: Printer, told: Told) -> None:
    session = told.session
    words = {
        State.CLEAN: "Nothing to repair",
        State.REPAIRED: "Repaired",
        State.PARTLY: "Partly repaired",
        State.UNREPAIRED: "Not repaired",
        State.NO_DEVICE_ERROR: "Nothing for devfix to repair",
        State.INCONCLUSIVE: "Inconclusive",
    }[session.state]
    where = "" if told.backend.title in session.reason else f" on {told.backend.title}"
    cpu = f"; on the plain CPU {told.compared}" if told.compared and told.compared != session.reason else ""
    style = "good" if session.state in (State.CLEAN, State.REPAIRED) else "error"
    printer.line((f"{words}: ", style), (f"`{one_line(told.command)}`{where}: {one_line(session.reason)}{cpu}.", ""))
    if told.kept is not None:
        printer.line((f"The copies are in {one_line(str(told.kept))}.", "faint"))
    if told.written:
        printer.line(("Undo with: devfix undo", "faint"))
    elif told.files and session.state is not State.UNREPAIRED:
        printer.line(("Nothing was written; --write writes it.", "faint"))


def _said(error: ScriptError) -> str:
    return one_line(error.message)


# JSON


def _document(told: Told) -> dict[str, Any]:
    session = told.session
    return {
        "version": json.VERSION,
        "command": told.command,
        "on": told.backend.name,
        "outcome": str(session.state),
        "reason": session.reason,
        "fixes": [_fix(fixed) for fixed in session.fixes],
        "left": error_as_json(session.remaining) if session.state not in (State.CLEAN, State.REPAIRED) else None,
        "rejected": [_tried(one) for one in session.rejected],
        "on_cpu": told.compared,
        "changed": [{"path": label_of(path), "diff": _diff(path, before, after)} for path, before, after in told.files],
        "written": told.written,
        "postmortem": None if session.last is None else _postmortem(session),
    }


def _postmortem(session: Session) -> dict[str, Any] | None:
    found = None if session.last is None else session.last.postmortem
    return None if found is None else postmortem_as_json(found)


def _diff(path: str, before: bytes, after: bytes) -> str:
    return diff.patch(label_of(path), before, after).decode("utf-8", "replace")


def _fix(fixed: Fixed) -> dict[str, Any]:
    return {
        "title": fixed.repair.title,
        "rule": fixed.repair.rule,
        "safety": str(fixed.repair.safety),
        "paths": [file for file, _ in fixed.repair.edits],
        "removed": error_as_json(fixed.error),
        "category": str(fixed.diagnosis.category),
        "proof": fixed.proof,
        "effect": fixed.repair.effect,
        "story": fixed.story,
        "rejected": [_tried(one) for one in fixed.rejected],
    }


def _tried(tried: Tried) -> dict[str, str]:
    return {"title": tried.title, "reason": tried.reason}
