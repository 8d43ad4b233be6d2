"""Twins: assignments near each other that differ in names and in the move alone."""

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

NEAR = 8
"""How many statements apart twins may be."""


class ParallelStatements:
    """Says of values that they belong where their twins are moved."""

    def __init__(self, births: "Births", comes_from_outside: Callable[[Node], bool]) -> None:
        self._births = births
        self._joined = Joined(births)
        self._comes_from_outside = comes_from_outside

    def all(self) -> None:
        births = self._births
        for function in births.module.functions:
            if any(births.is_move(node) and births.is_elsewhere(node) for node in function.nodes):
                self._of_function(function)

    def _of_function(self, function: Function) -> None:
        births = self._births
        values = {node.syntax: node for node in function.nodes if isinstance(node.syntax, ast.expr)}
        for block in _blocks(function.syntax):
            rows = [(at, one.value, _shape(one.value)) for at, one in enumerate(block) if isinstance(one, ast.Assign)]
            for at, value, shape in rows:
                node = values.get(value)
                if node is None or not isinstance(value, ast.Call | ast.Subscript) or not self._may_stay(node):
                    continue
                moved = {
                    twin: [twin]
                    for other, syntax, same in rows
                    if abs(other - at) <= NEAR
                    and same == shape
                    and (twin := values.get(syntax)) is not None
                    and births.is_move(twin)
                    and births.is_elsewhere(twin)
                    and not births.kinds.is_module(twin)
                    and self._are_alike(node, twin)
                }
                if moved:
                    if not self._is_of_array(node):
                        births.beside_moved(node, None)
                    supports(births.graph, node, moved, "twin")

    def _may_stay(self, node: Node) -> bool:
        """Whether a value is none that is moved, and may be a tensor."""
        births = self._births
        moved = births.is_move(node) or births.moves_of(node)
        return not moved and births.kinds.of(node) in {None, Kind.TENSOR} and not self._joined.is_moved(node)

    def _are_alike(self, node: Node, twin: Node) -> bool:
        """Whether two values come from outside, are made of arrays, or are computed of what came together."""
        if self._comes_from_outside(node) or self._is_of_array(node):
            return True
        one, other = _computed_of(node), _computed_of(twin)
        if one is node or one is other or self._births.moves_of(one) or not self._comes_from_outside(one):
            return False
        return one.op is other.op and (one.op is Op.PARAM or (one.op in _PARTS and one.args[0] is other.args[0]))

    def _is_of_array(self, node: Node) -> bool:
        """`torch.from_numpy(x).float()`"""
        births = self._births
        return any(
            source.birth is Birth.ARRAY for root in births.roots(node) for source in births.graph.sources.get(root, ())
        )


def _computed_of(node: Node) -> Node:
    """What a chain of methods is called on: `x` of `x.detach().repeat(2, 1).to(device)`."""
    while node.op is Op.CALL and node.args[0].op is Op.ATTR and not names(node.args[0]):
        node = node.args[0].args[0]
    return node


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a function, without those of functions inside."""
    pending: list[ast.AST] = [tree]
    for one in pending:  # grows
        for field in ("body", "orelse", "finalbody"):
            block = getattr(one, field, None)
            if isinstance(block, list) and block:
                yield block
                pending += [each for each in block if not isinstance(each, _SCOPES)]
        pending += getattr(one, "handlers", [])


_PARTS = frozenset({Op.ITEM, Op.ATTR})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DTYPES = frozenset({"float", "long", "double", "half", "int", "bool"})


def _shape(value: ast.expr) -> str:
    """An expression without the names of its values, its texts, and the move at its end."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in {"to", "cuda"}:
        value = value.func.value
    return _without_names(value)


def _without_names(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return "_"
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = "dtype" if node.func.attr in _DTYPES else node.func.attr
        given = [*node.args, *node.keywords]
        return f"{_without_names(node.func.value)}.{method}({','.join(map(_without_names, given))})"
    if isinstance(node, ast.Attribute):
        return f"{_without_names(node.value)}._"
    return f"{type(node).__name__}({','.join(map(_without_names, ast.iter_child_nodes(node)))})"
