"""Cuts of weight averages (EMA): the live weight is moved to the average, which stays where it is kept."""

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
    """`shadow.lerp_(live.to(shadow.device), …)`, where the average stayed on the host, and its live weight did not.

    Only the first such step is cut. There is no cut where the average has no name that the edit could repeat.
    """
    for step, following in pairwise(conflict.path):
        found = average(step.node)
        if found is None or following.node is not found.live:
            continue
        live, text = operand_syntax(found.live, found.update), _average_text(analysis, found.update.syntax)
        if live is not None and text is not None:
            edit = ReplaceExpression(source.span(live), f"__node__.to({text}.device)")
            yield Cut((edit,), f"Move the weight to the device of `{text}`", harmless=True, copies=True)
        return


def _average_text(analysis: Analysis, update: ast.AST | None) -> str | None:
    """`shadow` of `shadow.mul_(decay).add_(live)` and of `shadow.lerp_(live, step)`; None where it is no plain name."""
    match update:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=written, attr="mul_")))):
            pass
        case ast.Call(func=ast.Attribute(value=written)):
            pass
        case _:
            return None
    return analysis.text(written) if isinstance(written, ast.Name | ast.Attribute) else None
