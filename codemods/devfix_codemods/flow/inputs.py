"""Whether the input of a `forward` is a tensor, by every use of it: no use speaks against it, and one for it."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.classes import Function
from devfix_codemods.flow.names import Names

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
    """Whether `parameter` is the first of `forward`, comes without annotation or default, and is used as a tensor."""
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
