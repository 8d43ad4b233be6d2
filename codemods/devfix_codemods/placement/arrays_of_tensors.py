"""Arrays of numpy that were made of tensors, by code that is not read."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def is_of_tensors(value: Node, births: "Births") -> bool:
    """Whether an array is made of tensors by what is not read, with no copy to the host in sight."""
    pending, seen = [value], set[Node]()
    while pending and len(seen) < 40:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if births.kinds.of(one) is Kind.TENSOR:
            return True
        if one.op in {Op.ITEM, Op.SEQUENCE, Op.PHI, Op.AFTER}:
            pending += one.args
        elif one.op is Op.CALL and _may_read(one):
            pending += one.args[1:]
    return False


def _may_read(call: Node) -> bool:
    """Whether the contents of what a call gets may go into its result: not of what asks for sizes, and copies."""
    callee = call.args[0]
    if found := names(callee):
        return effect(canonical(found[0])) in {None, Effect.ARRAY}
    return callee.op is not Op.ATTR or method_effect(str(callee.extra)) is None
