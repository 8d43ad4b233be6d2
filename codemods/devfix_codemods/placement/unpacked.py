"""What a function of the file returns in a display is unpacked by position: `x, y = load()`."""

from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.placement.arguments import is_none


def returned_at(part: Node, called: Function) -> list[tuple[Node, Guard]] | None:
    """The values that a part of a call's result may be, and when; None where a return is no display with it."""
    position = part.extra
    if part.op is not Op.ITEM or not isinstance(position, int) or called.yields or not called.returns:
        return None
    displays = [(value, guard) for value, guard in called.returns if not is_none(value)]
    if any(value.op is not Op.SEQUENCE or value.extra != "tuple" for value, _ in displays):
        return None
    if len({len(value.args) for value, _ in displays}) != 1 or not 0 <= position < len(displays[0][0].args):
        return None
    return [(value.args[position], guard) for value, guard in displays]
