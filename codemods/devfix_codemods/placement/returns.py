"""What modules give that is on the host, wherever they compute: `return y.cpu()`, or a tensor made there and filled."""

from copy import copy
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import method
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def given_on_host(births: "Births", call: Node) -> Node | None:
    """A node for what a call of a module computes, which its result is not where all that `forward` returns is on the
    host: the result is where the returned values are. None for any other call."""
    owner = births.class_of(call.args[0])
    forward = method(owner, "forward") if owner is not None else None
    returned = [(value, guard) for value, guard in forward.returns if not is_none(value)] if forward is not None else []
    if forward is None or forward.yields or not returned:
        return None
    seen = set[Node]()
    if not all(_is_on_host(births, value, seen) for value, _ in returned):
        return None
    if forward.module is births.module:
        for value, guard in returned:
            births.graph.flows(value, call, "call", guard, -call.index - 1)
    else:
        births.graph.add(Source(call, HOST, Birth.CHOSEN_HOST, ("certain",)))
    return copy(call)


def _is_on_host(births: "Births", value: Node, seen: set[Node]) -> bool:
    """Whether a value is made, or copied, on the host. Of those `seen`, as in loops, it is taken so."""
    if value in seen:
        return True
    seen.add(value)
    match value.op:
        case Op.PHI | Op.SEQUENCE:
            return bool(value.args) and all(_is_on_host(births, one, seen) for one in value.args)
        case Op.CALL if births.place_given(value) == HOST or births.kinds.of(value) is Kind.ARRAY:
            return True
        case Op.CALL if any(one.birth in _MADE and one.place == HOST for one in births.graph.sources.get(value, ())):
            return True
        case Op.CALL if value.args[0].op is Op.ATTR and method_effect(str(value.args[0].extra)) is Effect.SAME:
            return _is_on_host(births, value.args[0].args[0], seen)
    return False


_MADE = frozenset({Birth.FACTORY, Birth.ARRAY, Birth.CHOSEN_HOST})
