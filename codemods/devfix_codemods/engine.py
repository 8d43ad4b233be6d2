"""One file through all of it: trigger, parse, analyse, edit, verify."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeGuard

from devfix_codemods import guards, suppressions
from devfix_codemods.edits import lines
from devfix_codemods.edits.depth import with_deep_stack
from devfix_codemods.edits.errors import EditConflict, EditError, NotEditable
from devfix_codemods.edits.needs import release_needed
from devfix_codemods.edits.newer import is_newer_python
from devfix_codemods.edits.operations import NODE, Edit, InsertStatement, ReplaceExpression
from devfix_codemods.edits.vain import moves_to_itself
from devfix_codemods.edits.verify import problems
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.notebooks.cells import ForeignNotebookError
from devfix_codemods.notebooks.notebook import is_notebook, may_use_torch, read
from devfix_codemods.outcomes import Changed, Checked, CheckOutcome, Clean, Failed, Options, RewriteOutcome, Skipped
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.precision.own import is_replaced
from devfix_codemods.preferences import Prefer
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.repairs.declared import ACCELERATOR_DECLARATION, ACCELERATOR_SINCE, DECLARATION
from devfix_codemods.repairs.telling import birth_of, births_in_conflict, may_conflict, same_cause
from devfix_codemods.repairs.telling import findings as conflict_findings
from devfix_codemods.rules import RESERVED, Rule, all_rules
from devfix_codemods.source import Source, SourceError, Span
from devfix_codemods.tenable import untenable
from devfix_codemods.triggers import triggered

MAX_PASSES = 4
"""How often fixes may expose further ones before a file is given up."""

_LEFT = "left as it was"
_BUG = f"{_LEFT}; this is a devfix bug"
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)

Accept = Callable[[Finding], bool]
Look = Callable[[Source], CheckOutcome]


@dataclass(frozen=True, slots=True)
class TextEdit:
    """`text` in the place of `span`; both are whole lines."""

    span: Span
    text: str


def check(source: Source, options: Options, project: Project | None = None) -> CheckOutcome:
    """What is wrong in `source`, read as one of the files of `project`. Never raises.

    Of a notebook, positions are those of its `program`.
    """
    try:
        return _check(program(source), options, project) if _concerns(source) else Checked(())
    except ForeignNotebookError as error:
        return Skipped(str(error))
    except SourceError as error:
        return Failed(str(error))
    except Exception as error:  # a defect in one file must not end the run over the others
        return Failed(f"{type(error).__name__}: {error}", internal=True)


def program(source: Source) -> Source:
    """What is analysed: `source` itself, or the cells of a notebook as one program.

    Raises:
        ForeignNotebookError: it is a notebook of another language.
        SourceError: it is a notebook that cannot be read.
    """
    return read(source.path, source.data).source if is_notebook(source.path) else source


def _concerns(source: Source) -> bool:
    return not is_notebook(source.path) or may_use_torch(source.data)


def _check(source: Source, options: Options, project: Project | None) -> CheckOutcome:
    try:
        return _checked(source, options, project)
    except SourceError as error:
        return Failed(_explained(source, error))
    except Exception as error:  # as in `check`
        return Failed(f"{type(error).__name__}: {error}", internal=True)


def rewrite(
    source: Source, options: Options, accept: Accept | None = None, project: Project | None = None
) -> RewriteOutcome:
    """`source` with its fixes applied: those that `options` allow, or those for which `accept` answers True.

    No options allow suggestions: only `accept` chooses them, among those that `options` show.
    Fixes that the first ones expose are applied too, unless `accept` chooses. Never raises.
    """
    try:
        if not _concerns(source):
            return Clean()
        look = partial(_check, options=options, project=project)
        return _in_its_cells(source, _rewritten(program(source), options, accept, look))
    except ForeignNotebookError as error:
        return Skipped(str(error))
    except (NotEditable, SourceError) as error:
        return Failed(str(error))
    except Exception as error:  # as in `check`
        return Failed(f"{type(error).__name__}: {error}; {_BUG}", internal=True)


def _in_its_cells(source: Source, outcome: RewriteOutcome) -> RewriteOutcome:
    if isinstance(outcome, Changed) and is_notebook(source.path):
        return replace(outcome, data=read(source.path, source.data).written(outcome.data))
    return outcome


def text_edits(source: Source, fix: Fix) -> list[TextEdit]:
    """What `fix` alone does to the lines of `source`; nothing where it cannot be applied.

    Of a notebook, `source` is its `program`.
    """
    try:
        after = Source(source.path, _apply(source, fix.edits))
    except EditError:
        return []
    old, new = lines.split(source.text), lines.split(after.text)
    return [
        TextEdit(_line_span(old, start, end), "".join(new[new_start:new_end]))
        for tag, start, end, new_start, new_end in lines.opcodes(old, new)
        if tag != "equal"
    ]


# Checking


def _checked(source: Source, options: Options, project: Project | None) -> Checked | Skipped | Failed:
    rules = all_rules()
    asked = [rule for rule in rules if rule.code in options.select]
    active = triggered(source.data, [*asked, guards.RULE] if options.guards else asked)
    owners = [rule for rule in asked if rule.owns is not None] if may_conflict(source.data) else []
    if not active and not owners and suppressions.MARKER not in source.data:
        return Checked(())
    comments = suppressions.read(source)
    if comments.skip_file:
        return Skipped("it says `# devfix: skip-file`")
    program = Program(source, project, target=options.target_torch)
    try:
        found = with_deep_stack(lambda: _found(program, active, owners, options)) if active or owners else _Found()
    finally:
        program.forget()
    if isinstance(found, Failed):
        return found
    aimed = [_as_preferred(_for_target(finding, options, source), options) for finding in found.shown]
    known = frozenset(rule.code for rule in rules)
    result = suppressions.silence(aimed, comments, options.select, known, found.hidden)
    order = sorted(result.findings, key=lambda finding: (finding.span, finding.code, finding.message))
    return Checked(tuple(order), result.ignored)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the rules find, told or `hidden`: suggestions that nobody asks for, and what is not certain enough.

    Which it is, is settled before a fix that cannot be had turns into advice: that would be told unasked.
    """

    shown: list[Finding] = field(default_factory=list)
    hidden: list[Finding] = field(default_factory=list)


