"""Attributes that other methods move where they read them: what is read without that is on the host as well."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import makes_parameter
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.kept_modules import MOVING
from devfix_codemods.placement.manual_moves import is_thrown_away
from devfix_codemods.placement.places import HOST, Where
from devfix_codemods.placement.strengths import counted

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


READ = "moved-where-read"


def left_reads(births: "Births", joined: Joined) -> None:
    """`self.mean.to(x.device)` in one method, and in another one `x - self.mean`."""
    attributes = births.attributes
    for field, reads in attributes.reads.items():
        stored = attributes.stored.get(field, ())
        if field in attributes.registered or births.kinds.of(field) not in {None, Kind.TENSOR}:
            continue
        moved = [one for one in reads if _is_moved(births, one)]
        if not moved or _is_kept_moved(births, stored, moved) or any(_goes_anywhere(births, one) for one in stored):
            continue
        link = counted(READ, len(moved))
        for one in reads:
            users = births.module.users.get(one, ()) if one.function.name != "__init__" else ()
            computes = any(each.op in _COMPUTING for each in users)
            if computes and one not in moved and not births.moves_of(one) and not joined.is_moved(one):
                births.beside_moved(one, None, link)


def _is_moved(births: "Births", read: Node) -> bool:
    """Whether what is read of an attribute is taken along to where something else is, or to a device: the moved tensor
    is used, not thrown away as that of a module is, and stands for no moved object."""
    return any(
        births.is_move(one)
        and one.function is read.function
        and one.function.name not in MOVING
        and not is_thrown_away(one)
        and births.place_of_move(one) != HOST
        for one in births.moves_of(read)
    )


def _is_kept_moved(births: "Births", stored: Sequence[Node], moved: Sequence[Node]) -> bool:
    """`self.mean = self.mean.to(device)`, once or each time: the next one who reads it finds it there."""
    moves = {move for one in moved for move in births.moves_of(one)}
    placed = (each.place.where for one in stored for each in births.graph.sources.get(one, ()))
    return any(one in moves or births.is_move(one) for one in stored) or any(one in _PLACED for one in placed)


def _goes_anywhere(births: "Births", value: Node) -> bool:
    """Whether a value is a parameter of its module, which is moved with that, or may be a 0-dim tensor, which meets
    others in any place."""
    roots = births.roots(value) or {value}
    sources = [source for one in roots for source in births.graph.sources.get(one, ())]
    scalar = any(one.scalar or "maybe-scalar" in one.links for one in sources)
    return scalar or makes_parameter(value) or any(map(makes_parameter, roots))


_COMPUTING = frozenset({Op.OPERATION, Op.CALL, Op.ITEM, Op.ATTR})
_PLACED = frozenset({Where.DEVICE, Where.MODULE})
