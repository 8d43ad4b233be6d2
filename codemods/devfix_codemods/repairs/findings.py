"""Findings of conflicts: the path from birth to meeting is the trail that the user reads."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from textwrap import dedent

from devfix_codemods.catalogue import MAKES_ON_HOST
from devfix_codemods.catalogue.torch import FUNCTIONS
from devfix_codemods.edits.operations import AddImport, Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import MADE, Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs import wording
from devfix_codemods.repairs.cuts import SUGGESTION, left_behind, repair
from devfix_codemods.repairs.operand_pairs import no_safer_than_operands
from devfix_codemods.source import Source, Span

_OF_TORCH = (b"torch", b"sentence_transformers", b".detach().numpy()", b"return_tensors")
_MOVED = (
    b".to(",
    b".cuda(",
    b"device",
    b")(",
    b".sample(",
    b".rsample(",
    b".detach()",
    b"DataParallel(",
    b".backward(",
    b".cuda.",
    b".parameters()",
    b"return_tensors",
)
_READ = (b".numpy()", b".cpu()", b"_padded_seq", b"matplotlib", b"np.")
_MADE = re.compile(
    rb"\b(?:"
    + b"|".join(one.rpartition(".")[2].encode() for one, row in FUNCTIONS.items() if row in MAKES_ON_HOST)
    + rb")(?:\(| as )"
)
"""A call of what makes tensors on the host, or the import that calls it something else."""

_KEPT = re.compile(rb"self\.\w+\s*(?::[^=\n]+)?=\s*(?:[\[({]|list\(|tuple\(|dict\()|\w+\.append\(")


def may_conflict(data: bytes) -> bool:
    """Whether the bytes of a file allow for a conflict: something of torch that is moved, made, or read on the host.

    Who speaks of a device may give it to those around; modules in lists are moved with nothing.
    """
    if not any(word in data for word in _OF_TORCH):
        return False
    if b"Module" in data and _KEPT.search(data) is not None:
        return True
    return any(word in data for word in (*_MOVED, *_READ)) or _MADE.search(data) is not None


def same_cause(one: Finding, other: Finding) -> bool:
    """Whether two findings tell of the same misplaced value, or move the same thing."""
    if one.origin is not None and one.origin in {other.origin, other.span}:
        return True
    if one.fix is None or other.fix is None:
        return False
    return any(_is_one_place(mine, each) for mine in one.fix.edits for each in other.fix.edits)


def _is_one_place(one: Edit, other: Edit) -> bool:
    """Whether two edits change the same expression, or statements that they insert bind the same name."""
    if isinstance(one, AddImport) or isinstance(other, AddImport):
        return one == other
    if isinstance(one, InsertStatement) and isinstance(other, InsertStatement):
        return _bound(one) == _bound(other)
    if isinstance(one, InsertStatement) or isinstance(other, InsertStatement):
        return False
    return one.span.start < other.span.end and other.span.start < one.span.end


def _bound(edit: InsertStatement) -> str:
    try:
        statement = next(iter(ast.parse(dedent(edit.code)).body), None)
    except SyntaxError:
        return edit.code
    while isinstance(statement, ast.If):
        statement = statement.body[0]
    match statement:
        case ast.Assign(targets=[target]):
            return ast.unparse(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=moved))):
            return ast.unparse(moved)
    return edit.code


def findings(
    analysis: Analysis, source: Source, code: str, name: str, owns: Callable[[Conflict], bool]
) -> Iterator[Finding]:
    """One finding for each conflict that the rule owns, and that is strong enough to be told."""
    calls: set[tuple[ast.AST | None, Node | None]] = set()
    repaired: set[tuple[Edit, ...]] = set()
    for conflict in analysis.conflicts:
        made = conflict.birth.node.syntax
        told_as = made, conflict.birth.by  # each read of a value is a finding of its own
        if conflict.confidence < SUGGESTION or not owns(conflict) or told_as in calls:
            continue
        told = remedy(analysis, source, conflict)
        left = left_behind(analysis, source, conflict) if told is None else None
        if told is not None:
            if told[1].edits and told[1].edits in repaired:
                continue  # a value of two branches is moved once
            repaired.add(told[1].edits)
            fix = no_safer_than_operands(analysis, *told, lambda one: remedy(analysis, source, one))
            finding = _finding(analysis, source, told[0], code, name, fix)
            finding = _by_hand(finding, fix) if fix.safety is Safety.MANUAL else finding
        elif left is not None:
            advice = (
                f"`{wording.text(left)}` (line {left.line}), which it meets, has to move with it: nothing moves that."
            )
            finding = replace(_finding(analysis, source, conflict, code, name, None), advice=advice)
        else:
            continue
        calls.update({told_as} if isinstance(made, ast.Call) else ())  # a comprehension makes several values by one
        yield finding


def _by_hand(finding: Finding, fix: Fix) -> Finding:
    """A finding that rests on too little for an edit: what to do if it is right."""
    advice = f"{fix.title}, if it belongs there: too little says so for an edit."
    return replace(finding, fix=None, advice=advice, weak=True)


def remedy(analysis: Analysis, source: Source, conflict: Conflict) -> tuple[Conflict, Fix] | None:
    """The repair of a conflict, or of another that its value has: that may be one that names a device, or, of what is
    made here, one with a tensor at hand that it surely meets, so that the repair may be trusted more."""
    if conflict not in analysis.remedies:
        analysis.remedies[conflict] = _remedy(analysis, source, conflict)
    found: tuple[Conflict, Fix] | None = analysis.remedies[conflict]
    return found


def _remedy(analysis: Analysis, source: Source, conflict: Conflict) -> tuple[Conflict, Fix] | None:
    others = (one for one in analysis.ends(conflict.birth) if one.end.place.where is not Where.HOST)
    best: tuple[Conflict, Fix] | None = None
    enough = _ENOUGH.get(conflict.birth.birth, _TRUST)
    for one in (conflict, *islice((each for each in others if each.end is not conflict.end), MOST_ENDS)):
        fix = repair(analysis, source, one) if one.confidence >= SUGGESTION else None
        if fix is not None and (best is None or _TRUST.index(fix.safety) < _TRUST.index(best[1].safety)):
            best = one, fix
        if best is not None and best[1].safety in enough:
            break
    return best


_ENOUGH = {**{birth: [Safety.SAFE] for birth in MADE}, Birth.MODULE: [Safety.SAFE, Safety.UNSAFE]}
"""With which repairs no other is looked for."""
_TRUST = list(Safety)
MOST_ENDS = 4
"""How many ends of a value are tried for a device that can be named where the value is made."""


def _finding(analysis: Analysis, source: Source, conflict: Conflict, code: str, name: str, fix: Fix | None) -> Finding:
    birth, operation = conflict.birth.node, next(conflict.operations, None)
    origin = _span(source, birth)
    sink = birth if operation is None or conflict.birth.birth is Birth.READER else operation
    read = _read_at(conflict, fix)
    trail = [Step(origin, wording.born(conflict))] if origin is not None else []
    trail += _stops(analysis, source, conflict)
    return Finding(
        code=code,
        name=name,
        message=wording.message(analysis, conflict)
        if read is None
        else wording.reading(conflict, source.segment(read)),
        span=read or _span(source, sink) or origin or Span(1, 0, 1, 0),
        origin=origin,
        trail=tuple(trail),
        confidence=min(round(conflict.confidence, 3), 0.99),
        links=conflict.links,
        fix=fix,
    )


def _read_at(conflict: Conflict, fix: Fix | None) -> Span | None:
    """Where numpy reads what may be a parameter, whose definition says nothing of that."""
    if conflict.birth.birth is not Birth.READER or fix is None:
        return None
    return next((one.span for one in fix.edits if isinstance(one, ReplaceExpression)), None)


def birth_of(finding: Finding) -> str | None:
    """What the finding of a conflict says of the birth of its value."""
    return finding.trail[0].note if finding.trail else None


def births_in_conflict(analysis: Analysis) -> set[str]:
    """The same of all conflicts that may be told, by words, as lines move."""
    return {wording.born(one) for one in analysis.conflicts if one.confidence >= SUGGESTION}


def _stops(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Step]:
    """Where the path meets other values, and where it ends; a line is told once."""
    seen: set[int] = set()
    for node, note in wording.stops(analysis, conflict):
        span = _span(source, node)
        if span is not None and node.line not in seen:
            seen.add(node.line)
            yield Step(span, note)
    yield from _stops_elsewhere(analysis, conflict)


def _stops_elsewhere(analysis: Analysis, conflict: Conflict) -> Iterator[Step]:
    """Where other files want a value that they are given on the device that they are given."""
    before = conflict.birth.node
    for step in conflict.path:
        found = analysis.births.wanted.get((before, step.node))
        if found is not None:
            yield Step(found.span, found.note, found.path)
        before = step.node


def _span(source: Source, node: Node) -> Span | None:
    syntax = node.syntax if hasattr(node.syntax, "lineno") else node.statement
    return source.span(syntax) if syntax is not None else None