def _found(program: Program, rules: Iterable[Rule], owners: Iterable[Rule], options: Options) -> _Found | Failed:
    _ = program.tree  # what does not parse is no rule's fault
    findings = _Found()
    if is_replaced(program.unit, program.project):
        return findings
    for rule in rules:
        if rule.check is None:
            continue
        try:
            found = [one for one in _honest(rule, rule.check(program)) if not _is_vain(program.source, one)]
            findings.shown.extend(_tenable(program, one) for one in found if options.shows(one))
            findings.hidden.extend(one for one in found if not options.shows(one))
        except Exception as error:
            reason = f"{rule.code} {rule.name} raised {type(error).__name__}: {error}"
            foreign = _is_foreign(rule.code)
            return Failed(f"{reason}; {_bug(rule.code)}" if foreign else reason, internal=not foreign)
    placed = [one for one in _placed(program, owners) if not _is_vain(program.source, one)]
    for finding in _outliving(program.source, _told_once(findings, placed, options), findings.shown):
        if options.shows(finding):
            findings.shown.append(_tenable(program, finding))
        else:
            findings.hidden.append(finding)
    return findings


def _placed(program: Program, owners: Iterable[Rule]) -> Iterator[Finding]:
    """The conflicts of the placement analysis, each told by the rule that owns it."""
    for rule in owners:
        if rule.owns is not None:
            yield from conflict_findings(program.placement, program.source, rule.code, rule.name, rule.owns)


def _told_once(findings: _Found, placed: Iterable[Finding], options: Options) -> list[Finding]:
    """`placed` without what others tell of; one of those that cannot repair its cause leaves it to one that can."""
    left = []
    for one in placed:
        same = [other for other in (*findings.shown, *findings.hidden) if same_cause(one, other)]
        repairs = one.fix is not None and one.fix.safety is not Safety.SUGGESTION and options.shows(one)
        if repairs and all(other.fix is None and other.code != one.code for other in same):  # a rule has its reasons
            findings.shown[:] = [other for other in findings.shown if other not in same]
            left.append(one)
        elif not same:
            left.append(one)
    return left


