"""Plain containers, as a program writes them: displays, comprehensions, calls of `list` and `dict`, and sums."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Store

LIST = "List"
DICT = "Dict"
_DICTS = frozenset({"builtins.dict", "collections.OrderedDict"})


def arms(value: Node, seen: set[Node] | None = None) -> Iterator[Node]:
    """The values that an expression may have: both of `a if c else b`."""
    if value.op is Op.PHI and value.syntax is not None:
        seen = set() if seen is None else seen
        if value in seen:
            return
        seen.add(value)
        for one in value.args:
            yield from arms(one, seen)
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
        case Op.ITEM if any(one.extra == "slice" for one in node.args[1:]):  # of a list, or a tuple
            return shape_of(_filled(node.args[0]))
    return None


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _filled(node: Node) -> Node:
    """A display that is filled: `rows` behind `rows.append(x)`, in a loop or not."""
    while node.op is Op.AFTER or (node.op is Op.PHI and isinstance(node.syntax, _LOOPS)):
        node = node.args[0]
    return node


def is_container(node: Node) -> bool:
    """Whether a value is made as a list, a tuple or a mapping of any sort, none of which has `.to`."""
    made = name(node.args[0]) if node.op is Op.CALL else None
    return shape_of(node) is not None or made in libraries.MAPPINGS


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
    """Whether a key is surely a string that a `ModuleDict` takes."""
    match node:
        case ast.Constant(value=str(text)):
            return text not in rows.MODULE_DICT_ATTRIBUTES and text != "" and "." not in text
        case ast.JoinedStr(values=values):
            plain = (one for one in values if isinstance(one, ast.Constant))
            specified = any(isinstance(one, ast.FormattedValue) and one.format_spec is not None for one in values)
            return not specified and not any("." in str(one.value) for one in plain)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            texts = [one.value for one in (left, right) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return bool(texts) and not any("." in one for one in texts)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return "." not in text
        case ast.Call(func=ast.Name(id="str")):
            return True
    return False


def may_be_key(node: ast.expr | None, function: ast.AST) -> bool:
    """Whether a key of a function may be such a string, for all that the function says: no number that it counts."""
    match node:
        case ast.Name(id=name):
            return not any(_counts(one, name) for one in ast.walk(function))
        case ast.Attribute() | ast.Subscript():
            return True
    return False


def _counts(node: ast.AST, name: str) -> bool:
    """Whether a piece of code makes a number of a name: `for i in range(3)`, `for i, x in enumerate(rows)`, `i = 0`."""
    match node:
        case (
            ast.For(target=target, iter=ast.Call(func=ast.Name(id=called)))
            | ast.comprehension(target=target, iter=ast.Call(func=ast.Name(id=called)))
        ):
            first = target.elts[0] if isinstance(target, ast.Tuple) and called == "enumerate" else target
            return called in {"range", "enumerate"} and isinstance(first, ast.Name) and first.id == name
        case ast.arg(arg=named, annotation=ast.Name(id="int")):
            return named == name
        case ast.Assign(targets=[ast.Name(id=named)], value=ast.Constant(value=value)):
            return named == name and not isinstance(value, str)
    return False
