"""Whether what a program loads may be of a GPU: not what it saved itself, or saved as copies on the host."""

import ast
import re
from collections.abc import Iterator, Set

from devfix.replay.harness.targets import functions
from devfix.replay.probe.harness.free import called_name, own_nodes

_SAVES = re.compile(
    r"(?:torch|self|\w*model|\w*net)\.save"
    r"|(?:[\w.]*\.)?save_?\w*(?:model|check_?point|ckpt|state|weights|net|pretrained|param)\w*"
)
"""How what saves tensors is called, where this file does not define it."""


def is_of_host(tree: ast.Module, name: str, line: int) -> bool:
    """Whether what a function, or without a name the file, loads at a line was saved on the host, or by itself."""
    return may_have_saved(tree, name, line) or saves_host_copies(tree) or loads_arrays(tree, name, line)


def may_have_saved(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a file may save something before it comes to a line of its function `name`, or without one of its own.

    Each function saves that calls what does.
    """
    return _saves_first(tree, name, line, _saving(tree), set())


def saves_host_copies(tree: ast.Module) -> bool:
    """Whether a file saves something, and copies all of that to the host before: so what it loads was saved there.

    Who copies one tensor of a mapping copies all that are on a device.
    """
    saved = [
        (scope, call.args[0])
        for scope in (tree, *(node for _, node in functions(tree)))
        for call in _calls(scope)
        if ast.unparse(call.func) == "torch.save" and call.args
    ]
    return bool(saved) and all(_is_host_copy(scope, value) for scope, value in saved)


def loads_arrays(tree: ast.Module, name: str, line: int) -> bool:
    """Whether what a function, or without a name the file, loads at a line is given to numpy as it is: so it was saved
    on the host, for numpy takes nothing that is on a device.
    """
    scope = dict(functions(tree)).get(name, tree) if name else tree
    nodes = list(own_nodes(scope))
    taken = [pair for one in nodes for pair in _taken(one)]
    at_line = (one for one in nodes if isinstance(one, ast.Assign) and one.lineno <= line <= (one.end_lineno or 0))
    loaded = {word for one in at_line for target in one.targets for word in _names(target)}
    size = -1
    while len(loaded) > size:
        size = len(loaded)
        loaded |= {word for target, value in taken if _holder(value) in loaded for word in _names(target)}
    calls = (one for one in nodes if isinstance(one, ast.Call) and re.match(r"(np|numpy)\.", ast.unparse(one.func)))
    return any(_holder(one) in loaded for call in calls for one in call.args)


def _taken(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What takes a value, or parts of it, as it is: names, the target of a loop, a list that it is appended to."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((one, value) for one in targets)
        case ast.For(target=target, iter=value):
            yield target, value
        case ast.Call(func=ast.Attribute(value=into, attr="append"), args=[value]):
            yield into, value


def _names(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _holder(value: ast.expr) -> str:
    """`found` of `found["x"][0]`; nothing of what is computed."""
    while isinstance(value, ast.Subscript | ast.Starred):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _is_host_copy(scope: ast.AST, value: ast.expr) -> bool:
    """`x.cpu()`, `x.detach().cpu().clone()`, `{"x": x.cpu()}`, and a name that is bound to such."""
    if isinstance(value, ast.Name):
        bound = [one.value for one in own_nodes(scope) if isinstance(one, ast.Assign) and _binds(one, value.id)]
        return bool(bound) and all(not isinstance(one, ast.Name) and _is_host_copy(scope, one) for one in bound)
    if isinstance(value, ast.Dict):
        return any(_is_host_copy(scope, one) for one in value.values)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in ("cpu", "numpy"):
            return True
        value = value.func.value
    return False


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _saves_first(tree: ast.Module, name: str, line: int, saving: Set[str], seen: set[str]) -> bool:
    scopes: dict[str, ast.AST] = {"": tree, **dict(functions(tree))}
    scope = scopes.get(name)
    if scope is None or name in seen:
        return False
    seen.add(name)
    loops = (one for one in own_nodes(scope) if isinstance(one, ast.For | ast.While))
    ends = (one.end_lineno or 0 for one in loops if one.lineno <= line <= (one.end_lineno or 0))
    last = max(ends, default=line - 1)
    if any(called_name(one) in saving and one.lineno <= last and one.lineno != line for one in _calls(scope)):
        return True
    called = name.rpartition(".")[2]
    return bool(name) and any(
        _saves_first(tree, other, call.lineno, saving, seen)
        for other, inner in scopes.items()
        for call in _calls(inner)
        if called_name(call) == called
    )


def _saving(tree: ast.Module) -> Set[str]:
    """The names of what saves something."""
    calls = {name.rpartition(".")[2]: {called_name(one) for one in _calls(node)} for name, node in functions(tree)}
    every = (one for one in ast.walk(tree) if isinstance(one, ast.Call))
    found = {called_name(one) for one in every if _SAVES.fullmatch(ast.unparse(one.func))}
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {name for name, called in calls.items() if not called.isdisjoint(found)}
    return found


def _calls(scope: ast.AST) -> Iterator[ast.Call]:
    return (one for one in own_nodes(scope) if isinstance(one, ast.Call))
