"""Loaded values that belong on the host: data sets, and what the file itself has brought there before it saved it."""

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, last_name
from devfix_codemods.rules._taken_to_host import moves_to_host

_DATASET = re.compile(r"(?i)(?:^|_)data_?sets?$")
_TAKES_DATA = re.compile(r"(?:Dataset|DataLoader|Subset|Sampler|Iterator|random_split)$")


def is_dataset(program: Program, call: ast.Call) -> bool:
    """Whether what is loaded is called a data set, or given to what takes one: a loader, a subset, an iterator."""
    names = set(_names(program, call))
    if any(_DATASET.search(one) for one in names):
        return True
    around = scope.function_around(program, call) or program.tree
    calls = (one for one in ast.walk(around) if isinstance(one, ast.Call))
    return any(_is_given(one, call, names) for one in calls)


def _names(program: Program, call: ast.Call) -> Iterator[str]:
    """The plain names that get the value itself."""
    statement = program.names.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        yield from (one.id for one in statement.targets if isinstance(one, ast.Name))


def _is_given(taker: ast.Call, call: ast.Call, names: set[str]) -> bool:
    data = [one.value for one in taker.keywords if one.arg == "dataset"]
    if _TAKES_DATA.search(last_name(taker.func) or ""):
        data += taker.args[:1]
    return any(one is call or (isinstance(one, ast.Name) and one.id in names) for one in data)


def saves_host_values(program: Program, call: ast.Call) -> bool:
    """Whether the file saves what it takes to the host, `torch.save(x.cpu(), path)`, where it is loaded from."""
    wanted = _end(program, call.args[0])
    saves = [one for one in program.names.calls if last_name(one.func) == "save" and len(one.args) > 1]
    same = [one for one in saves if _end(program, one.args[1]) == wanted]
    return bool(same) and all(_is_brought(one.args[0]) for one in same)


def _is_brought(value: ast.expr) -> bool:
    """`x.cpu()`, `x.detach().cpu()`, and dicts and lists of them alone."""
    match value:
        case ast.Dict(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts) and all(map(_is_brought, parts))
        case ast.DictComp(value=part) | ast.ListComp(elt=part):
            return _is_brought(part)
    return moves_to_host(value)


def _end(program: Program, path: ast.expr) -> str:
    """What tells a file from others: the last part of a path, behind the name that holds it."""
    seen: set[str] = set()
    while isinstance(path, ast.Name) and path.id not in seen:
        seen.add(path.id)
        around = scope.function_around(program, path) or program.tree
        given = {one.value for each in (around, program.tree) for one in ast.walk(each) if _sets(one, path.id)}
        if len(given) != 1:
            return ast.dump(path)
        (path,) = given
    match path:
        case ast.Call(func=function, args=[*_, last]) if (dotted(function) or "").endswith("join"):
            return _end(program, last)
        case ast.BinOp(op=ast.Div(), right=last):
            return _end(program, last)
    return ast.dump(path)


def _sets(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
