"""What the text of a function says of its parameters: how many dimensions, what is called, iterated, read, compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

_SIZE = frozenset(("size", "shape"))
_LOOPS = frozenset(("enumerate", "iter", "tqdm", "zip", "list", "next"))
_COUNTS = frozenset(("range", "zeros", "ones", "randn", "rand", "arange", "empty", "eye", "randperm"))
_DOCUMENTED = re.compile(
    r"[(\[]\s*(\*|[A-Za-z_][\w/ ]*|\d+)((?:\s*[,x×]\s*(?:\*|\.\.\.|[A-Za-z_][\w/ +*-]*|\d+))+)\s*[)\]]"
)


@dataclass
class Uses:
    """How one parameter is used. `rank` is its number of dimensions where the text says it, `least` a lower bound.

    `names` are the attributes that are read of it, `keys` its entries, `called` the names that it calls as methods.
    `unpacked` is into how many names it is taken apart, `elements` the same of what a loop over it gives. `equal` are
    the constants that it is compared with, and with `is_loaded` it is given to `torch.load`.
    """

    rank: int | None = None
    least: int = 0
    names: dict[str, Uses] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    keys: dict[Any, Uses] = field(default_factory=dict)
    is_called: bool = False
    is_iterated: bool = False
    is_number: bool = False
    is_operand: bool = False
    is_loaded: bool = False
    unpacked: int | None = None
    elements: int | None = None
    equal: list[Any] = field(default_factory=list)

    def at(self, path: tuple[tuple[str, Any], ...]) -> Uses:
        """Those of an attribute or entry."""
        found = self
        for kind, name in path:
            found = (found.names if kind == "name" else found.keys).setdefault(name, Uses())
        return found


def uses_of(function: Function, names: Iterable[str] = ()) -> dict[str, Uses]:
    """The uses of each parameter, and of other `names`, in the text of a function."""
    found = {name: Uses() for name in (*(argument.arg for argument in _arguments(function)), *names)}
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in found:
            found[node.id].equal += _compared(node, parents)
        reached = _reached(node, parents) if isinstance(node, ast.Name) and node.id in found else None
        if reached is not None and isinstance(node, ast.Name):
            path, top = reached
            _note(found[node.id].at(path), top, parents)
    return found


def origins(function: Function) -> dict[str, set[str]]:
    """From each name of a function, `self.` ones too, to the parameters that its values may come from."""
    known = {argument.arg: {argument.arg} for argument in _arguments(function)}
    for _ in range(3):
        for targets, source in _bindings(function):
            named = set().union(*(known.get(name, set()) for name in names_in(source)))
            for target in targets:
                for name in names_in(target):
                    known.setdefault(name, set()).update(named)
    return known


def names_in(node: ast.AST) -> Iterator[str]:
    """The names in an expression; `self.x` is one, too."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id != "self":
            yield one.id
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self":
            yield f"self.{one.attr}"


def script_names(tree: ast.Module) -> frozenset[str]:
    """The names that a file binds only where it is run as a script."""
    guarded = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in set(names_in(node.test))]
    bound = {one.id for node in guarded for one in ast.walk(node) if _is_bound(one)}  # type: ignore[attr-defined]
    return frozenset(bound)


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def documented_ranks(text: str | None, name: str) -> int | None:
    """How many dimensions a docstring gives a parameter: `x (Tensor): of shape (B, C, H, W)`."""
    for line in (text or "").splitlines():
        if re.match(rf"\W*(?:param\s+|:param\s+)?`*{re.escape(name)}\b", line.strip()):
            rest = line.strip()[len(name) :]
            found = _DOCUMENTED.search(rest)
            if found and not found.group(0).lower().startswith(("(optional", "(torch", "(int", "(float", "(str")):
                return len(re.split(r"[,x×]", found.group(2)))
    return None


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _bindings(function: Function) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            yield node.targets, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            yield [node.target], node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield [node.target], node.iter
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield [node.optional_vars], node.context_expr


def _reached(node: ast.expr, parents: dict[Any, Any]) -> tuple[tuple[tuple[str, Any], ...], ast.expr] | None:
    """The attribute or entry that is read from a name, and the expression that stands for it."""
    path: list[tuple[str, Any]] = []
    while True:
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute) and not _is_method(parent, parents) and parent.attr not in _SIZE:
            path.append(("name", parent.attr))
        elif isinstance(parent, ast.Subscript) and parent.value is node and _is_key(parent.slice):
            path.append(("key", getattr(parent.slice, "value", None)))
        else:
            return tuple(path), node
        node = parent


