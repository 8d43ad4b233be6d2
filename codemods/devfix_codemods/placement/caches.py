"""Tensors that a method makes where its first input is, and keeps for all later ones."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_none, is_optional

_MADE_ANEW = re.compile(r"rand|normal|Parameter|Buffer|bernoulli|multinomial|empty")
"""What gives something else each time, or something that has to stay the same object."""


@dataclass(frozen=True, slots=True)
class Cache:
    """`if test: self.name = …`, the value made on the device of `tensor`, a parameter of the method."""

    itself: str
    name: str
    test: ast.expr
    assignment: ast.Assign
    tensor: str


def caches(analysis: Analysis) -> Iterator[Cache]:
    """Those that hold nothing but what the method would make again, and of which nobody asks where they are."""
    for owner in analysis.kinds.module_classes:
        for method in owner.methods.values():
            for store in method.stores if method.name != "__init__" else ():
                if store.is_attribute and store.base is method.self_node:
                    yield from _cached(analysis, owner, method, store)


def _cached(analysis: Analysis, owner: Class, method: Function, store: Store) -> Iterator[Cache]:
    test = _test(method, store)
    tensor = _made_beside(store.value, method)
    if test is None or tensor is None or not isinstance(store.statement, ast.Assign):
        return
    if _is_read_after(store, method) and _is_pure(analysis, owner, store):
        yield Cache(str(store.base.extra), str(store.key), test, store.statement, str(tensor.extra))


def _test(method: Function, store: Store) -> ast.expr | None:
    """The condition behind which the attribute is set: that it is not there yet, or, besides, does not suit."""
    for one in ast.walk(method.syntax):
        if isinstance(one, ast.If) and store.statement in one.body and not one.orelse:
            choices = one.test.values if isinstance(one.test, ast.BoolOp) else [one.test]
            either = not isinstance(one.test, ast.BoolOp) or isinstance(one.test.op, ast.Or)
            asks = {"device", "is_cuda", "get_device"}.intersection(_attributes(one.test))
            missing = any(_says_missing(choice, str(store.key)) for choice in choices)
            return one.test if either and missing and not asks else None
    return None


def _attributes(expression: ast.expr) -> Iterator[str]:
    return (one.attr for one in ast.walk(expression) if isinstance(one, ast.Attribute))


def _says_missing(test: ast.expr, name: str) -> bool:
    match test:
        case ast.Compare(left=ast.Attribute(attr=asked), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return asked == name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=it)])):
            return bool(it == name)
    return False


def _made_beside(value: Node, method: Function) -> Node | None:
    """The parameter whose device alone the value is made on: by `device=x.device`, `.to(x.device)`, `.type_as(x)`."""
    found = set()
    pending = [value]
    for one in pending:  # grows by the operands of each
        if one.op is Op.ATTR and one.extra == "device":
            found.add(one.args[0])
        elif one.op is Op.CALL and one.args[0].op is Op.ATTR and one.args[0].extra == "type_as":
            found.update(one.args[1:2])
        pending += [each for each in one.args if each not in pending]
    tensor = found.pop() if len(found) == 1 else None
    if tensor is None or tensor.op is not Op.PARAM or tensor.function is not method or is_optional(tensor):
        return None
    return tensor


def _is_pure(analysis: Analysis, owner: Class, store: Store) -> bool:
    """Whether nothing else is put into the attribute, nothing changes it in place, and nothing carries it along."""
    births, name = analysis.births, str(store.key)
    field = owner.field_of(name)
    if analysis.kinds.of(store.value) is not Kind.TENSOR or field in births.attributes.registered:
        return False
    if _MADE_ANEW.search(ast.unparse(store.statement)) if store.statement is not None else True:
        return False
    stored = [one.value for one in analysis.module.stores if one.key == name]
    if not all(one is store.value or is_none(one) for one in stored) or births.attributes.carries_all(
        owner, births.imported
    ):
        return False
    return not any(_changes(one, name) for each in analysis.module.functions for one in ast.walk(each.syntax))


def _changes(node: ast.AST, name: str) -> bool:
    """Whether `self.mask[0] = 1`, `self.mask.add_(x)`; also whether the program asks where it is: it looks after it."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load) and _is_part(node.value, name)
    if isinstance(node, ast.AugAssign):
        return _is_part(node.target, name)
    if isinstance(node, ast.keyword):
        return node.arg == "out" and _is_part(node.value, name)
    in_place = isinstance(node, ast.Attribute) and (node.attr == "device" or _IN_PLACE.fullmatch(node.attr) is not None)
    return in_place and isinstance(node, ast.Attribute) and _is_part(node.value, name)


_IN_PLACE = re.compile(r"[^_].*_")


def _is_part(node: ast.expr, name: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == name


def _is_read_after(store: Store, method: Function) -> bool:
    """Whether the method goes on with the attribute below the condition."""
    last = store.statement.end_lineno or 0 if store.statement is not None else 0
    return any(
        isinstance(one, ast.Attribute) and one.attr == store.key and isinstance(one.ctx, ast.Load) and one.lineno > last
        for one in ast.walk(method.syntax)
    )
