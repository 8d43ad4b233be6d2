"""Helpers that move what is nested in tuples, and return lists as they are."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.program import Program

_OF_TUPLES = re.compile(rb"isinstance\(\w+, tuple\):\s+return tuple\(")


@dataclass(frozen=True, slots=True)
class PartialMove:
    """`function` calls itself for the items of a tuple in `branch`; `edit` does so for a list where it is returned."""

    function: scope.Function
    branch: ast.If
    edit: InsertStatement


def moves_tuples(data: bytes) -> bool:
    """Whether some function returns a tuple for a tuple."""
    return _OF_TUPLES.search(data) is not None


def partial_moves(program: Program) -> Iterator[PartialMove]:
    """Helpers with a branch for tuples, one that moves a tensor, a last one that returns its argument, and no other."""
    for branch in (one for one in ast.walk(program.tree) if isinstance(one, ast.If)):
        function = scope.function_around(program, branch)
        if function is None or program.names.parent(branch) is not function or not scope.parameters(function):
            continue
        if re.search(r"\btuples?\b", ast.get_docstring(function) or ""):
            continue  # what it takes is said
        item, items = scope.parameters(function)[0], _items(branch, scope.parameters(function)[0])
        if items is None or not _calls_itself(function, items) or "list" in _words(function):
            continue
        rest = _rest(function, item)
        if _moves_tensor(function, item) and rest is not None:
            code = f"if isinstance({item}, list):\n    return [{ast.unparse(items.elt)} for {_loop(items)}]"
            yield PartialMove(function, branch, InsertStatement(program.source.span(rest), "before", code))


def _items(branch: ast.If, item: str) -> ast.GeneratorExp | None:
    """The generator of `if isinstance(item, tuple): return tuple(… for … in item)`."""
    if ast.unparse(branch.test) != f"isinstance({item}, tuple)" or len(branch.body) != 1:
        return None
    match branch.body[0]:
        case ast.Return(value=ast.Call(func=ast.Name(id="tuple"), args=[ast.GeneratorExp() as items])):
            return items if len(items.generators) == 1 else None
    return None


def _loop(items: ast.GeneratorExp) -> str:
    loop = items.generators[0]
    tests = "".join(f" if {ast.unparse(one)}" for one in loop.ifs)
    return f"{ast.unparse(loop.target)} in {ast.unparse(loop.iter)}{tests}"


def _calls_itself(function: scope.Function, items: ast.GeneratorExp) -> bool:
    call = items.elt
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == function.name


def _moves_tensor(function: scope.Function, item: str) -> bool:
    return any(
        isinstance(one, ast.Return) and one.value is not None and ast.unparse(one.value).startswith(f"{item}.to(")
        for one in ast.walk(function)
    )


def _rest(function: scope.Function, item: str) -> ast.Return | None:
    """The last statement that returns the argument as it is."""
    found = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Name) and one.value.id == item
    ]
    return max(found, key=lambda one: one.lineno, default=None)


def _words(function: scope.Function) -> set[str]:
    """The names in the function: one that speaks of lists or of sequences at large has thought of them."""
    names = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    attributes = {one.attr for one in ast.walk(function) if isinstance(one, ast.Attribute)}
    return {"list" if one.lower() in {"list", "sequence", "iterable", "map"} else one for one in names | attributes}
