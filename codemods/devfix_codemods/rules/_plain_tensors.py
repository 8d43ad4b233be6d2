"""Which expressions are tensors by syntax, whatever else has their methods: lists, arrays and numbers are not."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.bindings import Binding
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

_COMPUTES = frozenset(
    {"torch.clamp", "torch.sum", "torch.count_nonzero", "torch.cumsum", "torch.full_like", "torch.ones_like"}
    | {"torch.round", "torch.ceil", "torch.floor", "torch.div", "torch.floor_divide", "torch.where"}
)
_KEEP = frozenset({"sum", "squeeze", "int", "round", "ceil", "floor", "flatten", "where", "repeat", "cumsum"})
"""Methods whose result is a tensor where that of which they are called is one."""
_MOVES = frozenset({"to", "cuda"})
"""Of all that is read on the host, tensors alone have these."""
_TENSOR = re.compile(r"(?:torch\.)?(?:Long)?Tensor")
_MAYBE_TENSOR = re.compile(rf"{_TENSOR.pattern}|Optional\[{_TENSOR.pattern}\]|{_TENSOR.pattern} \| None")
_TENSORS_BY_NAME = re.compile(rf"(?:typing\.)?(?:[Dd]ict|Mapping|MutableMapping)\[str, {_TENSOR.pattern}\]")


class Tensors:
    """Which expressions are tensors, whatever else has their methods."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._bindings = program.bindings
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
            case ast.Subscript(value=ast.Name() as mapping, slice=ast.Constant(value=str())):
                return self._holds_tensors(mapping) or self._is_used_as_tensor(node)
            case ast.Subscript(value=value, slice=index):
                return not isinstance(index, ast.Constant) and self.is_tensor(value)
            case ast.Attribute():
                return self._is_used_as_tensor(node)
            case ast.BinOp(left=left, right=right):
                return self.is_tensor(left) or self.is_tensor(right)
            case ast.Compare(left=left, comparators=others):
                return any(self.is_tensor(one) for one in (left, *others))
        return False

    def _is_used_as_tensor(self, node: ast.Attribute | ast.Subscript) -> bool:
        """`batch.lengths`, `batch["lengths"]`, of which the function calls a method that only tensors have."""
        function, text = scope.function_around(self._program, node), ast.dump(node)
        return function is not None and any(
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and (one.func.attr in tables.TENSOR_ONLY_METHODS or one.func.attr in _MOVES)
            and ast.dump(one.func.value) == text
            for one in walk(function)
        )

    def _holds_tensors(self, node: ast.Name) -> bool:
        """A mapping that is annotated to hold tensors, or each value of which was moved."""
        found = self._bound_before(node)
        return bool(found) and all(
            (one.annotation is not None and _TENSORS_BY_NAME.fullmatch(ast.unparse(one.annotation)) is not None)
            or (isinstance(one.value, ast.DictComp) and self._is_move(one.value.value))
            for one in found
        )

    def _is_move(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES

    def _gives_tensor(self, call: ast.Call) -> bool:
        name = self._program.names.qualified(call.func)
        if name is not None:
            placed = any(one.arg == "device" for one in call.keywords)
            return name in _COMPUTES or (placed and name in tables.FACTORIES)
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr in tables.TENSOR_ONLY_METHODS - {"size", "dim", "numel", "unbind"} or self._is_move(call):
            return True
        if call.func.attr == "sum" and any(one.arg == "dim" and not _is_text(one.value) for one in call.keywords):
            return True
        return call.func.attr in _KEEP and (self.is_tensor(call.func.value) or self._is_made(call.func.value))

    def _is_made(self, node: ast.expr) -> bool:
        """`torch.LongTensor(…)`, before it is moved."""
        name = self._program.names.qualified(node.func) if isinstance(node, ast.Call) else None
        return name is not None and name in tables.FACTORIES | tables.LEGACY_CONSTRUCTORS

    def _is_name_of_tensor(self, node: ast.Name) -> bool:
        earlier = self._bound_before(node)
        return bool(earlier) and all(self._is_bound_to_tensor(one, node.id) for one in earlier)

    def _bound_before(self, node: ast.Name) -> list[Binding]:
        """What may have given a name of the function its value, before the statement that reads it."""
        owner = self._bindings.owner(node.id, node)
        if owner is None or owner is not self._bindings.scope(node):
            return []
        found = self._bindings.reaching(self._bindings.of(owner, node.id), node)
        own = self._program.names.statement(node)
        return [one for one in found if one.start <= (node.lineno, node.col_offset) and one.node is not own]

    def _is_bound_to_tensor(self, binding: Binding, name: str) -> bool:
        match binding.node:
            case ast.arg() as parameter:
                return self._is_given_tensor(binding, parameter)
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), _])], value=value) if first == name:
                return _sorts(value) or self._program.names.qualified(_callee(value)) in {"torch.sort", "torch.topk"}
            case ast.Assign(value=ast.ListComp(elt=element) | ast.GeneratorExp(elt=element)) if binding.value is None:
                return self._is_move(element)
        return binding.value is not None and self.is_tensor(binding.value)

    def _is_given_tensor(self, binding: Binding, parameter: ast.arg) -> bool:
        if binding.annotation is not None:
            return _MAYBE_TENSOR.fullmatch(ast.unparse(binding.annotation)) is not None
        function = scope.function_around(self._program, parameter)
        evidence = self._program.unit.evidence.get(function) if function is not None else None
        return evidence is not None and parameter.arg in evidence.surely


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _sorts(node: ast.expr) -> bool:
    """`x.sort(…)` with two results, which only a tensor's has."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"sort", "topk"}
