"""Lengths for `pack_padded_sequence`, which reads them on the host, that are tensors and may be on a device."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.program import Program
from devfix_codemods.rules._bindings import Binding, Bindings
from devfix_codemods.rules._whereabouts import Made, Whereabouts

_PACKS = frozenset({"torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.pack_padded_sequence"})
_COMPUTES = frozenset(
    {"torch.clamp", "torch.sum", "torch.count_nonzero", "torch.cumsum", "torch.full_like", "torch.ones_like"}
    | {"torch.round", "torch.ceil", "torch.floor", "torch.div", "torch.floor_divide"}
)
_KEEP = frozenset({"sum", "squeeze", "to", "cuda", "int", "round", "ceil", "floor", "flatten"})
"""Methods whose result is a tensor where that of which they are called is one."""


def packs(program: Program) -> list[ast.Call]:
    return [one for one in program.names.calls if program.names.qualified(one.func) in _PACKS]


def lengths_off_host(program: Program, calls: list[ast.Call], whereabouts: Whereabouts) -> Iterator[ast.expr]:
    """The lengths that each of `calls` is given, where they are surely a tensor, and not surely on the host."""
    tensors = _Tensors(program)
    for call in calls:
        keywords = (one.value for one in call.keywords if one.arg == "lengths")
        lengths = call.args[1] if len(call.args) > 1 else next(keywords, None)
        if lengths is not None and tensors.is_tensor(lengths) and whereabouts.source(lengths) is not Made.HOST:
            yield lengths


class _Tensors:
    """Which expressions are tensors, whatever else has their methods."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._bindings = Bindings(program)
        self._open: set[ast.expr] = set()

    def is_tensor(self, node: ast.expr) -> bool:
        if node in self._open:
            return False
        self._open.add(node)
        try:
            return self._is_tensor(node)
        finally:
            self._open.discard(node)

    def _is_tensor(self, node: ast.expr) -> bool:
        match node:
            case ast.Name():
                return self._is_name_of_tensor(node)
            case ast.Call():
                return self._gives_tensor(node)
            case ast.Subscript(value=value, slice=index):
                return not isinstance(index, ast.Constant) and self.is_tensor(value)
        return False

    def _gives_tensor(self, call: ast.Call) -> bool:
        name = self._program.names.qualified(call.func)
        if name is not None:
            placed = any(one.arg == "device" for one in call.keywords)
            return name in _COMPUTES or (placed and name in tables.FACTORIES)
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr in tables.TENSOR_ONLY_METHODS - {"size", "dim", "numel", "unbind"}:
            return True
        return call.func.attr in _KEEP and (self.is_tensor(call.func.value) or self._is_made(call.func.value))

    def _is_made(self, node: ast.expr) -> bool:
        """`torch.LongTensor(…)`, before it is moved."""
        name = self._program.names.qualified(node.func) if isinstance(node, ast.Call) else None
        return name is not None and name in tables.FACTORIES | tables.LEGACY_CONSTRUCTORS

    def _is_name_of_tensor(self, node: ast.Name) -> bool:
        owner = self._bindings.owner(node.id, node)
        if owner is None or owner is not self._bindings.scope(node):
            return False
        found = self._bindings.reaching(self._bindings.of(owner, node.id), node)
        earlier = [one for one in found if one.start <= (node.lineno, node.col_offset)]
        return bool(earlier) and all(self._is_bound_to_tensor(one, node.id) for one in earlier)

    def _is_bound_to_tensor(self, binding: Binding, name: str) -> bool:
        match binding.node:
            case ast.arg() as parameter:
                return self._is_given_tensor(binding, parameter)
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), _])], value=value) if first == name:
                return _sorts(value) or self._program.names.qualified(_callee(value)) in {"torch.sort", "torch.topk"}
        return binding.value is not None and self.is_tensor(binding.value)

    def _is_given_tensor(self, binding: Binding, parameter: ast.arg) -> bool:
        if binding.annotation is not None:
            return ast.unparse(binding.annotation) in {"Tensor", "torch.Tensor", "torch.LongTensor", "LongTensor"}
        function = scope.function_around(self._program, parameter)
        evidence = self._program.unit.evidence.get(function) if function is not None else None
        return evidence is not None and parameter.arg in evidence.surely


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _sorts(node: ast.expr) -> bool:
    """`x.sort(…)` with two results, which only a tensor's has."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"sort", "topk"}
