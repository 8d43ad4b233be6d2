"""Twins: assignments near each other that differ in names and in the move alone, and arrays that one row of statements
makes tensors of."""

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

    def __init__(
        self,
        births: "Births",
        comes_from_outside: Callable[[Node], bool],
        is_given_by_method: Callable[[Node], bool],
    ) -> None:
        self._births = births
        self._is_given_by_method = is_given_by_method
        self._joined = Joined(births)
        self._comes_from_outside = comes_from_outside

    def all(self) -> None:
        births = self._births
        for function in births.module.functions:
            if any(births.is_move(node) and births.is_elsewhere(node) for node in function.nodes):
                self._of_function(function)

    def _of_function(self, function: Function) -> None:
        values = {node.syntax: node for node in function.nodes if isinstance(node.syntax, ast.expr)}
        for block in _blocks(function.syntax):
            row = [(at, _Shape(one.value)) for at, one in enumerate(block) if isinstance(one, ast.Assign)]
            for at, shape in row:
                near = [one for other, one in row if 0 < abs(other - at) <= NEAR and one.of_arrays == shape.of_arrays]
                for place, part in enumerate(shape.parts if near else ()):
                    node = values.get(part)
                    if node is not None and isinstance(part, _VALUES) and self._may_stay(node):
                        self._beside(node, shape, {values.get(one.parts[place]): one for one in near})

    def _beside(self, node: Node, shape: "_Shape", near: dict[Node | None, "_Shape"]) -> None:
        moved = {one: each for one, each in near.items() if one is not None and self._is_twin(node, one)}
        twins = [one for one, each in moved.items() if each.exact == shape.exact]
        if moved:
            if not self._is_of_array(node):
                self._births.beside_moved(node, None)
            supports(self._births.graph, node, {one: [one] for one in twins or moved}, "twin" if twins else "family")

    def _is_twin(self, node: Node, other: Node) -> bool:
        births = self._births
        moved = births.is_move(other) and births.is_elsewhere(other) and not births.kinds.is_module(other)
        return moved and self._are_alike(node, other)

    def _may_stay(self, node: Node) -> bool:
        """Whether a value is none that is moved, and may be a tensor that something is done with."""
        births = self._births
        moved = births.is_move(node) or births.moves_of(node)
        return (
            not moved
            and node in births.used
            and births.kinds.of(node) in {None, Kind.TENSOR}
            and not self._joined.is_moved(node)
        )

    def _are_alike(self, node: Node, twin: Node) -> bool:
        """Whether two values come from outside, are made of arrays, or are computed of what came together."""
        if node.op is Op.ATTR and not _are_of_one(node, _computed_of(twin)):
            return False
        if self._comes_from_outside(node) or self._is_of_array(node):
            return True
        one, other = _computed_of(node), _computed_of(twin)
        if one is node:
            entries = _is_entry(one) and _is_entry(other) and one.args[0] is other.args[0]
            return entries and self._is_given_by_method(one.args[0])
        if one is other or self._births.moves_of(one) or not self._comes_from_outside(one):
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


def _are_of_one(node: Node, twin: Node) -> bool:
    """`batch.x`, `batch.y`: attributes of one thing, which a loop gives."""
    base = node.args[0]
    return base.op in _GIVEN and twin.op is Op.ATTR and twin.args[0] is base


def _is_entry(node: Node) -> bool:
    """`sample["x"]`"""
    return node.op is Op.ITEM and isinstance(node.extra, str) and isinstance(node.syntax, ast.Subscript)


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


_VALUES = (ast.Call, ast.Subscript, ast.Attribute)
_GIVEN = frozenset({Op.ITER, Op.ITEM})
_PARTS = frozenset({Op.ITEM, Op.ATTR})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DTYPES = frozenset({"float", "long", "double", "half", "int", "bool"})
_OF_ARRAYS = frozenset({"from_numpy", "tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor"})


class _Shape:
    """An expression without the names of its values, its texts, and its moves.

    `parts` are the expressions in it, each with its moves; those of two of one shape stand in one order. In `of_arrays`
    it does not matter what a tensor is made of: `torch.tensor(x)`, `torch.tensor([int(y) for y in z])`.
    """

    def __init__(self, value: ast.expr) -> None:
        self.parts: list[ast.expr] = []
        self.exact = self._of(value, of_arrays=False)
        self.parts.clear()
        self.of_arrays = self._of(value, of_arrays=True)

    def _of(self, node: ast.AST, *, of_arrays: bool) -> str:
        if isinstance(node, ast.expr):
            self.parts.append(node)
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"to", "cuda"}:
            node = node.func.value
        if isinstance(node, ast.Name):
            return "_"
        if isinstance(node, ast.Constant):
            return type(node.value).__name__
        if isinstance(node, ast.Attribute):
            return f"{self._of(node.value, of_arrays=of_arrays)}._"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = "dtype" if node.func.attr in _DTYPES else node.func.attr
            converts = of_arrays and method in _OF_ARRAYS and isinstance(node.func.value, ast.Name)
            given = [*node.args, *node.keywords] if not converts else node.keywords
            base, *parts = (self._of(one, of_arrays=of_arrays) for one in (node.func.value, *given))
            return f"{base}.{method}({','.join(parts)})"
        parts = [self._of(one, of_arrays=of_arrays) for one in ast.iter_child_nodes(node)]
        return f"{type(node).__name__}({','.join(parts)})"
