"""Statements that a file repeats in another function, where they move what they make: `z = torch.randn(3).cuda()`."""

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.places import CUDA, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def repeated_statements(births: "Births") -> None:
    """What is made by a statement belongs where another one of the same words moves it; each test is for itself."""
    if births.defaults.is_test:
        return
    graph = births.graph
    moved: dict[str, list[Node]] = defaultdict(list)
    for node, place in births.moves.items():
        if place.where is Where.DEVICE and (has_device(node) or births.is_move(node)):
            moved[_words(node)].append(node)
    for node in [node for node in graph.sources if graph.is_made(node)] if moved else ():
        near = [one for one in moved.get(_words(node), ()) if one.function is not node.function]
        if near and not births.moves_of(node) and not _goes_into_left(births, node):
            graph.supports(node, near[0], "repeated-statement", near[0].guard)
    _read_again(births)


def _goes_into_left(births: "Births", made: Node) -> bool:
    """Whether a model gets a value that its function makes as well, and leaves where that is: both are on the host."""
    calls = (one for one in births.module.users.get(made, ()) if one.op is Op.CALL and made in one.args[1:])
    return any(_is_left(births, root) for call in calls for root in births.roots(call.args[0]))


def _is_left(births: "Births", model: Node) -> bool:
    built = model.op is Op.CALL and (births.kinds.is_module(model) or sounds_like_class(model.args[0]))
    return built and not has_device(model) and not births.is_move(model) and not births.moves_of(model)


def _read_again(births: "Births") -> None:
    """What numpy reads was on a device where another statement of the same words copies it."""
    copied: dict[str, list[Node]] = defaultdict(list)
    for call in births.module.of(Op.CALL):
        if method_name(call) == "cpu":
            copied[_words(call)].append(call)
    for node, sources in [*births.graph.sources.items()] if copied else ():
        by = next((one.by for one in sources if one.birth is Birth.READER and one.by is not None), None)
        again = copied.get(_words(by), ()) if by is not None and not births.is_move(node) else ()
        if any(one.function is not node.function for one in again):
            births.graph.add(Source(node, CUDA, Birth.COPIED, ("read-again",)))


def _words(node: Node) -> str:
    """The assignment that makes a value, without its moves."""
    statement = node.statement
    if node.op is not Op.CALL or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return f"{node.index}"
    return f"{ast.dump(statement.targets[0])} {_stripped(statement.value)}"


def _stripped(value: ast.AST) -> str:
    """The words of an expression, without `.to(device)`, `.cuda()`, `.cpu()` and `device=`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    if isinstance(value, ast.Constant | ast.Name):
        return ast.dump(value)
    parts = (one for one in ast.iter_child_nodes(value) if not (isinstance(one, ast.keyword) and one.arg == "device"))
    named = getattr(value, "attr", getattr(value, "arg", ""))
    return f"{type(value).__name__} {named}({', '.join(map(_stripped, parts))})"


_MOVES = frozenset({"to", "cuda", "cpu"})
