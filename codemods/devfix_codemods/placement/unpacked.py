"""What a function of the file returns in a display is unpacked by position: `x, y = load()`."""

import ast

from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.placement.arguments import is_none


def returned_at(part: Node, called: Function) -> list[tuple[Node, Guard]] | None:
    """The values that a part of a call's result may be, and when; None where a return is no display,
    or none has the part."""
    position = part.extra
    if part.op is not Op.ITEM or not isinstance(position, int) or called.yields or not called.returns:
        return None
    displays = [(value, guard) for value, guard in called.returns if not is_none(value)]
    if position < 0 or any(value.op is not Op.SEQUENCE or value.extra != "tuple" for value, _ in displays):
        return None
    if any(isinstance(one.syntax, ast.Starred) for value, _ in displays for one in value.args[: position + 1]):
        return None
    # a display that is too short for the position, `return None, None` of three, fails where it is unpacked
    long = [(value, guard) for value, guard in displays if position < len(value.args)]
    return [(value.args[position], guard) for value, guard in long] or None


def is_bound_again(part: Node, call: Node) -> bool:
    """`model, epoch = restore(path, model)`: a part that is bound to the name of what the call gets."""
    named = part.syntax.id if isinstance(part.syntax, ast.Name) else None
    values = (
        [*call.syntax.args, *(one.value for one in call.syntax.keywords)] if isinstance(call.syntax, ast.Call) else []
    )
    return any(isinstance(one, ast.Name) and one.id == named for one in values)
