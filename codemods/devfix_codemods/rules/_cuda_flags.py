"""Conditions that ask for a device through a name: `needs_wait = device.type == "cuda"`, `if needs_wait:`."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk
from devfix_codemods.scope import Function, class_around, function_around

_ANSWERS = re.compile(r"(^|\.)(is_\w+|startswith|bool|any|all)$")


def says(program: Program, test: ast.expr, words: re.Pattern[str]) -> bool:
    """Whether a condition speaks of `words`, or the question does whose answer one of its flags keeps."""
    return words.search(ast.unparse(test)) is not None or any(
        words.search(ast.unparse(value))
        for flag in _flags(test)
        for value in _values(program, flag)
        if _is_question(value)
    )


def _flags(test: ast.expr) -> Iterator[ast.expr]:
    """The names in a condition that stand for truth by themselves."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _flags(inner)
        case ast.BoolOp(values=values):
            for one in values:
                yield from _flags(one)
        case ast.Name() | ast.Attribute():
            yield test


def _values(program: Program, flag: ast.expr) -> list[ast.expr]:
    """What a name is assigned in the function nearest to it that does so, an attribute in its class."""
    name = dotted(flag)
    if name is None:
        return []
    if isinstance(flag, ast.Attribute):
        owner = class_around(program, flag)
        return _assigned(ast.walk(owner), name) if owner is not None else []
    for outer in program.names.ancestors(flag):
        if isinstance(outer, Function | ast.Module):
            around = outer if isinstance(outer, Function) else None
            own = (one for one in walk(outer) if _is_assignment(one) and function_around(program, one) is around)
            if found := _assigned(own, name):
                return found
    return []


def _is_assignment(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def _assigned(nodes: Iterator[ast.AST], name: str) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        if any(dotted(one) == name for one in targets):
            found.append(value)
    return found


def _is_question(value: ast.expr) -> bool:
    """Whether an expression is true or false: other values speak of devices without asking for one."""
    match value:
        case ast.Compare() | ast.Attribute(attr="is_cuda"):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_question(inner)
        case ast.BoolOp(values=values):
            return any(_is_question(one) for one in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _is_question(test) and (_is_truth(body) or _is_truth(orelse))
        case ast.Call(func=function):
            name = dotted(function) or (function.attr if isinstance(function, ast.Attribute) else "")
            return _ANSWERS.search(name) is not None
    return False


def _is_truth(value: ast.expr) -> bool:
    """`asked if torch.cuda.is_available() else False` is an answer like `torch.cuda.is_available() and asked`."""
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)
