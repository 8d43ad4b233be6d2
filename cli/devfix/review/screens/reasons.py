"""The text below the code of a finding: its message, the fix and how safe that is, a verdict, and the trail."""

from collections.abc import Iterator

from devfix.project.discovery import label_of
from devfix.results import Note
from devfix.review.decisions import Decision
from devfix.review.documents import Item
from devfix.review.screens.code import harmless, snippet
from devfix.review.session import Judged
from textual.content import Content

_SAFETY_STYLE = {
    "safe": "$text-success",
    "unsafe": "bold $text-warning",
    "suggestion": "$text-warning",
    "advice": "$text-accent",
}
_SAFETY_MEANS = {
    "safe": "cannot change a program that works",
    "unsafe": "a choice, or a visible effect",
    "suggestion": "several weak links lead to it",
    "advice": "nothing to apply: repair it by hand, or ignore it",
}
_VERDICT_STYLE = {
    "confirmed": "bold $text-success",
    "conditional": "$text-success",
    "harmless": "$text-success",
    "refuted": "bold $text-error",
}
_DECIDED = {
    Decision.ACCEPTED: "accepted",
    Decision.REFUSED: "refused",
    Decision.IGNORED: "to be silenced by a comment",
    None: "undecided",
}


def reasons(item: Item, decision: Decision | None, judged: Judged | None, is_stale: bool) -> Content:
    """All that is known of a finding. `is_stale`: the replay ran with other fixes than those that are accepted now."""
    return Content("\n").join(_lines(item, decision, judged, is_stale))


def _lines(item: Item, decision: Decision | None, judged: Judged | None, is_stale: bool) -> Iterator[Content]:
    problem = item.problem
    yield Content.assemble((problem.code, "bold $text-error"), f" {problem.name}  ", (_DECIDED[decision], "dim"))
    yield Content.styled(harmless(problem.message), "bold")
    what = "fix" if item.safety != "advice" else "advice"
    yield Content.assemble((f"{what}: ", "$text-success"), harmless(item.remedy))
    sure = f"; confidence {problem.confidence:.2f}" if problem.confidence < 1 else ""
    yield Content.assemble((item.safety, _SAFETY_STYLE[item.safety]), (f": {_SAFETY_MEANS[item.safety]}{sure}", "dim"))
    if item.document.obstacle is not None:
        yield Content.styled(f"not written: {item.document.obstacle}", "$text-warning")
    if judged is not None:
        yield _verdict(judged, is_stale)
    if problem.trail:
        yield Content("")
    for note in problem.trail:
        yield from _stop(item, note)


def _verdict(judged: Judged, is_stale: bool) -> Content:
    told = " ".join(harmless(line) for line in judged.lines)
    stale = " (with other fixes than are accepted now)" if is_stale else ""
    style = _VERDICT_STYLE.get(judged.kind, "$text-warning")
    return Content.assemble("replay ", (judged.words, style), f"{stale}: {told}" if told else stale)


def _stop(item: Item, note: Note) -> Iterator[Content]:
    """One stop of the trail, and its line of code if that is in the reviewed file: other files are not read here."""
    if note.path is not None:
        where = f"{harmless(label_of(note.path))}:{note.span.line}"
        yield Content.assemble((where, "$text-accent"), f"  {harmless(note.text)}")
        return
    cell, line = item.problem.place(note.span.line)
    where = f"line {line}" if cell is None else f"cell {cell}, line {line}"
    yield Content.assemble((where, "$text-accent"), f"  {harmless(note.text)}")
    lines = item.document.lines
    if note.span.line <= len(lines):
        yield Content.assemble("    ", *snippet([lines[note.span.line - 1].strip()]))
