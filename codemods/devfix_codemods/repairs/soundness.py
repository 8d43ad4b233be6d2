"""Cuts that change what they should: edits that are no Python, and moves of a value to its own device, are none."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from devfix_codemods.edits.no_ops import moves_to_itself, text_of
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut
from devfix_codemods.source import Source, Span


def is_sound(source: Source, conflict: Conflict, cut: Cut) -> bool:
    """Whether all edits of a cut may stand."""
    written = _written(source, conflict)
    of_module = conflict.birth.birth is Birth.MODULE
    return not any(
        (isinstance(one, ReplaceExpression) and one.span in written) or moves_to_itself(source, one, of_module)
        for one in cut.edits
    )


def moves_row(analysis: Analysis, source: Source, conflict: Conflict, cut: Cut) -> bool:
    """Whether an attribute is moved where it is read that holds a tuple or a list as well, which have no `.to`: the
    state of an LSTM where that of a GRU is a tensor."""
    births = analysis.births
    stored, calls = births.attributes.stored, births.calls
    nodes = (conflict.birth.node, *(step.node for step in conflict.path))
    rows = {str(one.extra) for one in nodes if one.op is Op.FIELD and _may_be_row(stored.get(one, ()), calls)}
    return any(_moved_attribute(source, one) in rows for one in cut.edits) if rows else False


def _may_be_row(values: Iterable[Node], calls: Mapping[Node, Function]) -> bool:
    """Whether one of several values is a row, on some path at least: of the file's functions by what they return."""
    found = [*values]
    for one in found:  # grows
        found += (each for each in one.args if one.op is Op.PHI and each not in found)
        returns = calls[one].returns if one in calls else ()
        found += (each for each, _ in returns if each not in found)
    return any(one.op in _ROWS for one in found)


def _moved_attribute(source: Source, edit: Edit) -> str:
    """`hidden` of `self.hidden.to(device)`."""
    try:
        tree = ast.parse(text_of(source, edit).strip())
    except SyntaxError:
        return ""
    for one in ast.walk(tree):
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="to" | "cuda")):
                return name
    return ""


_ROWS = frozenset({Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION})


def _written(source: Source, conflict: Conflict) -> set[Span]:
    """What the statements of the path change where it is kept, or only measure: a call cannot be assigned to, a copy
    is not kept, or has the same size."""
    statements = {conflict.birth.node.statement, *(step.node.statement for step in conflict.path)}
    nodes = [node for one in statements if one is not None for node in ast.walk(one)]
    targets = [one.target for one in nodes if isinstance(one, ast.AugAssign)]
    measured = [one.value for one in nodes if isinstance(one, ast.Attribute) and one.attr in _MEASURES]
    return {source.span(one) for one in (*targets, *measured, *(found for node in nodes for found in _changed(node)))}


_MEASURES = frozenset({"shape", "size", "dim", "ndim", "numel", "dtype"})


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    """What a method changes in place that somebody else has as well: `kept[name].mul_(decay)`."""
    kept: ast.expr | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_in_place = node.func.attr.endswith("_") and not node.func.attr.startswith("_")
        kept = node.func.value if is_in_place else None
    while isinstance(kept, ast.Name | ast.Attribute | ast.Subscript):
        yield kept
        kept = None if isinstance(kept, ast.Name) else kept.value
