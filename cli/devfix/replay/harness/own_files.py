"""Whether a program may itself have saved what it loads at a line: what it saved on this machine, it can load here."""

import ast
import re
from collections.abc import Iterator, Set

from devfix.replay.harness.targets import functions
from devfix.replay.probe.harness.free import called_name, own_nodes

_SAVES = re.compile(
    r"(?:torch|self|\w*model|\w*net)\.save|(?:[\w.]*\.)?save_?\w*(?:model|check_?point|ckpt|state|weights|net|pretrained|param)\w*"
)
"""How what saves tensors is called, where this file does not define it."""


def may_have_saved(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a file may save something before it comes to a line of its function `name`, or without one of its own.

    Each function saves that calls what does.
    """
    return _saves_first(tree, name, line, _saving(tree), set())


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