def _is_method(node: ast.Attribute, parents: dict[Any, Any]) -> bool:
    call = parents.get(node)
    return isinstance(call, ast.Call) and call.func is node


def _is_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _note(uses: Uses, node: ast.expr, parents: dict[Any, Any]) -> None:
    parent = parents.get(node)
    if isinstance(parent, ast.Attribute):
        _note_attribute(uses, parent, parents)
    elif isinstance(parent, ast.Call):
        _note_call(uses, node, parent, parents)
    elif isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
        uses.is_iterated, uses.elements = True, _width(parent.target)
    elif isinstance(parent, ast.Assign) and parent.value is node:
        uses.unpacked = _width(parent.targets[0])
    elif isinstance(parent, ast.Compare):
        uses.equal += _constants(parent)
    elif isinstance(parent, (ast.BinOp, ast.UnaryOp)):
        uses.is_operand = True
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        uses.is_operand = True
        if isinstance(parent.slice, ast.Tuple):
            full = [part for part in parent.slice.elts if not _is_none(part)]
            uses.least = max(uses.least, len([part for part in full if not _is_ellipsis(part)]))


def _compared(node: ast.AST, parents: dict[Any, Any]) -> list[Any]:
    """The constants that what is called with a name is compared with: `str(name).lower() == "adam"`."""
    parent, is_called = parents.get(node), False
    while isinstance(parent, (ast.Call, ast.Attribute)):
        is_called = is_called or isinstance(parent, ast.Call)
        parent = parents.get(parent)
    return _constants(parent) if is_called and isinstance(parent, ast.Compare) else []


def _constants(compared: ast.Compare) -> list[Any]:
    sides = [compared.left, *compared.comparators]
    inner = [part for side in sides if isinstance(side, (ast.Tuple, ast.List)) for part in side.elts]
    found = [part.value for part in (*sides, *inner) if isinstance(part, ast.Constant)]
    return [value for value in found if value is not None]


def _note_attribute(uses: Uses, node: ast.Attribute, parents: dict[Any, Any]) -> None:
    """`x.shape`, or a method that is called."""
    top: Any = parents.get(node)
    if node.attr in _SIZE:
        uses.methods.add(node.attr)
        asked = top if node.attr == "size" and isinstance(top, ast.Call) else node
        _note_size(uses, asked, parents)
        return
    uses.methods.add(node.attr)
    if node.attr == "permute" and isinstance(top, ast.Call):
        given = top.args[0].elts if top.args and isinstance(top.args[0], (ast.Tuple, ast.List)) else top.args
        uses.rank = len(given) or uses.rank
    elif node.attr in ("transpose", "sum", "mean", "softmax", "argmax", "flatten") and isinstance(top, ast.Call):
        numbers = [
            getattr(one, "value", 0) for one in [*top.args, *(word.value for word in top.keywords)] if _is_index(one)
        ]
        uses.least = max([uses.least, *(number + 1 for number in numbers)])


def _note_size(uses: Uses, asked: Any, parents: dict[Any, Any]) -> None:
    parent = parents.get(asked)
    if isinstance(asked, ast.Call) and asked.args:
        if _is_index(asked.args[0]):
            uses.least = max(uses.least, getattr(asked.args[0], "value", 0) + 1)
    elif isinstance(parent, ast.Assign):
        target = parent.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            count = len(target.elts)
            is_open = any(isinstance(one, ast.Starred) for one in target.elts)
            uses.rank, uses.least = (uses.rank if is_open else count), max(uses.least, count)
    elif isinstance(parent, ast.Subscript) and _is_index(parent.slice):
        uses.least = max(uses.least, getattr(parent.slice, "value", 0) + 1)


def _note_call(uses: Uses, node: ast.expr, call: ast.Call, parents: dict[Any, Any]) -> None:
    if call.func is node:
        uses.is_called = True
        return
    uses.is_loaded = uses.is_loaded or ast.unparse(call.func) == "torch.load"
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _LOOPS:
        loop = parents.get(call)
        while isinstance(loop, ast.Call):
            loop = parents.get(loop)
        if isinstance(loop, (ast.For, ast.comprehension)):
            uses.is_iterated, uses.elements = True, _width(loop.target, name == "enumerate")
    elif name in _COUNTS:
        uses.is_number = True
    elif name not in ("isinstance", "print", "len", "str", "type", "callable", "hasattr", "getattr"):
        uses.is_operand = True


def _width(target: ast.expr, is_numbered: bool = False) -> int | None:
    """Into how many names something is taken apart."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    if is_numbered:
        return _width(target.elts[1]) if len(target.elts) == 2 else None
    return len(target.elts)


def _is_index(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value < 6


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
