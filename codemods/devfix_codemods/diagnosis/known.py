"""Fixes that the rules already have: where the source alone decides, their fix is the first candidate."""

from collections.abc import Iterator

from devfix_codemods import engine
from devfix_codemods.diagnosis.messages import Category
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import Diagnosis, Repair
from devfix_codemods.edits.operations import Edit, InsertStatement
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.ir import Node
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.program import Program
from devfix_codemods.repairs.cuts import UNSAFE
from devfix_codemods.repairs.wording import places
from devfix_codemods.rules import all_rules


def known_fixes(project: Project, diagnosis: Diagnosis) -> Iterator[Repair]:
    """The fixes of findings that speak of the crash: those at its line first, then those that name a value's birth."""
    lines = _lines(diagnosis)
    near: list[tuple[int, Repair]] = []
    for file in lines:
        for finding in findings_of(project, file):
            fix = finding.fix
            if fix is None or not fix.edits or fix.safety is Safety.MANUAL or _moves_nothing(finding, diagnosis):
                continue
            rank = _rank(finding, lines[file], diagnosis, file)
            if rank is not None:
                effect = _EFFECTS.get(finding.code)
                near.append((rank, Repair(fix.title, ((file, fix.edits),), fix.safety, finding.code, effect)))
    near.sort(key=lambda one: (_moves_out_of_sight(project, one[1]), one[0]))
    yield from _together(near)
    yield from (repair for _, repair in near)


_MOVE_NOTHING = frozenset({"DVF301", "DVF302", "DVF303", "DVF401", "DVF403", "DVF406", "DVF501", "DVF502"})
"""Rules whose fixes leave values where they are, where there is an accelerator."""
_RULES_FOR = {
    Category.GENERATOR: frozenset({"DVF404"}),
    Category.RNG_STATE: frozenset({"DVF404"}),
    Category.PIN_MEMORY: frozenset({"DVF403"}),
    Category.LOAD: frozenset({"DVF401"}),
    Category.NO_ACCELERATOR: frozenset({"DVF501", "DVF502"}),
    Category.AUTOCAST: frozenset({"DVF301", "DVF303"}),
    Category.FORK: frozenset({"DVF405"}),
    Category.WRAPPER: frozenset({"DVF208"}),
}
"""What is raised inside of torch, by a loader's worker or a wrapper, and which rules find its cause."""
_EFFECTS = {"DVF204": "the parameters in it are trained and saved with their module from now on"}
"""What the fixes of a rule change in what the program computes."""


def _moves_nothing(finding: Finding, diagnosis: Diagnosis) -> bool:
    """Whether values in different places have met, and the fix takes none of them elsewhere."""
    return bool(diagnosis.misplaced) and finding.code in _MOVE_NOTHING


def _moves_out_of_sight(project: Project, repair: Repair) -> bool:
    """Whether a value would be moved in a function that has returned: better where it arrives, beside its siblings."""
    statements = [(one.file, project.statement(one.file, one.line)) for one in project.frames]
    running = {(file, project.function(file, one)) for file, one in statements if one is not None}
    for file, edits in repair.edits:
        for edit in edits:
            at = project.statement(file, edit.anchor.line) if isinstance(edit, InsertStatement) else None
            if at is not None and (file, project.function(file, at)) not in running:
                return True
    return False


def _together(near: list[tuple[int, Repair]]) -> Iterator[Repair]:
    """What one rule found equally near the crash in one file, as one repair: what meets there is made together."""
    groups: dict[tuple[int, str | None, str], dict[tuple[Edit, ...], Repair]] = {}
    for rank, one in near:
        (file, edits), *_ = one.edits
        groups.setdefault((rank, one.rule, file), {})[edits] = one
    for (_, rule, file), members in groups.items():
        if len(members) > 1:
            first, *_ = members.values()
            edits = tuple(dict.fromkeys(edit for some in members for edit in some))
            is_safe = all(one.safety is Safety.SAFE for one in members.values())
            title = f"{first.title}, and {len(members) - 1} more at once"
            yield Repair(title, ((file, edits),), Safety.SAFE if is_safe else Safety.UNSAFE, rule, first.effect)


def findings_of(project: Project, file: str) -> tuple[Finding, ...]:
    """What all rules find in a file of the user's, unsafe fixes included."""
    if project.program(file) is None:
        return ()
    every = frozenset(rule.code for rule in all_rules())
    checked = engine.check(project.sources[file], Options(every, unsafe=True))
    return checked.findings if isinstance(checked, Checked) else ()


def _lines(diagnosis: Diagnosis) -> dict[str, set[int]]:
    """The lines that the diagnosis names, by file."""
    found: dict[str, set[int]] = {diagnosis.sink.file: {diagnosis.sink.span.line}}
    for frame in diagnosis.frames:
        found.setdefault(frame.file, set()).add(frame.line)
    for operand in diagnosis.misplaced:
        for history in (operand.history, *(history for _, history in operand.odd)):
            for stop in history:
                if stop.file is not None and stop.line is not None:
                    found.setdefault(stop.file, set()).add(stop.line)
    return found


def _rank(finding: Finding, lines: set[int], diagnosis: Diagnosis, file: str) -> int | None:
    """How closely a finding speaks of the crash: 0 its sink is the crash, 1 it stands on a line of ours, 2 its trail
    passes one, 3 it is of the only rule for such errors; None where it speaks of something else."""
    sink = diagnosis.sink
    covered = range(finding.span.line, finding.span.end_line + 1)
    if file == sink.file and sink.span.line in covered:
        return 0
    if any(line in covered for line in lines):
        return 1
    if any(step.path is None and step.span.line in lines for step in finding.trail):
        return 2
    return 3 if answers(finding, diagnosis.category) else None


def answers(finding: Finding, category: Category) -> bool:
    """Whether a finding is of a rule that is there for such errors, which may come up far from their cause."""
    return finding.code in _RULES_FOR.get(category, ())


def covers(finding: Finding, line: int) -> bool:
    """Whether a finding's operation, or its trail, is at a line."""
    spans = [finding.span, *(step.span for step in finding.trail if step.path is None)]
    return any(span.line <= line <= span.end_line for span in spans)


def places_at(program: Program, line: int) -> Iterator[str]:
    """Where the values are that meet on a line, as far as the source decides it: "`x` is on the host (from line 3)"."""
    analysis = program.placement
    try:
        for strongest in analysis.conflicts:
            for conflict in analysis.ends(strongest.birth):
                at_line = [one for one in conflict.operations if _is_at(one, line)]
                if at_line and conflict.confidence >= UNSAFE:
                    yield from places(analysis, conflict, at_line[0])
    finally:
        program.forget()


def _is_at(operation: Node, line: int) -> bool:
    return operation.line <= line <= getattr(operation.syntax, "end_lineno", 0)
