"""Modules that a function builds for itself, and calls with what its caller gave."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.library import is_module_api
from devfix_codemods.flow.tables import CONTAINER_MODULES, PARAMETERLESS_MODULES, canonical
from devfix_codemods.program import Program

_MOVES = frozenset({"to", "cuda", "cpu"})


@dataclass(frozen=True, slots=True)
class FreshModule:
    """`name = build`, and the first call of it, with something taken from the parameter `given`."""

    name: str
    build: ast.Call
    call: ast.Call
    given: str


def fresh_modules(program: Program) -> Iterator[FreshModule]:
    """Modules with parameters or buffers that nothing moves in the function that builds and calls them."""
    for build in program.names.calls:
        statement = program.names.parent(build)
        function = scope.function_around(program, build)
        if function is None or function.name == "__init__" or not isinstance(statement, ast.Assign):
            continue
        name = dotted(statement.targets[0]) if len(statement.targets) == 1 else None
        if name is None or "." in name or not holds_tensors(program, build):
            continue
        found = _first_call(program, function, name, build)
        if found is not None:
            yield found


def called_at_once(program: Program) -> Iterator[FreshModule]:
    """`nn.Linear(3, 4)(x)` in a function, with an `x` that its caller, or a part of `self`, gave."""
    for build in program.names.calls:
        call = program.names.parent(build)
        if not isinstance(call, ast.Call) or call.func is not build or not call.args:
            continue
        given, function = call.args[0], scope.function_around(program, build)
        if function is None or function.name.startswith(("__init__", "test")) or not isinstance(given, ast.Name):
            continue
        moved = program.names.parent(call)
        if isinstance(moved, ast.Attribute) and moved.attr in _MOVES:
            continue
        if holds_tensors(program, build) and _comes_from_outside(program, function, given.id):
            yield FreshModule(ast.unparse(build.func), build, call, given.id)


def _comes_from_outside(program: Program, function: scope.Function, name: str, depth: int = 3) -> bool:
    """Whether all that binds a name takes it from a parameter, or from a call of a part of `self`.

    What such a module gave, and what is computed of it, comes from there too.
    """
    known = set(scope.parameters(function)) - {"self", "cls"}
    values = [_bound_to(program, one) for one in scope.changes(function, name)]
    given = all(
        value is not None
        and (_is_given(value, known | {name}) or (depth > 0 and _follows(program, function, value, name, depth)))
        for value in values
    )
    return given and (name in known or bool(values))


def _follows(program: Program, function: scope.Function, value: ast.expr, name: str, depth: int) -> bool:
    """`nn.Linear(3, 4)(x)`, `x * (x > 0)`, with an `x` that comes from outside."""
    match value:
        case ast.BinOp(left=left, right=right):
            return any(_follows(program, function, one, name, depth) for one in (left, right))
        case ast.Call(func=ast.Call() as build, args=[first, *_]) if holds_tensors(program, build):
            return _follows(program, function, first, name, depth)
        case ast.Name(id=other):
            return other != name and _comes_from_outside(program, function, other, depth - 1)
    return False


def _bound_to(program: Program, node: ast.Name) -> ast.expr | None:
    """What a name is taken from, by an assignment or a loop."""
    statement = program.names.statement(node)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return statement.value
    return statement.iter if isinstance(statement, (ast.For, ast.AsyncFor)) else None


def _is_given(value: ast.expr, known: set[str]) -> bool:
    """`x[0].float()`, `enumerate(xs)`, `self.head(y)`: a part of what is known, or what a part of `self` gives."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        walks = value.func.id in {"enumerate", "zip", "reversed"}
        return walks and any(_is_given(one, known) for one in value.args)
    if isinstance(value, ast.Call) and (text := dotted(value.func)) is not None and text.startswith("self."):
        return text.count(".") == 1 and "load" not in text and "read" not in text
    return _root(value) in known


def holds_tensors(program: Program, build: ast.Call) -> bool:
    """Whether `build` makes a module of a library, with parameters or buffers, on the host."""
    name = canonical(program.names.qualified(build.func) or "")
    known = is_module_api(name) and not name.endswith("Loss")
    return known and name not in PARAMETERLESS_MODULES | CONTAINER_MODULES and not _says_device(build)


def _says_device(build: ast.Call) -> bool:
    return any(one.arg in {"device", None} for one in build.keywords)


def _first_call(program: Program, function: scope.Function, name: str, build: ast.Call) -> FreshModule | None:
    """The module may only be called: what else is done with it may move it."""
    first: FreshModule | None = None
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        call = program.names.parent(node)
        if isinstance(node.ctx, ast.Store):
            if program.names.statement(node) is not program.names.parent(build):
                return None
        elif isinstance(call, ast.Call) and call.func is node and first is None and call.args:
            given = _origin(function, call.args[0], program.names.statement(call))
            first = FreshModule(name, build, call, given) if given is not None else None
            if first is None:
                return None
        elif not isinstance(call, ast.Call) and not (isinstance(call, ast.Attribute) and call.attr not in _MOVES):
            return None
    return first


def _origin(function: scope.Function, node: ast.expr, call: ast.stmt, depth: int = 3) -> str | None:
    """The parameter that `x`, `x[i, :n]`, `x.float()` comes from, where nothing moves it on the way to `call`."""
    name = _root(node)
    if name is None:
        return None
    stores = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and name in scope.stored(one)]
    if name in scope.parameters(function) and name != "self":
        return name if all(_root(one.value) == name for one in stores) else None
    values = [one.value for one in stores if one is not call]
    if depth == 0 or len(values) != 1 or isinstance(values[0], ast.Tuple):
        return None
    return _origin(function, values[0], call, depth - 1)


def _root(node: ast.expr) -> str | None:
    """`x` of `x[i, :n]`, `x.float()`, `torch.squeeze(x)`: what has the device of `x`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"to", "cuda", "cpu", "numpy"}:
                return None
            of_torch = dotted(node.func.value) == "torch" and bool(node.args)
            node = node.args[0] if of_torch else node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return None
    return node.id
