"""Fixes applied and verified, pass after pass, until none is left or none holds."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from devfix_codemods.edits import lines
from devfix_codemods.edits.errors import EditError, NotEditable
from devfix_codemods.edits.operations import NODE, ReplaceExpression
from devfix_codemods.edits.verify import problems
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.fixing import edits_of, without_conflicts
from devfix_codemods.outcomes import Changed, Checked, CheckOutcome, Clean, Failed, Options, RewriteOutcome
from devfix_codemods.rules import blame, is_foreign
from devfix_codemods.source import Source

MAX_PASSES = 4
"""How often fixes may expose further ones before a file is given up."""

_LEFT = "left as it was"
BUG = f"{_LEFT}; this is a devfix bug"

Accept = Callable[[Finding], bool]
Look = Callable[[Source], CheckOutcome]
_Place = tuple[str, str, int | range | None]
"""What a finding says, and the line or lines where."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A file after fixes: which were applied, and what is found in it now."""

    source: Source
    applied: tuple[Finding, ...]
    checked: Checked


def rewritten(source: Source, options: Options, accept: Accept | None, look: Look) -> RewriteOutcome:
    """`source` with its fixes applied, as `look` finds them, and finds what they leave."""
    checked = look(source)
    if not isinstance(checked, Checked):
        return checked
    steps, broken = [_Step(source, (), checked)], _Broken()
    for _ in range(MAX_PASSES if accept is None else 1):
        todo = list(broken.others(_applicable(steps[-1].checked.findings, options, accept)))
        if not todo:
            break
        steps.append(_repaired(steps[-1], todo, look, broken))
        again = next(index for index, one in enumerate(steps) if one.source.data == steps[-1].source.data)
        if steps[-1].applied and again < len(steps) - 1:
            steps = _without_circle(steps, again, broken, options)
            break
    else:
        if accept is None and any(broken.others(_applicable(steps[-1].checked.findings, options, accept))):
            return Failed(f"no end of fixes after {MAX_PASSES} passes; {BUG}", internal=True)
    step, fixed = steps[-1], [one for step in steps for one in broken.kept(step.applied)]
    if not fixed and broken.reasons:
        code = broken.codes[0]
        return Failed(f"{broken.reasons[0]}; {_LEFT}; {blame(code)}", internal=not is_foreign(code))
    left = broken.marked(step.checked.findings)
    return Changed(step.source.data, tuple(fixed), left) if step.source.data != source.data else Clean(left)


def _without_circle(steps: list[_Step], start: int, broken: "_Broken", options: Options) -> list[_Step]:
    """`steps` up to the best of a circle: from that at `start`, fixes have led back to the same text.

    Which one is the best does not depend on where the circle was entered: a second rewrite must change nothing.
    """

    def price(index: int) -> tuple[int, int, int, bytes]:
        todo = _applicable(steps[index].checked.findings, options, None)
        safe = sum(one.fix is not None and one.fix.safety is Safety.SAFE for one in todo)
        text = steps[index].source.data
        return (safe, len(todo), len(text), text)

    best = min(range(start, len(steps) - 1), key=price)
    for step in steps[start + 1 :]:
        broken.add_circle(step.applied, undone=best > start)
    return steps[: best + 1]


def _applicable(findings: Iterable[Finding], options: Options, accept: Accept | None) -> list[Finding]:
    """The findings whose fix is to be applied. Manual ones have none, and suggestions take somebody who accepts."""
    unasked = {Safety.SAFE, Safety.UNSAFE} if options.unsafe else {Safety.SAFE}

    def allowed(finding: Finding, fix: Fix) -> bool:
        return accept(finding) if accept is not None else fix.safety in unasked

    return [
        finding
        for finding in findings
        if (fix := finding.fix) and fix.edits and fix.safety != Safety.MANUAL and allowed(finding, fix)
    ]


