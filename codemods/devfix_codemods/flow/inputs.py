"""What the uses of an input of `forward` say of it: that it is a tensor, or that only its number is read."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.classes import Function
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import given_to, walk

_TENSOR_PARTS = (
    tables.TENSOR_SHAPE_METHODS
    | tables.TENSOR_EVIDENCE_METHODS
    | tables.TENSOR_METHODS_ONE_PLACE
    | tables.TENSOR_ATTRIBUTES
    | tables.TENSOR_PLAIN_ATTRIBUTES
    | tables.NEW_METHODS
    | {"to", "device", "sum", "max", "min", "abs", "exp", "log", "sqrt", "split", "type", "cpu", "cuda", "any", "all"}
)


def is_input_tensor(names: Names, definition: Function, parameter: ast.arg) -> bool:
    """Whether `parameter` is surely a tensor: no use speaks against it, and one for it.

    It is the first of `forward`, comes without annotation or default, and is used as a tensor.
    """
    spec = definition.args
    given = [*spec.posonlyargs, *spec.args]
    first = len(given) > 1 and given[1] is parameter and len(spec.defaults) < len(given) - 1
    if definition.name != "forward" or not first or parameter.annotation is not None:
        return False
    uses = [one for one in ast.walk(definition) if isinstance(one, ast.Name) and one.id == parameter.arg]
    verdicts = {_verdict(names, one) for one in uses if isinstance(one.ctx, ast.Load)}
    return True in verdicts and False not in verdicts


def _verdict(names: Names, node: ast.Name) -> bool | None:
    """What one use says: for a tensor, against it, or nothing."""
    parent = names.parent(node)
    match parent:
        case ast.Attribute(attr=attr):
            return attr in _TENSOR_PARTS
        case ast.BinOp(op=op):
            return True if not isinstance(op, ast.Mod) else None
        case ast.Subscript(slice=key) if parent.value is node:
            return None if isinstance(key, (ast.Slice, ast.Tuple)) else False
        case ast.Call(func=ast.Attribute()) | ast.Return() | ast.keyword() | ast.Tuple() | ast.UnaryOp():
            return None
        case ast.Assign(targets=[ast.Name()]) | ast.IfExp():
            return None
    return False


def is_read_as_number(names: Names, definition: Function, parameter: ast.arg) -> bool:
    """Whether `.item()` and the like are all that comes of `parameter`: then it may be anywhere."""
    uses = [one for one in walk(definition) if isinstance(one, ast.Name) and one.id == parameter.arg]
    ends = {_end(names, one) for one in uses if isinstance(one.ctx, ast.Load)}
    return True in ends and False not in ends


def _end(names: Names, use: ast.Name) -> bool | None:
    """What is made of one use: a number, something else, or nothing but the same name again."""
    node: ast.expr | None = use
    while node is not None:
        match names.parent(node):
            case ast.Attribute(attr="item" | "tolist") | ast.FormattedValue():
                return True
            case ast.Call(func=ast.Name(id="float" | "int")):
                return True
            case ast.Attribute(attr=attr) if attr in tables.TENSOR_PLAIN_ATTRIBUTES:
                return None
            case ast.Assign(targets=[ast.Name(id=name)]) if name == use.id:
                return None
        node = _computed_alone(names, node)
    return False


def _computed_alone(names: Names, node: ast.expr) -> ast.expr | None:
    """The next tensor that is computed of `node` and of numbers that are written there: `torch.log(x)`, `x.abs()`."""
    outer = names.parent(node)
    if isinstance(outer, ast.Attribute):
        call, known = names.parent(outer), outer.attr in _TENSOR_PARTS
        if not isinstance(call, ast.Call) or call.func is not outer:
            return None
    else:
        call, known = outer, isinstance(outer, (ast.BinOp, ast.UnaryOp))
    match call:
        case ast.Call():
            given, known = given_to(call), known or (names.qualified(call.func) or "").startswith("torch.")
        case ast.BinOp(left=left, right=right):
            given = [left, right]
        case ast.UnaryOp():
            given = []
        case _:
            return None
    return call if known and all(isinstance(one, ast.Constant) for one in given if one is not node) else None
