"""Devices that are CUDA unless a caller says otherwise, while nothing around needs CUDA.

Code that only compares such a device with a string, or hands it on as a `device_map`, runs without CUDA: a tensor that
is brought there would be its first need of it.
"""

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, last_name

_CUDA = re.compile(r"cuda(?::\d+)?")
_READERS = frozenset(
    {"print", "str", "repr", "isinstance", "type", "format", "info", "debug", "warning", "log", "echo", "get"}
)
_Place = tuple[ast.AST, str]


def is_unused_default(program: Program, text: str, at: ast.stmt) -> bool:
    """Whether `text` is the CUDA of a default, or a `device_map`, and no code around brings anything there."""
    sources = _Sources(program)
    is_default = sources.is_default(text, at)
    uses = list(sources.uses(text, at))
    parents = [program.names.parent(_whole(program, one)) for one in uses]
    is_map = any(isinstance(one, ast.keyword) and one.arg == "device_map" for one in parents)
    return (is_default or is_map) and not any(_needs(program, one) for one in uses)


class _Sources:
    """What gives a device its value: itself, and the names on the way from the parameter."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._bindings = program.bindings
        self._places: set[_Place] = set()

    def is_default(self, text: str, at: ast.AST) -> bool:
        """Whether every binding of `text` leads to a parameter, or an option, that is CUDA by default."""
        owner = scope.class_around(self._program, at) if text.startswith("self.") else self._bindings.owner(text, at)
        if owner is None:
            return self._is_option(text)
        if (owner, text) in self._places:
            return True
        self._places.add((owner, text))
        if isinstance(owner, ast.ClassDef) and text.startswith("self."):
            found = self._bindings.of_class(owner, text)
        else:
            found = self._bindings.of(owner, text)
        return bool(found) and all(
            _names_cuda(self._program, one.value)
            if isinstance(one.node, ast.arg)
            else one.value is not None and self._leads(one.value)
            for one in found
        )

    def _leads(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Call) and self._program.names.qualified(value.func) == "torch.device" and value.args:
            value = value.args[0]
        text = dotted(value)
        return text is not None and self.is_default(text, value)

    def _is_option(self, text: str) -> bool:
        """`args.device`, which the parser of the same file sets to CUDA where nothing is given."""
        name = text.rpartition(".")[2]
        return any(
            last_name(one.func) == "add_argument"
            and any(isinstance(arg, ast.Constant) and arg.value == f"--{name}" for arg in one.args)
            and any(key.arg == "default" and _names_cuda(self._program, key.value) for key in one.keywords)
            for one in self._program.names.calls
        )

    def uses(self, text: str, at: ast.AST) -> Iterator[ast.expr]:
        """Where the code around reads the device, by any of its names."""
        self.is_default(text, at)
        places = self._places | {(scope.function_around(self._program, at) or self._program.tree, text)}
        for around, name in places | set(self._kept(places)):
            yield from (one for one in ast.walk(around) if _reads(one, name))

    def _kept(self, places: set[_Place]) -> Iterator[_Place]:
        """The names and attributes that the code around sets to the device."""
        for around, name in places:
            for one in ast.walk(around):
                if isinstance(one, ast.Assign) and _carries(one.value, name):
                    for target in one.targets:
                        owner = around if isinstance(target, ast.Name) else scope.class_around(self._program, one)
                        yield owner or around, dotted(target) or ""


def _reads(node: ast.AST, name: str) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and dotted(node) == name


def _carries(value: ast.expr, name: str) -> bool:
    """Whether `value` is the device `name`: itself, in `torch.device(…)`, or as one of two."""
    match value:
        case ast.IfExp(body=first, orelse=second):
            return _carries(first, name) or _carries(second, name)
        case ast.BoolOp(values=values):
            return any(_carries(one, name) for one in values)
        case ast.Call(func=function, args=[inner, *_]) if last_name(function) == "device":
            return _carries(inner, name)
    return _reads(value, name)


def _names_cuda(program: Program, node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call) and program.names.qualified(node.func) == "torch.device" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.fullmatch(node.value) is not None


def _needs(program: Program, node: ast.expr) -> bool:
    """Whether the device is given to a call that may bring something there, without asking for CUDA first."""
    node = _whole(program, node)
    parent = program.names.parent(node)
    if isinstance(parent, ast.keyword):
        if parent.arg == "device_map":
            return False
        parent = program.names.parent(parent)
    if not isinstance(parent, ast.Call) or node is parent.func or last_name(parent.func) in _READERS:
        return False
    around = (one for one in program.names.ancestors(node) if isinstance(one, ast.If | ast.IfExp))
    return not any("is_available" in ast.unparse(one.test) for one in around)


def _whole(program: Program, node: ast.expr) -> ast.expr:
    """The expression around that is the device itself: `torch.device(x)`, `x if … else None`."""
    parent = program.names.parent(node)
    match parent:
        case ast.IfExp(test=test) if test is not node:
            return _whole(program, parent)
        case ast.BoolOp():
            return _whole(program, parent)
        case ast.Call(func=function) if function is not node and last_name(function) == "device":
            return _whole(program, parent)
    return node
