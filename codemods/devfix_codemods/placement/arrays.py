"""Evidence of arrays: what functions of numpy give, and what is given to those that take nothing else."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import MAKES_ON_HOST, Kind, canonical, effect, libraries
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.guards import asks_type
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.indices import slices_columns

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def taken_as_array(kinds: "Kinds", call: Node, qualified: str) -> None:
    """`torch.from_numpy(x)`, where nothing has asked what `x` is."""
    if qualified == "torch.from_numpy" and len(call.args) > 1 and not asks_type(call.guard, call.args[1]):
        kinds.say(call.args[1], Kind.ARRAY)


def becomes_tensor(call: Node) -> bool:
    """`torch.from_numpy(np.array(x))`: whether numpy makes an array only in order to make a tensor of it."""
    users = call.function.module.users.get(call, ())
    called = [names(one.args[0]) for one in users if one.op is Op.CALL]
    made = [found for found in called if any(effect(canonical(one)) in MAKES_ON_HOST for one in found)]
    return bool(made) and len(made) == len(users) and (name(call.args[0]) or "").startswith("numpy.")


def of_numpy(kinds: "Kinds", call: Node, qualified: str) -> None:
    """What a function of numpy gives, and what it gets for that."""
    found = _result(kinds, call, qualified)
    if found is not None:
        kinds.say(call, found)
    if keyword(call, "keepdims") is not None:
        _rows(kinds, call)


def _result(kinds: "Kinds", call: Node, qualified: str) -> Kind | None:
    """An array, or a number: of all of an array, of a number, one quantile; None where it may be either."""
    given = call.args[1:]
    if qualified in libraries.REDUCTIONS:
        return Kind.NUMBER if call.extra == (None,) else Kind.ARRAY
    if qualified in libraries.ELEMENTWISE:
        return Kind.NUMBER if given and all(_is_number(kinds, one) for one in given) else Kind.ARRAY
    if qualified in libraries.QUANTILES and call.extra in _ONE_QUANTILE:
        return Kind.NUMBER if _is_number(kinds, given[1]) else Kind.ARRAY if _is_row(kinds, given[1]) else None
    return Kind.ARRAY


def _is_number(kinds: "Kinds", node: Node) -> bool:
    return kinds.of(node) is Kind.NUMBER


def _is_row(kinds: "Kinds", node: Node) -> bool:
    return kinds.of(node) in {Kind.SEQUENCE, Kind.ARRAY}


def _rows(kinds: "Kinds", call: Node) -> None:
    """`np.max(x[:, 2:], 1, keepdims=True)`: of a tensor that would be a tuple, of which nobody takes columns."""
    base = call.args[1] if len(call.args) > 1 else call
    while base.op is Op.ITEM and any(map(slices_columns, base.args[1:])):
        base = base.args[0]
    kinds.say(base, Kind.ARRAY, 3)


_ONE_QUANTILE = frozenset({(None, None), (None, "q")})
