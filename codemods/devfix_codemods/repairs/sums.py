"""Sums that begin as a 0-dim tensor on the host: what a new one is made of tells where it is."""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceStatement
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut
from devfix_codemods.source import Source


def added_anew(source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`total = total + loss` for `total += loss`: arithmetic takes 0-dim tensors of the host, in place it does not."""
    added = next((one.syntax for one in conflict.operations if isinstance(one.syntax, ast.AugAssign)), None)
    if not conflict.birth.scalar or added is None or not isinstance(added.target, ast.Name):
        return
    name = added.target.id
    sums = [
        one
        for one in ast.walk(conflict.birth.node.function.syntax)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and one.target.id == name
    ]
    if all(isinstance(one.op, ast.Add) and one.lineno == one.end_lineno for one in sums):
        edits = tuple(ReplaceStatement(source.span(one), _new_sum(source, name, one.value)) for one in sums)
        yield Cut(edits, "Add to a new sum each time: it is where the addends are", sure=False, harmless=True)


def _new_sum(source: Source, name: str, added: ast.expr) -> str:
    text = source.segment(source.span(added))
    simple = isinstance(added, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{name} = {name} + {text if simple else f'({text})'}"
