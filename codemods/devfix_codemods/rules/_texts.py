"""Elements of a batch that are text, by what the code around says of them: an annotation, or a word beside them."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.project.tree import dotted


def parameters_of(function: scope.Function, call: ast.Call, name: str) -> Iterator[str]:
    """The parameters of `function` to which `call` gives what it holds under `name`."""
    names = [one for one in scope.parameters(function) if one not in {"self", "cls"}]
    for parameter, value in zip(names, call.args):
        if dotted(value) == name:
            yield parameter
    for one in call.keywords:
        if one.arg is not None and dotted(one.value) == name:
            yield one.arg
