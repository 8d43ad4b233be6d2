"""Cuts of tensors that a module makes once for its functions: moved where one reads them, which knows the device."""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.ir import Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import before
from devfix_codemods.source import Source

MANY = 3
"""Reads beyond which the tensor had better be made elsewhere."""


def at_reads(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`table.to(device)[index]`, where nothing that the module itself knows names the device.

    What meets the tensor of a caller says that callers are on the host.
    """
    birth, top = conflict.birth.node, analysis.module.top
    function = next((step.node.function for step in conflict.path), top)
    match birth.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is birth.syntax:
            pass
        case _:
            return
    if birth.function is not top or function is top or conflict.end.place.where is not Where.DEVICE:
        return
    users = [one for one in analysis.module.users.get(birth, ()) if one.function is function]
    reads = [each for one in users for each in _operands(one.syntax, name)] if users else []
    point = before(users[0]) if users else None
    if point is None or point.binds(name) is not birth or not _are_all(function.syntax, name, reads):
        return
    if any(one.op not in _COMPUTING for one in users) or len(reads) > MANY:
        return
    for suffix in suffixes(analysis, conflict, point):
        if suffix.test is None and suffix.device is not None:
            edits = tuple(ReplaceExpression(source.span(one), f"__node__{suffix.text}") for one in reads)
            title = f"Move `{name}` to `{suffix.device}` where it is read"
            yield Cut((*edits, *suffix.edits), title, harmless=suffix.follows)


def _operands(syntax: ast.AST | None, name: str) -> Iterator[ast.Name]:
    for one in ast.iter_child_nodes(syntax) if syntax is not None else ():
        if isinstance(one, ast.Name) and one.id == name:
            yield one


def _are_all(function: ast.AST, name: str, reads: list[ast.Name]) -> bool:
    """Whether a name is read nowhere else: what it is asked for, or an inner function that sees it, gets no move."""
    return all(one in reads for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name)


_COMPUTING = frozenset({Op.OPERATION, Op.ITEM, Op.CALL, Op.COMPARE})
