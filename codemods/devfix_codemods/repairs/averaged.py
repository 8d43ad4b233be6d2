"""Cuts of averages: the weight that enters one is taken to where the average is kept."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.averages import average
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, operand_syntax
from devfix_codemods.source import Source


def taken_along(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`shadow.lerp_(live.to(shadow.device), …)`, where the average is what stayed on the host."""
    for step, following in pairwise(conflict.path):
        found = average(step.node)
        if found is None or following.node is not found.live:
            continue
        live, text = operand_syntax(found.live, found.update), _spelled(analysis, found.update.syntax)
        if live is not None and text is not None:
            edit = ReplaceExpression(source.span(live), f"__node__.to({text}.device)")
            yield Cut((edit,), f"Move the weight to the device of `{text}`", harmless=True, copies=True)
        return


def _spelled(analysis: Analysis, update: ast.AST | None) -> str | None:
    """The average, as its update names it."""
    match update:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=written, attr="mul_")))):
            pass
        case ast.Call(func=ast.Attribute(value=written)):
            pass
        case _:
            return None
    return analysis.text(written) if isinstance(written, ast.Name | ast.Attribute) else None
