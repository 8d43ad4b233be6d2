"""Tensors made anew since a test found the old one on another device: `if mask.device != x.device: mask = …`."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_MOVES = frozenset({"to", "cuda", "cpu", "type_as"})


def wanted_device(program: Program, call: ast.Call) -> str | None:
    """The device on which the tests around `call` want what it makes, if nothing moves that."""
    statement = program.names.statement(call)
    target = _target(statement)
    if target is None:
        return None
    inner: ast.AST = statement
    for outer in program.names.ancestors(statement):
        if isinstance(outer, scope.Function):
            return None
        if isinstance(outer, ast.If) and any(one is inner for one in outer.body):
            found = next(_others(outer.test, f"{target}.device", negated=False), None)
            if found is not None:
                return None if _is_moved(program, statement, target) else found
        inner = outer
    return None


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return dotted(statement.targets[0])
    return dotted(statement.target) if isinstance(statement, ast.AnnAssign) else None


def _others(test: ast.expr, device: str, *, negated: bool) -> Iterator[str]:
    """What `device` is not, where `test` holds, or is one of several reasons for it to hold."""
    match test:
        case ast.BoolOp(values=values):
            for one in values:
                yield from _others(one, device, negated=negated)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _others(operand, device, negated=not negated)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]):
            if isinstance(sign, ast.Eq) is negated:
                sides = [dotted(left), dotted(right)]
                other = next((one for one in sides if one != device), None)
                if device in sides and other is not None and other.rpartition(".")[2] == "device":
                    yield other


def _is_moved(program: Program, statement: ast.stmt, target: str) -> bool:
    """Whether the statement itself moves what it makes, or a later one moves what is in `target`."""
    function = scope.function_around(program, statement)
    for one in ast.walk(function) if function is not None else ():
        if not isinstance(one, ast.Attribute) or one.attr not in _MOVES:
            continue
        here = program.names.statement(one)
        if here is statement or (here.lineno > statement.lineno and dotted(one.value) == target):
            return True
    return False
