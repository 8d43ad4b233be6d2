"""Loaded modules that go to a function which saves them as they come, and brings them to a device only then."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.names import Names
from devfix_codemods.project.tree import dotted
from devfix_codemods.rules._called import called_function
from devfix_codemods.rules._texts import parameters_of


def is_saved_first(program: Program, call: ast.Call) -> bool:
    """Whether the first that is done with what `call` loads is to give it to such a function of the project.

    Where that moves nothing, it must be the last, too.
    """
    statement = program.names.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is call else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    name, around = targets[0].id, scope.function_around(program, call) or program.tree
    reads = [one for one in scope.loads(around, {name}) if one.lineno > call.lineno]
    taker = taker_of(program.names, min(reads, key=_position)) if reads else None
    found = called_function(program, taker) if taker is not None else None
    if taker is None or found is None or program.names.statement(taker) not in scope.block_of(program, statement):
        return False
    there, function = found
    for parameter in parameters_of(function, taker, name):
        uses = sorted(scope.loads(function, {parameter}), key=_position)
        if uses and _saves(there.names, uses[0]):
            return len(uses) == len(reads) == 1 or any(_is_moved(one, parameter) for one in function.body)
    return False


def _position(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def taker_of(names: Names, node: ast.expr) -> ast.Call | None:
    """The call that gets the value as one of its arguments."""
    parent = names.parent(node)
    outer = names.parent(parent) if isinstance(parent, ast.keyword) else parent
    return outer if isinstance(outer, ast.Call) and outer.func is not node else None


def _saves(names: Names, node: ast.Name) -> bool:
    """`x.save(…)`, `torch.save(x, …)`."""
    parent = names.parent(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "save" and isinstance(names.parent(parent), ast.Call)
    return isinstance(parent, ast.Call) and names.qualified(parent.func) in _SAVERS and parent.args[:1] == [node]


_SAVERS = frozenset({"torch.save", "torch.jit.save"})


def _is_moved(statement: ast.stmt, name: str) -> bool:
    """`x.to(device)` as a statement, which moves a module for all who have it."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and dotted(call.func) in {f"{name}.to", f"{name}.cuda"}