class _Broken:
    """Findings whose own fix does harm. They are told apart by what they say, because lines move."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.codes: list[str] = []
        self._keys: set[tuple[str, str]] = set()
        self._undone: set[tuple[str, str]] = set()
        self._circle: set[tuple[str, str]] = set()

    def add(self, finding: Finding, problem: str) -> None:
        self._keys.add((finding.code, finding.message))
        self.codes.append(finding.code)
        self.reasons.append(f"the fix of {finding.code} in line {finding.span.line} fails: {problem}")

    def add_circle(self, findings: Iterable[Finding], *, undone: bool) -> None:
        """Note fixes that others undo. Where they are `undone` in the text that is kept, nothing of them is left."""
        keys = {(one.code, one.message) for one in findings}
        self._keys |= keys
        self._circle |= keys
        self._undone |= keys if undone else set()

    def kept(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Those of the applied `findings` that no other has undone."""
        return (one for one in findings if (one.code, one.message) not in self._undone)

    def others(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Those of `findings` that are none of these."""
        return (finding for finding in findings if (finding.code, finding.message) not in self._keys)

    def marked(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """`findings`, these without their fixes."""
        fine = set(self.others(findings))
        return tuple(one if one in fine else one.without_fix(self._advice(one)) for one in findings)

    def _advice(self, finding: Finding) -> str:
        if (finding.code, finding.message) in self._circle:
            return "devfix has a fix, but what it writes makes another finding, whose fix undoes it."
        return f"devfix has a fix but could not make it hold; {blame(finding.code)}."


def _repaired(step: _Step, todo: Sequence[Finding], look: Look, broken: _Broken) -> _Step:
    """One pass: all fixes of `todo`; where that fails, one after the other, so that those that hold are kept."""
    attempt = _attempt(step, todo, look)
    if isinstance(attempt, _Step):
        return attempt
    good: list[Finding] = []
    best = replace(step, applied=())
    for finding in todo:
        attempt = _attempt(step, [*good, finding], look)
        if isinstance(attempt, _Step):
            good, best = list(attempt.applied), attempt
        else:
            broken.add(finding, attempt)
    return best


def _attempt(step: _Step, findings: Sequence[Finding], look: Look) -> _Step | str:
    """The fixes of `findings` applied and verified, or what is wrong with the result."""
    try:
        data, applied = without_conflicts(step.source, findings)
    except NotEditable:
        raise
    except EditError as error:
        return str(error)
    after = Source(step.source.path, data)
    wrong = ["nothing changes"] if data == step.source.data else problems(step.source, after)
    if wrong:
        return "; ".join(wrong)
    checked = look(after)
    if not isinstance(checked, Checked):
        return f"the result cannot be checked: {checked.reason}"
    if _recur(step, after, applied, checked.findings) or _is_fed(step.source, after, applied, checked.findings):
        return "its finding is still there afterwards"
    return _Step(after, tuple(applied), checked)


def _recur(step: _Step, after: Source, applied: Sequence[Finding], found: Iterable[Finding]) -> bool:
    """Whether one of the `applied` findings of a step is `found` again in the lines that its own have become.

    A suggestion that says the same is another finding, unless it was one that was applied. So is what stands elsewhere
    in the same line, what comes from elsewhere, and what was found before and not applied.
    """
    old, new = lines.split(step.source.text), lines.split(after.text)
    became: dict[int, range] = {}
    for tag, start, end, new_start, new_end in lines.opcodes(old, new):
        for index in range(start, end):
            moved = new_start + index - start
            became[index + 1] = range(moved + 1, moved + 2) if tag == "equal" else range(new_start + 1, new_end + 1)
    again, waiting = defaultdict[_Place, list[Finding]](list), defaultdict[_Place, list[Finding]](list)
    for one in found:
        again[(one.code, one.message, one.span.line)].append(one)
    for one in step.checked.findings:
        if one not in applied:
            waiting[(one.code, one.message, became.get(one.span.line))].append(one)

    def comes_from(other: Finding, one: Finding) -> bool:
        """Whether a finding of now is about the value of one of before, as far as they tell."""
        if not one.trail or not other.trail or one.trail[0].path is not None:
            return True
        return other.trail[0].span.line in became.get(one.trail[0].span.line, range(0))

    def recurs(one: Finding) -> bool:
        said, place, told = (one.code, one.message), became.get(one.span.line, range(0)), {False, one.is_suggestion}
        kept = sum(other.is_suggestion in told for other in waiting[(*said, place)])
        alike = [
            _is_elsewhere(old[one.span.line - 1], new[line - 1], one.span.column, other.span.column)
            for line in place
            for other in again[(*said, line)]
            if other.is_suggestion in told and comes_from(other, one)
        ]
        return alike.count(False) > max(0, kept - alike.count(True))

    return any(map(recurs, applied))


def _is_elsewhere(before: str, after: str, column: int, other: int) -> bool:
    """Whether two columns, before and after, are of two places in what a line begins with, before and after."""
    most = max(column, other)
    return column != other and before[:most] == after[:most]


def _is_fed(before: Source, after: Source, applied: Iterable[Finding], found: Iterable[Finding]) -> bool:
    """Whether a fix would be made once more around what it has just written: `x.to(d)`, `x.to(d).to(d)`."""
    written = {(one.code, edit.code, text) for one in applied for edit, text in _written(before, one)}
    again = ((one.code, edit.code, after.segment(edit.span)) for one in found for edit, _ in _written(after, one))
    return not written.isdisjoint(again)


def _written(source: Source, finding: Finding) -> Iterator[tuple[ReplaceExpression, str]]:
    """The edits of a finding that write around an expression, and what that becomes."""
    for edit in edits_of(finding):
        if isinstance(edit, ReplaceExpression) and NODE in edit.code:
            yield edit, edit.code.replace(NODE, source.segment(edit.span))
