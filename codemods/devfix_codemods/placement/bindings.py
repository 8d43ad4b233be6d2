"""What names are bound to at a line, and what the callers of a function give its parameters."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.summaries import qualified


def latest_bindings(analysis: Analysis, function: str, line: int) -> dict[str, Node]:
    """What the names of a function, or without one of the file, are last bound to before a line, parameters included.

    `function` is a qualified name, `Trainer.fit`.
    """
    latest: dict[str, tuple[int, Node]] = {}
    for scope in _scopes(analysis, function):
        latest.update((word, (0, node)) for word, node in scope.parameters.items())
        for word, node in _bindings(scope):
            at = node.statement.lineno if node.statement is not None else 0
            if at < line and at >= latest.get(word, (0, node))[0]:
                latest[word] = (at, node)
    return {word: node for word, (_, node) in latest.items()}


def given(analysis: Analysis, parameter: Node) -> Iterator[Node]:
    """What a parameter is given by calls that name its function or class, here and in files that import this one."""
    function = parameter.function
    for module in speaking(analysis, function):
        for call in module.of(Op.CALL):
            if runs(analysis, call.args[0], function) or analysis.calls.get(call) is function:
                yield from (argument for argument, each in bound(call, function) if each is parameter)


def speaking(analysis: Analysis, function: Function) -> Iterator[Module]:
    """This file, and those that import it and speak of the function, or of its class."""
    called = function.owner.name if function.owner is not None and function.name == "__init__" else function.name
    yield analysis.module
    yield from analysis.kinds.imported.importing(called)


def runs(analysis: Analysis, callee: Node, function: Function) -> bool:
    """Whether a value is a function, or the class whose constructor it is."""
    found = analysis.kinds.imported.definition(callee)
    return found is function or (isinstance(found, Class) and found.methods.get("__init__") is function)


def _scopes(analysis: Analysis, function: str) -> list[Function]:
    if not function:
        return [analysis.module.top]
    return [one for one in analysis.module.functions if qualified(one) == function]


def _bindings(scope: Function) -> Iterator[tuple[str, Node]]:
    """The names that assignments bind, with what they bind them to."""
    for node in scope.nodes:
        match node.statement:
            case ast.Assign(targets=[ast.Name(id=word)], value=value) if node.syntax is value:
                yield word, node
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if node.syntax in values:
                target = targets[values.index(node.syntax)] if len(targets) == len(values) else None
                if isinstance(target, ast.Name):
                    yield target.id, node
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if (
                node.op is Op.ITEM and node.args[0].syntax is value and isinstance(node.extra, int)
            ):
                target = targets[node.extra] if node.extra < len(targets) else None
                if isinstance(target, ast.Name):
                    yield target.id, node
            case _ if node.op is Op.ITER and isinstance(node.syntax, ast.Name):
                yield node.syntax.id, node
