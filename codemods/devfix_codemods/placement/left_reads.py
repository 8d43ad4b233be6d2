"""Attributes that other methods move where they read them: what is read without that is on the host as well."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.places import HOST, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


READ = "moved-where-read"


def left_reads(births: "Births", joined: Joined) -> None:
    """`self.mean.to(x.device)` in one method, and in another one `x - self.mean`."""
    attributes = births.attributes
    for field, reads in attributes.reads.items():
        if field in attributes.registered or births.kinds.of(field) not in {None, Kind.TENSOR}:
            continue
        moved = [one for one in reads if _is_moved(births, one)]
        if not moved or _is_kept_moved(births, field, moved):
            continue
        link = f"{READ}-{('one', 'two', 'many')[min(len(moved), 3) - 1]}"
        for one in reads:
            users = births.module.users.get(one, ()) if one.function.name != "__init__" else ()
            computes = any(each.op in _COMPUTING for each in users)
            if computes and one not in moved and not births.moves_of(one) and not joined.is_moved(one):
                births.beside_moved(one, None, link)


def _is_moved(births: "Births", read: Node) -> bool:
    """Whether an attribute is taken along to where something else is, or to a device, where it is read."""
    return any(births.is_move(one) and births.place_of_move(one) != HOST for one in births.moves_of(read))


def _is_kept_moved(births: "Births", field: Node, moved: Sequence[Node]) -> bool:
    """`self.mean = self.mean.to(device)`, once or each time: the next one who reads it finds it there."""
    moves = {move for one in moved for move in births.moves_of(one)}
    stored = births.attributes.stored.get(field, ())
    placed = (each.place.where for one in stored for each in births.graph.sources.get(one, ()))
    return any(one in moves or births.is_move(one) for one in stored) or any(one in _PLACED for one in placed)


_COMPUTING = frozenset({Op.OPERATION, Op.CALL, Op.ITEM, Op.ATTR})
_PLACED = frozenset({Where.DEVICE, Where.MODULE})
