"""Findings of conflicts: the path from birth to meeting is the trail that the user reads."""

import ast
import re
from collections.abc import Callable, Iterator

from devfix_codemods.catalogue import Effect
from devfix_codemods.catalogue.torch import FUNCTIONS
from devfix_codemods.edits.operations import AddImport, Edit, InsertStatement
from devfix_codemods.findings import Finding, Fix, Step
from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cuts import SUGGESTION, repair
from devfix_codemods.source import Source, Span

_MAKING = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.HOST})
_MOVED = (b".to(", b".cuda(", b"device=", b".sample(", b".rsample(")
_MADE = re.compile(
    rb"\b(?:" + b"|".join(one.rpartition(".")[2].encode() for one, row in FUNCTIONS.items() if row in _MAKING) + rb")\("
)


def may_conflict(data: bytes) -> bool:
    """Whether the bytes of a file allow for a conflict: something of torch, and something that is moved or made."""
    return b"torch" in data and (any(word in data for word in _MOVED) or _MADE.search(data) is not None)


def same_cause(one: Finding, other: Finding) -> bool:
    """Whether two findings tell of the same misplaced value, or move the same thing."""
    if one.origin is not None and one.origin in {other.origin, other.span}:
        return True
    if one.fix is None or other.fix is None:
        return False
    mine, others = set(map(_place_of, one.fix.edits)), set(map(_place_of, other.fix.edits))
    return not mine.isdisjoint(others)


def _place_of(edit: Edit) -> object:
    """What an edit changes: the expression at a line, or the name that an inserted statement binds."""
    if isinstance(edit, InsertStatement):
        return edit.code.partition("=")[0].partition(".")[0].strip()
    return edit.span.line if not isinstance(edit, AddImport) else edit


def findings(
    analysis: Analysis, source: Source, code: str, name: str, owns: Callable[[Conflict], bool]
) -> Iterator[Finding]:
    """One finding for each conflict that the rule owns, and that is strong enough to be told."""
    for conflict in analysis.conflicts:
        if conflict.confidence < SUGGESTION or not owns(conflict):
            continue
        fix = repair(analysis, source, conflict)
        if fix is None:
            continue
        yield _finding(source, conflict, code, name, fix)


def _finding(source: Source, conflict: Conflict, code: str, name: str, fix: Fix) -> Finding:
    birth, operation = conflict.birth.node, next(conflict.operations, None)
    origin = _span(source, birth)
    sink = birth if operation is None or conflict.birth.birth is Birth.READER else operation
    relation = "but meets" if operation is not None or conflict.birth.birth is Birth.READER else "but belongs with"
    value = _text(birth)
    trail = [Step(origin, _born(conflict))] if origin is not None else []
    trail += _stops(source, conflict)
    return Finding(
        code=code,
        name=name,
        message=f"`{value}` {_STAYS[conflict.birth.birth]}, {relation} {_place(conflict)}",
        span=_span(source, sink) or origin or Span(1, 0, 1, 0),
        origin=origin,
        trail=tuple(trail),
        confidence=min(round(conflict.confidence, 3), 0.99),
        links=conflict.links,
        fix=fix,
    )


def _born(conflict: Conflict) -> str:
    return f"`{_text(conflict.birth.node)}` {_BORN[conflict.birth.birth]}"


def birth_of(finding: Finding) -> str | None:
    """What the finding of a conflict says of the birth of its value."""
    return finding.trail[0].note if finding.trail else None


def births_in_conflict(analysis: Analysis) -> set[str]:
    """The same of all conflicts that may be told, by words, as lines move."""
    return {_born(one) for one in analysis.conflicts if one.confidence >= SUGGESTION}


def _stops(source: Source, conflict: Conflict) -> Iterator[Step]:
    """Where the path meets other values, and where it ends."""
    seen: set[int] = set()
    for node in conflict.operations:
        if node.line and node.line not in seen:
            span = _span(source, node)
            if span is not None:
                seen.add(node.line)
                yield Step(span, f"meets others in `{_text(node)}`")
    end = _span(source, conflict.end.node)
    if end is not None and conflict.end.node.line not in seen:
        yield Step(end, _end(conflict))


def _end(conflict: Conflict) -> str:
    match conflict.end.place.where:
        case Where.CALLER if conflict.end.links == ("unread",):
            return f"`{_text(conflict.end.node)}` comes from elsewhere, and lives where that put it"
        case Where.CALLER:
            return f"`{_text(conflict.end.node)}` lives where the caller put it"
        case Where.MODULE:
            return "the module's own tensors are wherever it was moved"
    return f"{_place(conflict)} comes from here"


def _place(conflict: Conflict) -> str:
    place = conflict.end.place
    if place.where is Where.CALLER:
        return f"`{_text(conflict.end.node)}`, which lives where the caller put it"
    if place.where is Where.MODULE:
        return "the module's own tensors"
    if conflict.birth.birth is Birth.READER:
        return f"what is on {_device(place.node)}"
    return f"a value on {_device(place.node)}"


def _device(node: Node | None) -> str:
    return f"`{_text(node)}`" if node is not None else "CUDA"


def _text(node: Node) -> str:
    if isinstance(node.syntax, ast.arg):
        return node.syntax.arg
    if isinstance(node.syntax, ast.expr | ast.Assign | ast.AugAssign):
        text = ast.unparse(node.syntax).replace("\n", " ")
        return text if len(text) <= 60 else f"{text[:57]}..."
    return str(node.extra) if node.extra is not None else "it"


def _span(source: Source, node: Node) -> Span | None:
    syntax = node.syntax if hasattr(node.syntax, "lineno") else node.statement
    return source.span(syntax) if syntax is not None else None


_BORN = {
    Birth.FACTORY: "is made here, on the host",
    Birth.ARRAY: "is made here, on the host",
    Birth.LOADER: "comes from the loader here, on the host",
    Birth.SIBLING: "comes beside what is moved, and stays on the host",
    Birth.ENCODING: "is made here, on the host",
    Birth.MODULE: "is made here, on the host",
    Birth.READER: "is read by numpy, which needs the host",
}
_STAYS = {**dict.fromkeys(_BORN, "stays on the host"), Birth.READER: "is needed on the host"}
