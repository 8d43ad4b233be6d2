"""What a review says of itself: before it writes, and when it has ended."""

import shlex
from collections.abc import Sequence

from devfix.reporting.terminal import Line, Printer, one_line
from devfix.reporting.text import count, report_errors
from devfix.results import Problem
from devfix.review.combining import Combined
from devfix.review.decisions import Decision, Renewed
from devfix.review.documents import Item
from devfix.review.saved_decisions import SavedDecision
from devfix.review.session import Plan, Session, Written

_NAMED = 5
"""How many of a kind are named."""

REFUTED = "refuted"


def tally(session: Session) -> str:
    """`2 accepted, 1 refused, 1 to be ignored, 9 undecided`."""
    review = session.review
    parts = [
        (len(review.those(Decision.ACCEPTED)), "accepted"),
        (len(review.those(Decision.REFUSED)), "refused"),
        (len(review.those(Decision.IGNORED)), "to be ignored"),
        (len(review.undecided), "undecided"),
    ]
    return ", ".join(f"{number} {word}" for number, word in parts if number) or "nothing found"


def amount(plan: Plan) -> str:
    """`3 fixes and 1 comment in 2 files`."""
    parts = [count(plan.fixes, "fix").replace("fixs", "fixes")] if plan.fixes else []
    parts += [count(plan.comments, "comment")] if plan.comments else []
    return f"{' and '.join(parts) or 'nothing'} in {count(len(plan.changed), 'file')}"


def plan_lines(plan: Plan) -> list[Line]:
    """Each file that would be written, and what does not come true."""
    lines: list[Line] = [[(one_line(one.target.label), "path"), (f": {_done(one)}", "")] for one in plan.changed]
    return lines + shortfalls(plan)


def shortfalls(plan: Plan) -> list[Line]:
    """What was decided and does not come true, and what goes beyond it."""
    lines = missed_lines(plan)
    for one, note in plan.notes:
        lines.append([("note: ", "unsafe"), (one_line(one.target.label), "path"), (f": {one_line(note)}", "")])
    for error in plan.errors:
        line: Line = [("error: ", "error"), (one_line(error.target.label), "path"), (f": {one_line(error.reason)}", "")]
        lines.append(line)
    return lines


def missed_lines(plan: Plan) -> list[Line]:
    """What was decided and does not come true."""
    lines: list[Line] = []
    for one, missed in plan.missed:
        place = f"{one_line(one.target.label)}:{_place(missed.problem)} {missed.problem.code}"
        lines.append([("not done: ", "unsafe"), (place, "path"), (f": {missed.reason}", "")])
    return lines


def doubts(session: Session) -> list[Line]:
    """The accepted fixes that a replay refuted."""
    found = [item for item in session.review.those(Decision.ACCEPTED) if _is_refuted(session, item)]
    return [[("refuted by the replay: ", "error"), (f"{named(item)}", "path")] for item in found]


def named(item: Item) -> str:
    """`train.py:21 DVF101`."""
    return f"{one_line(item.document.label)}:{item.place} {item.code}"


def lost_lines(lost: Sequence[SavedDecision]) -> list[str]:
    """Decisions of an interrupted review that match nothing any more."""
    lines = [f"no longer found, its decision ({one.decision}) is dropped: {_about(one)}" for one in lost[:_NAMED]]
    return [*lines, f"… and {len(lost) - _NAMED} more"] if len(lost) > _NAMED else lines


def renewed_line(label: str, renewed: Renewed) -> str:
    """What a new reading of a file changed."""
    parts = [f"{renewed.new} new"] if renewed.new else []
    parts += [f"{renewed.gone} gone" + (f" ({renewed.decided} of them decided)" if renewed.decided else "")] * bool(
        renewed.gone
    )
    return f"{one_line(label)}: {', '.join(parts) or 'the same findings'}"


def report_written(written: Written, session: Session, printer: Printer, err: Printer) -> None:
    """What became of each file, and how it is taken back."""
    for one in written.files:
        printer.line((one_line(one.target.label), "path"), (f": {_done(one)}", ""))
    report_errors(written.errors, err)
    if written.run is not None:
        what = amount(Plan(written.files))
        printer.line((f"Wrote {what}", "message"), (f" ({tally(session)}).", ""))
        printer.line(("Undo with: devfix undo", "faint"))


def left_line(session: Session) -> str:
    """How a review that was left goes on."""
    decided = len(session.review.decisions)
    if not decided:
        return "Nothing was decided, nothing was written."
    names = shlex.join(session.ask.names)
    kept = f"Nothing was written. {decided} of {len(session.review.items)} decisions are kept"
    return f"{kept}: devfix review --resume {one_line(names)}"


def _done(one: Combined) -> str:
    parts = [f"{len(one.fixed)} fixed"] if one.fixed else []
    parts += [f"{count(len(one.silenced), 'comment')} added"] if one.silenced else []
    return ", ".join(parts)


def _place(problem: Problem) -> str:
    cell, line = problem.place(problem.span.line)
    return str(line) if cell is None else f"cell {cell}:{line}"


def _is_refuted(session: Session, item: Item) -> bool:
    found = session.verdicts.get(item.number)
    return found is not None and found.kind == REFUTED


def _about(kept: SavedDecision) -> str:
    from devfix.project.discovery import label_of

    return f"{one_line(label_of(kept.fingerprint.path))}: {kept.code}: {one_line(kept.message)}"
