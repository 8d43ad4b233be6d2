"""Plain containers, as a program writes them: displays, comprehensions, calls of `list` and `dict`, and sums."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Store

LIST = "List"
DICT = "Dict"
_DICTS = frozenset({"builtins.dict", "collections.OrderedDict"})


def arms(value: Node) -> Iterator[Node]:
    """The values that an expression may have: both of `a if c else b`."""
    if value.op is Op.PHI and value.syntax is not None:
        for one in value.args:
            yield from arms(one)
    else:
        yield value


def shape_of(node: Node) -> str | None:
    """Whether a value is made as a list or a tuple, or as a mapping; None for any other value."""
    match node.op:
        case Op.SEQUENCE:
            return LIST if node.extra in {"list", "tuple"} else None
        case Op.MAPPING:
            return DICT
        case Op.COMPREHENSION:
            return {"list": LIST, "dict": DICT}.get(str(node.extra))
        case Op.CALL:
            called = name(node.args[0])
            if called in {"builtins.list", "builtins.tuple"}:
                given = node.args[1:]
                plain = all(shape_of(one) or one.extra == "generator" for one in given)
                return LIST if plain else None
            return DICT if called in _DICTS and len(node.args) == 1 else None
        case Op.OPERATION if node.extra == "Add" and is_expression(node):
            return LIST if {shape_of(one) for one in node.args} == {LIST} else None
        case Op.OPERATION if node.extra == "Mult" and is_expression(node):
            return shape_of(node.args[0])
    return None


def with_operands(container: Node) -> Iterator[Node]:
    """A container, and those that it is made of: `a` and `b` of `list(a)` and `a + b`."""
    yield container
    if container.op is Op.CALL:
        yield from container.args[1:]
    elif container.op is Op.OPERATION:
        for one in container.args:
            if shape_of(one) is not None:
                yield from with_operands(one)


def is_expression(operation: Node) -> bool:
    """`a + b`, as against `a += b`."""
    return isinstance(operation.syntax, ast.BinOp)


def keys(display: ast.AST | None) -> list[ast.expr | None]:
    """The keys of a dict display or comprehension: None for `**others`; nothing for other syntax."""
    match display:
        case ast.Dict(keys=keys):
            return keys
        case ast.DictComp(key=key):
            return [key]
    return []


def index_of(store: Store) -> ast.expr | None:
    """The key under which something is put into a mapping."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(slice=key)]):
            return key
    return None


def is_key(node: ast.expr | None) -> bool:
    """Whether a key is a string that a `ModuleDict` takes."""
    if isinstance(node, ast.Constant):
        text = node.value
        return isinstance(text, str) and text not in rows.MODULE_DICT_ATTRIBUTES and text != "" and "." not in text
    if isinstance(node, ast.JoinedStr):
        return not any(isinstance(one, ast.Constant) and "." in str(one.value) for one in node.values)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