def _outliving(source: Source, placed: list[Finding], told: Iterable[Finding]) -> list[Finding]:
    """The findings of `placed` that are there still after the fixes of those `told`: one cause is one finding."""
    fixed = [one for one in told if one.fix is not None and one.fix.edits]
    if not placed or not fixed:
        return placed
    try:
        data, _ = _without_conflicts(source, fixed)
        after = Analysis(Source(source.path, data).tree)
    except (EditError, SourceError):
        return placed
    left = births_in_conflict(after)
    after.forget()
    return [one for one in placed if birth_of(one) in left]


def _honest(rule: Rule, findings: Iterable[Finding]) -> list[Finding]:
    """The findings of one rule. Comments and settings know them by its code, so that they must have it."""
    found = list(findings)
    for one in found:
        if not isinstance(one, Finding):
            raise TypeError(f"it finds {one!r}, which is no Finding")
        if (one.code, one.name) != (rule.code, rule.name):
            raise ValueError(f"it finds something as {one.code} {one.name}")
        if not 0 <= one.confidence <= 1:
            raise ValueError(f"it finds something with a confidence of {one.confidence}, which is not from 0 to 1")
    return found


def _is_vain(source: Source, finding: Finding) -> bool:
    """Whether its fix moves a value to where that is: nothing was misplaced."""
    return finding.fix is not None and any(moves_to_itself(source, one) for one in finding.fix.edits)


def _tenable(program: Program, finding: Finding) -> Finding:
    """`finding` without a fix that cannot work at its place.

    A rule of somebody else keeps its fix: applying it tells that as the bug of the rule that it is.
    """
    if finding.fix is None or _is_foreign(finding.code):
        return finding
    reason = untenable(program, finding.fix)
    if reason is None:
        return finding
    return replace(finding, fix=None, advice=_sentences(finding.advice, f"The fix ({finding.fix.title}) {reason}"))


def _is_foreign(code: str) -> bool:
    return not code.startswith(RESERVED)


def _bug(code: str) -> str:
    return f"this is a bug of the rule {code}" if _is_foreign(code) else "this is a devfix bug"


def _explained(source: Source, error: SourceError) -> str:
    cause = error.__cause__
    if not isinstance(cause, SyntaxError):
        return str(error)
    if is_newer_python(source.text, cause):
        return f"{error}; newer than Python {_release(sys.version_info[:2])}, which devfix runs on here"
    if _TEMPLATE.search(source.text):  # f-strings have `{{`, too
        return f"{error}; looks like a template, not like Python"
    return str(error)


def _for_target(finding: Finding, options: Options, source: Source) -> Finding:
    """`finding` without a fix that writes what the target does not have yet."""
    fix, target = finding.fix, options.target_torch
    if fix is None or target is None:
        return finding
    since = max(filter(None, (fix.since, release_needed(fix.edits, source.text))), default=target)
    if since <= target:
        return finding
    by = f" (by {options.target_origin})" if options.target_origin else ""
    reason = f"The fix ({fix.title}) needs torch {_release(since)}; the target is torch {_release(target)}{by}."
    return replace(finding, fix=None, advice=_sentences(finding.advice, reason))


def _declares(edit: Edit) -> TypeGuard[InsertStatement]:
    return isinstance(edit, InsertStatement) and edit.code == DECLARATION


def _as_preferred(finding: Finding, options: Options) -> Finding:
    """`finding`, its fix declaring the preferred device; its title says so where it could not be declared."""
    fix, target = finding.fix, options.target_torch
    if fix is None or options.prefer is Prefer.CUDA or not any(map(_declares, fix.edits)):
        return finding
    if target is None or target >= ACCELERATOR_SINCE:
        edits = (replace(one, code=ACCELERATOR_DECLARATION) if _declares(one) else one for one in fix.edits)
        safety = Safety.UNSAFE if fix.safety is Safety.SAFE else fix.safety  # it is not what the program chose
        return replace(finding, fix=replace(fix, safety=safety, edits=tuple(edits)))
    need, have = _release(ACCELERATOR_SINCE), _release(target)
    reason = f"CUDA or the host: `torch.accelerator` needs torch {need}, the target is torch {have}"
    return replace(finding, fix=replace(fix, title=f"{fix.title} ({reason})"))


