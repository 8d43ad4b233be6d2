"""Findings of conflicts: the path from birth to meeting is the trail that the user reads."""

import ast
from collections.abc import Iterator

from devfix_codemods.findings import Finding, Safety, Step
from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cuts import SUGGESTION, repair
from devfix_codemods.source import Source, Span


def findings(analysis: Analysis, source: Source, code: str, name: str, births: frozenset[Birth]) -> Iterator[Finding]:
    """One finding for each conflict of these births that is strong enough to be told."""
    for conflict in analysis.conflicts:
        if conflict.birth.birth not in births or conflict.confidence < SUGGESTION:
            continue
        fix = repair(analysis, source, conflict)
        if fix is None:
            continue
        yield _finding(source, conflict, code, name, fix.safety, fix=fix)


def _finding(source: Source, conflict: Conflict, code: str, name: str, safety: Safety, **rest: object) -> Finding:
    birth, meeting = conflict.birth.node, conflict.meeting
    origin = _span(source, birth)
    span = _span(source, meeting.node) if meeting is not None else None
    value = _text(birth)
    trail = [Step(origin, f"`{value}` {_BORN[conflict.birth.birth]}")] if origin is not None else []
    trail += _stops(source, conflict)
    return Finding(
        code=code,
        name=name,
        message=f"`{value}` {_STAYS[conflict.birth.birth]}, but meets {_place(conflict)}",
        span=span or origin or Span(1, 0, 1, 0),
        origin=origin,
        trail=tuple(trail),
        confidence=min(round(conflict.confidence, 3), 0.99),
        links=conflict.links,
        **rest,  # type: ignore[arg-type]
    )


def _stops(source: Source, conflict: Conflict) -> Iterator[Step]:
    """Where the path meets other values, and where it ends."""
    seen: set[int] = set()
    for step in conflict.path:
        if step.edge.turn is Turn.MEET and step.node.line and step.node.line not in seen:
            span = _span(source, step.node)
            if span is not None:
                seen.add(step.node.line)
                yield Step(span, f"meets others in `{_text(step.node)}`")
    end = _span(source, conflict.end.node)
    if end is not None and conflict.end.node.line not in seen:
        yield Step(end, f"{_place(conflict)} comes from here")


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
    return str(node.extra or "it")


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
