"""Items of a loop that are moved inside one call only, and go on beside its result. By syntax alone."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._one_branch import Forgotten

_INLINE = re.compile(rb"\((\w+)\.to\([\w.]*device\)\)")


def moves_inside_calls(data: bytes) -> bool:
    """Whether something is moved where a call gets it."""
    return _INLINE.search(data) is not None


def inline_moves(program: Program) -> Iterator[Forgotten]:
    """`y = net(x.to(device))` in a loop, with `a = judge(y)` and `b = judge(x)` below it."""
    for loop in program.names.loops:
        for statement in loop.body:
            found = _moved_inside(statement, scope.stored(loop.target))
            if found is None:
                continue
            made, item, move = found
            if not _moved_otherwise(loop, item, move) and _go_on_together(loop, statement, made, item):
                device = dotted(move.args[0]) or ""
                code = f"{item} = {program.source.segment(program.source.span(move))}"
                edits = (
                    InsertStatement(program.source.span(statement), "before", code),
                    ReplaceExpression(program.source.span(move), item),
                )
                yield Forgotten(item, device, statement, move, edits)


def _moved_inside(statement: ast.stmt, items: set[str]) -> tuple[str, str, ast.Call] | None:
    """`made`, `item` and the move of `made = net(item.to(device))`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=made)],
            value=ast.Call(
                args=[ast.Call(func=ast.Attribute(value=ast.Name(id=item), attr="to"), args=[device]) as move]
            ),
        ) if item in items and made != item and "device" in (dotted(device) or ""):
            return made, item, move
    return None


def _moved_otherwise(loop: ast.For | ast.AsyncFor, item: str, move: ast.Call) -> bool:
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in {"to", "cuda", "cpu", "numpy"}
        and one is not move.func
        and item in scope.reads(one.value)
        for one in ast.walk(loop)
    )


def _go_on_together(loop: ast.For | ast.AsyncFor, first: ast.stmt, made: str, item: str) -> bool:
    """Whether one function gives a name to what it makes of the result, and another to what it makes of the item."""
    takers: dict[str, set[str]] = {made: set(), item: set()}
    for one in loop.body[loop.body.index(first) + 1 :]:
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[ast.Name(id=given), *_])
            ) if given in takers and name not in takers and (dotted(function) or "len") not in _PLAIN:
                takers[given].add(dotted(function) or "")
    return bool(takers[made] & takers[item])


_PLAIN = frozenset({"len", "str", "repr", "type", "id", "list"})