def _release(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _sentences(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


# Rewriting


@dataclass(frozen=True, slots=True)
class _Step:
    """A file after fixes: which were applied, and what is found in it now."""

    source: Source
    applied: tuple[Finding, ...]
    checked: Checked


def _rewritten(source: Source, options: Options, accept: Accept | None, look: Look) -> RewriteOutcome:
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
            return Failed(f"no end of fixes after {MAX_PASSES} passes; {_BUG}", internal=True)
    step, fixed = steps[-1], [one for step in steps for one in broken.kept(step.applied)]
    if not fixed and broken.reasons:
        code = broken.codes[0]
        return Failed(f"{broken.reasons[0]}; {_LEFT}; {_bug(code)}", internal=not _is_foreign(code))
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
        return tuple(one if one in fine else _without_fix(one, self._advice(one)) for one in findings)

    def _advice(self, finding: Finding) -> str:
        if (finding.code, finding.message) in self._circle:
            return "devfix has a fix, but what it writes makes another finding, whose fix undoes it."
        return f"devfix has a fix but could not make it hold; {_bug(finding.code)}."


def _without_fix(finding: Finding, advice: str) -> Finding:
    return replace(finding, fix=None, advice=_sentences(finding.advice, advice))


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
        data, applied = _without_conflicts(step.source, findings)
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
    if _recur(step.source, after, applied, checked.findings) or _is_fed(step.source, after, applied, checked.findings):
        return "its finding is still there afterwards"
    return _Step(after, tuple(applied), checked)


def _without_conflicts(source: Source, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]]:
    """The bytes after as many fixes as go together, earlier ones first, and their findings."""
    chosen = list(findings)
    while True:
        try:
            return _apply(source, [edit for finding in chosen for edit in _edits(finding)]), chosen
        except EditConflict as conflict:
            chosen = _without_later(chosen, conflict)


def _without_later(findings: list[Finding], conflict: EditConflict) -> list[Finding]:
    firsts, seconds = ([one for one in findings if edit in _edits(one)] for edit in (conflict.first, conflict.second))
    if firsts[0] is seconds[0]:
        raise conflict  # one fix that contradicts itself
    later = max(firsts, seconds, key=lambda owners: findings.index(owners[0]))
    return [finding for finding in findings if finding not in later]


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _apply(source: Source, edits: Iterable[Edit]) -> bytes:
    # libcst takes longer to import than most files take to check
    from devfix_codemods.edits.apply import apply

    return apply(source, edits)


def _recur(before: Source, after: Source, applied: Iterable[Finding], found: Iterable[Finding]) -> bool:
    """Whether one of the `applied` findings is `found` again in the lines that its own have become.

    A suggestion that says the same is another finding, unless it was one that was applied.
    """
    old, new = lines.split(before.text), lines.split(after.text)
    again = {(one.code, one.message, one.span.line, one.is_suggestion) for one in found}
    became: dict[int, range] = {}
    for tag, start, end, new_start, new_end in lines.opcodes(old, new):
        for index in range(start, end):
            moved = new_start + index - start
            became[index + 1] = range(moved + 1, moved + 2) if tag == "equal" else range(new_start + 1, new_end + 1)
    return any(
        (one.code, one.message, line, is_suggestion) in again
        for one in applied
        for line in became.get(one.span.line, ())
        for is_suggestion in {False, one.is_suggestion}
    )


def _is_fed(before: Source, after: Source, applied: Iterable[Finding], found: Iterable[Finding]) -> bool:
    """Whether a fix would be made once more around what it has just written: `x.to(d)`, `x.to(d).to(d)`."""
    written = {(one.code, edit.code, text) for one in applied for edit, text in _written(before, one)}
    again = ((one.code, edit.code, after.segment(edit.span)) for one in found for edit, _ in _written(after, one))
    return not written.isdisjoint(again)


def _written(source: Source, finding: Finding) -> Iterator[tuple[ReplaceExpression, str]]:
    """The edits of a finding that write around an expression, and what that becomes."""
    for edit in _edits(finding):
        if isinstance(edit, ReplaceExpression) and NODE in edit.code:
            yield edit, edit.code.replace(NODE, source.segment(edit.span))


# Lines


def _line_span(text: Sequence[str], start: int, end: int) -> Span:
    """The span of whole lines, counted from 0; the last ends where the text ends if no line follows it."""
    return Span(*_line_start(text, start), *_line_start(text, end))


def _line_start(text: Sequence[str], index: int) -> tuple[int, int]:
    if index < len(text) or not text or text[-1].endswith(("\r", "\n")):
        return (index + 1, 0)
    return (index, len(text[-1]))
