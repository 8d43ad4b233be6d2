"""What a file's syntax says before it is interpreted: reasons for a rule not to ask for the flow at all."""

import ast
from functools import cached_property

from devfix_codemods.flow.evidence import last_name
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tables import (
    DISTRIBUTIONS,
    MAKERS,
    PARAMETER_CLASSES,
    SAMPLING,
    canonical,
    is_distribution,
)
from devfix_codemods.flow.tree import stored


class Outline:
    """Cheap questions about one file. Each answers True where it is in doubt."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._loop_items: dict[ast.AST, set[str]] = {}
        self._moves = [
            node
            for node in names.calls
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"to", "cuda", "cpu"}
        ]

    @cached_property
    def makes_tensors(self) -> bool:
        """Some factory is called without a device, and what it makes is not carried along by a module at once."""
        return self._samples or any(
            last_name(call.func) in MAKERS
            and all(one.arg not in {"device", None} for one in call.keywords)
            and (self._names.qualified(call.func) or "").startswith("torch.")
            and not self._is_carried(call)
            for call in self._names.calls
        )

    @cached_property
    def _samples(self) -> bool:
        """Some distribution of torch is built, and something is asked for a sample."""
        return any(last_name(one.func) in SAMPLING for one in self._names.calls) and any(
            last_name(one.func) in DISTRIBUTIONS and is_distribution(self._names.qualified(one.func) or "")
            for one in self._names.calls
        )

    def _is_carried(self, call: ast.Call) -> bool:
        """`nn.Parameter(torch.zeros(3) * scale)`, `nn.Buffer(torch.arange(9).view(3, 3))`: it goes with its module.

        What is copied into a tensor, `x.copy_(torch.ones(3))`, stays: it may come from any device.
        """
        node: ast.AST = call
        while isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp)):
            around = self._names.parent(node)
            if isinstance(around, ast.Attribute) and around.attr in _KEEPING:
                node, around = around, self._names.parent(around)
                if not isinstance(around, ast.Call) or around.func is not node:
                    return False
            elif isinstance(around, ast.Call) and node in around.args:
                return self._carries(around.func)
            if around is None:
                return False
            node = around
        return False

    def _carries(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute) and function.attr in {"register_buffer", "copy_"}:
            return True
        return canonical(self._names.qualified(function) or "") in PARAMETER_CLASSES

    @cached_property
    def discards_moves(self) -> bool:
        """Some move is a statement of its own."""
        return any(isinstance(self._names.parent(one), ast.Expr) for one in self._moves)

    def _in_loop(self, node: ast.Call) -> bool:
        """Whether the receiver of a move comes from the variable of a loop around it, or from `next`."""
        root = _root(node)
        for around in self._names.ancestors(node):
            if isinstance(around, (ast.For, ast.AsyncFor)) and root in self._items(around):
                return True
            if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                return root in self._taken(around)
        return False

    def _items(self, loop: ast.For | ast.AsyncFor) -> set[str]:
        """The loop's variables, and names that are assigned from nothing but them."""
        if loop not in self._loop_items:
            known = stored(loop.target)
            for statement in loop.body:
                if isinstance(statement, ast.Assign) and _reads(statement.value) & known:
                    known |= {name for target in statement.targets for name in stored(target)}
            self._loop_items[loop] = known
        return self._loop_items[loop]

    def _taken(self, scope: ast.AST) -> set[str]:
        """Names that one function (or the module) assigns from `next(…)`."""
        return {
            name
            for call in self._names.calls
            if isinstance(call.func, ast.Name) and call.func.id == "next"
            for statement in [self._names.statement(call)]
            if isinstance(statement, ast.Assign) and scope in self._names.ancestors(statement)
            for target in statement.targets
            for name in stored(target)
        }


_KEEPING = frozenset(
    {"bool", "clone", "contiguous", "double", "expand", "fill_", "flatten", "float", "int", "long", "normal_"}
    | {"permute", "repeat", "reshape", "squeeze", "t", "transpose", "uniform_", "unsqueeze", "view", "zero_"}
)
"""Methods that give the tensor itself, filled, shaped or of another type, and look at no other tensor."""


def _root(node: ast.expr) -> str | None:
    """The name at which a chain of attributes, calls and subscripts starts."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _reads(node: ast.expr) -> set[str]:
    """Names and attributes that an expression reads."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
