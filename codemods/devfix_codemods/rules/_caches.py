"""Tensors that a method makes where its first input is, and keeps for all later ones."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.tree import statements, walk
from devfix_codemods.program import Program
from devfix_codemods.rules import _attributes, _buffers
from devfix_codemods.rules._attributes import Kept, own_attribute
from devfix_codemods.rules._optional import optional_parameters

_MAY_BE = re.compile(rb"is None|not hasattr\(self")
_NEW_EACH_TIME = re.compile(r"rand|normal|Parameter|Buffer|bernoulli|multinomial|empty")


@dataclass(frozen=True, slots=True)
class Cache:
    """`if self.name is None: self.name = …`, the value made where the parameter `tensor` is."""

    name: str
    test: ast.expr
    assignment: ast.Assign
    tensor: str


def caches(program: Program) -> Iterator[Cache]:
    """Those that hold nothing but what the method would make again, and of which nobody asks where they are."""
    data = program.source.data
    if not (b".device" in data or b".type_as(" in data) or _MAY_BE.search(data) is None:
        return
    for owner in program.names.classes:
        for method in owner.body:
            if isinstance(method, scope.Function) and method.name != "__init__":
                yield from (
                    found
                    for node in statements(method)
                    if isinstance(node, ast.If) and (found := _cache(program, owner, method, node)) is not None
                )


def _cache(program: Program, owner: ast.ClassDef, method: scope.Function, node: ast.If) -> Cache | None:
    asked = set(_asked(node.test))
    if not asked or node.orelse or not all(isinstance(one, ast.Assign) for one in node.body):
        return None
    text = " ".join(ast.unparse(one) for one in node.body)
    if re.search(r"device|cuda", ast.unparse(node.test)) or _NEW_EACH_TIME.search(text):
        return None
    for one in node.body:
        if not isinstance(one, ast.Assign) or len(one.targets) != 1:
            continue
        name, tensor = own_attribute(one.targets[0]), _followed(program, method, one.value)
        if name is None or name not in asked or tensor is None:
            continue
        is_tensor = _buffers.is_tensor(program, one.value) or f"self.{name}" in program.unit.evidence[owner].surely
        if is_tensor and _is_pure(program, Kept(owner, name), one) and _is_read(method, node, name):
            return Cache(name, node.test, one, tensor)
    return None


def _asked(test: ast.expr) -> Iterator[str]:
    """The attributes that are not there yet if the test holds; `or` may ask for more."""
    for one in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]:
        match one:
            case ast.Compare(left=asked, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                name = own_attribute(asked)
                yield from [name] if name is not None else []
            case ast.UnaryOp(
                op=ast.Not(),
                operand=ast.Call(
                    func=ast.Name(id="hasattr"), args=[ast.Name(id="self"), ast.Constant(value=str() as name)]
                ),
            ):
                yield name


def _followed(program: Program, method: scope.Function, value: ast.expr) -> str | None:
    """The one parameter where the value is made: by `device=x.device`, `.to(x.device)`, `.type_as(x)`."""
    found: set[str] = set()
    for one in ast.walk(value):
        if isinstance(one, ast.Attribute) and one.attr == "device" and isinstance(one.value, ast.Name):
            found.add(one.value.id)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "type_as":
            found |= {given.id for given in one.args if isinstance(given, ast.Name)}
    evidence = program.unit.evidence[method]
    known = evidence.tensors | evidence.shaped | set(evidence.surely) | _annotated(program, method)
    given = set(scope.parameters(method)[1:]) & known
    return found.pop() if len(found) == 1 and found <= given - optional_parameters(method) else None


def _annotated(program: Program, method: scope.Function) -> set[str]:
    return {
        one.arg
        for one in scope.declared(method)
        if one.annotation is not None and program.names.qualified(one.annotation) == "torch.Tensor"
    }


def _is_pure(program: Program, kept: Kept, made: ast.Assign) -> bool:
    """Whether nothing else is put into the attribute, nothing changes it in place, and nothing carries it along."""
    for one in _attributes.assignments(program, kept):
        value = one.value if isinstance(one, ast.Assign | ast.AnnAssign) else one
        if one is not made and value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            return False
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Attribute) and node.attr == kept.name:
            if own_attribute(node) is None and not isinstance(node.ctx, ast.Load):
                return False
            if _is_changed(program, node):
                return False
    return not _attributes.is_carried_along(program, kept, made)


def _is_changed(program: Program, node: ast.Attribute) -> bool:
    """`self.x[0] = …`, `self.x[0].add_(…)`, `self.x.device`."""
    parent = program.names.parent(node)
    while isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
        parent = program.names.parent(parent)
    if isinstance(parent, ast.Subscript):
        return True
    if not isinstance(parent, ast.Attribute):
        return isinstance(parent, ast.keyword) and parent.arg == "out"
    return parent.attr == "device" or (parent.attr.endswith("_") and not parent.attr.startswith("_"))


def _is_read(method: scope.Function, guard: ast.If, name: str) -> bool:
    """Whether the method goes on with the attribute below the guard."""
    return any(
        own_attribute(node) == name and node.lineno > (guard.end_lineno or guard.lineno)
        for node in walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )
