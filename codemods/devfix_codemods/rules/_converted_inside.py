"""Tensors that a loop converts while it goes over them: what it has taken from them stays where it was."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, RemoveStatement
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

_LOOP = re.compile(rb"for \w+ in (\w+):[^\n]*\n(?:[^\n]*\n){0,4}?[ \t]+\1 = \1\.[^\n]*\.numpy\(\)")


@dataclass(frozen=True, slots=True)
class ConvertedInside:
    """`statement` converts `name` in a loop over it; `edits` put that before the loop."""

    name: str
    statement: ast.stmt
    edits: tuple[Edit, ...]


def converts_inside(data: bytes) -> bool:
    """Whether a loop over a name seems to give that a new value, on the host."""
    return _LOOP.search(data) is not None


def converted_inside(program: Program) -> Iterator[ConvertedInside]:
    """`for row in rows: rows = rows.cpu().numpy()`, where nothing else in the loop reads `rows`."""
    for loop in program.names.loops:
        match loop:
            case ast.For(target=ast.Name(id=item), iter=ast.Name(id=name)) if item != name:
                statement = next((one for one in loop.body if _converts(one, name)), None)
                if statement is None or not _is_all(loop, statement, item, name):
                    continue
                text = program.source.segment(program.source.span(statement))
                text = text.replace("\n" + " " * statement.col_offset, "\n")
                edits = (
                    InsertStatement(program.source.span(loop), "before", text),
                    RemoveStatement(program.source.span(statement)),
                )
                yield ConvertedInside(name, statement, edits)


def _converts(statement: ast.stmt, name: str) -> bool:
    """`rows = rows.cpu().numpy()`, maybe where `rows` is a tensor."""
    match statement:
        case ast.If(test=test, body=[inner], orelse=[]):
            return set(scope.reads(test)) >= {name} and _converts(inner, name)
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=ast.Attribute(attr="numpy")) as value):
            return target == name and set(scope.reads(value)) == {name}
    return False


def _is_all(loop: ast.For, statement: ast.stmt, item: str, name: str) -> bool:
    """Whether the items are read in the loop, and what they are taken from only by the conversion."""
    own = set(walk(statement))
    others = [one for each in loop.body for one in walk(each) if isinstance(one, ast.Name) and one not in own]
    return any(one.id == item for one in others) and all(one.id != name for one in others)
