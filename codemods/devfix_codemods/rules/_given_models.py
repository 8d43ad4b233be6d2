"""Models that a class gets ready-made and trains: whoever made them has placed them, apart from the class itself."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.bindings import initializers
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_MOVES = frozenset({"to", "cuda", "cpu"})


def is_given_model(program: Program, node: ast.expr) -> bool:
    """Whether `self.model` in a method is what the constructor was given, has parameters and stays where it is.

    Not in a `forward` that does not train: the replicas of `DataParallel` have no parameters there.
    """
    text = dotted(node)
    owner, function = scope.class_around(program, node), scope.function_around(program, node)
    if text is None or owner is None or function is None or text.count(".") != 1 or not text.startswith("self."):
        return False
    name = _given_as(owner, text)
    if name is None or (function.name == "forward" and not _calls(function, {None}, "backward")):
        return False
    names: set[str | None] = {text, name}
    return _calls(owner, names, "parameters") and not any(_calls(owner, names, one) for one in _MOVES)


def _given_as(owner: ast.ClassDef, text: str) -> str | None:
    """The parameter that a constructor keeps under `text`, which nothing else is."""
    kept = [
        (one, function)
        for function in owner.body
        if isinstance(function, scope.Function)
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and text in map(dotted, one.targets)
    ]
    match kept:
        case [(ast.Assign(value=ast.Name(id=name)), function)] if function in initializers(owner):
            alone = name in scope.parameters(function) and not any(scope.stores(function, name))
            return name if alone else None
    return None


def _calls(around: ast.AST, owners: set[str | None], method: str) -> bool:
    """Whether `method` of one of `owners` is called, or of anything where that is None."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == method
        and (None in owners or dotted(one.func.value) in owners)
        for one in ast.walk(around)
    )
