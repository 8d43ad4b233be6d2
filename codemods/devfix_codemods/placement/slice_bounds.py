"""Evidence that values are numbers, from the slices that they are bounds of."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.indices import indices

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def bounds(kinds: "Kinds") -> None:
    """`n` and `m` of `x[:, n - m : n]`, and of what else is computed for a bound: numbers, as far as nothing else is
    known of them. A tensor that is one as well stays a tensor."""
    slices = (one for node in kinds.module.of(Op.ITEM) for one in indices(node) if is_bound(one))
    pending = [bound for one in slices for bound in one.args]
    for node in pending:  # grows
        if node.op in _NAMED and kinds.of(node) is None:
            kinds.say(node, Kind.NUMBER, 1)
        pending += (one for one in _computed_of(node) if one not in pending)
    for node in sorted(pending, key=lambda one: one.index):
        if (
            node.op is Op.OPERATION
            and kinds.of(node) is None
            and all(kinds.of(one) is Kind.NUMBER for one in node.args)
        ):
            kinds.say(node, Kind.NUMBER, 1)


def is_bound(user: Node) -> bool:
    """`a:b` of `x[a:b]`, which reads both."""
    return user.extra == "slice"


def _computed_of(node: Node) -> tuple[Node, ...]:
    """What a bound is computed of: operands, what is rounded or converted, and a row of which it is an element."""
    match node.op:
        case Op.OPERATION:
            return node.args
        case Op.PHI:
            return node.args
        case Op.ITEM if node.args[0].op in {Op.OPERATION, Op.CALL} and isinstance(node.extra, int):
            return node.args[:1]
        case Op.CALL if node.args[0].op is Op.ATTR and not names(node.args[0]):
            return node.args[0].args if method_effect(str(node.args[0].extra)) in _ROUNDING else ()
        case Op.CALL if any(effect(canonical(one)) is Effect.SAME for one in names(node.args[0])):
            return node.args[1:2]
    return ()


_NAMED = frozenset({Op.PARAM, Op.ATTR, Op.GLOBAL, Op.ITEM})
"""What says nothing of its kind by itself."""
_ROUNDING = frozenset({Effect.SAME, Effect.SYNC})
"""Methods that give a number for a number: `x.floor()`, `x.item()`."""
