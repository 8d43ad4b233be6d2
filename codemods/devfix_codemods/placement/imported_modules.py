"""What modules give whose classes are in other files: arrays, where all that their `forward` returns are such."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.calls import effect_of, returned

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def arrays_of_modules(kinds: "Kinds") -> None:
    """`model(x, as_array=True)`, by what its constant arguments leave of the branches."""
    for call in kinds.module.of(Op.CALL):
        owner = kinds.imported_class_of(call.args[0]) if call not in kinds.calls else None
        if owner is None or owner in kinds.module.classes:
            continue
        runs = (one.methods[name] for one in kinds.imported.lineage(owner) for name in _RUNNING if name in one.methods)
        forward = next(runs, None)
        given = [one for value, _ in returned(call, forward) for one in choices(value)] if forward is not None else []
        if given and all(map(_is_array, given)):
            kinds.say(call, Kind.ARRAY, 9)


_RUNNING = ("forward", "__call__")


def _is_array(value: Node) -> bool:
    """`x.cpu().numpy()`, `np.stack(rows)`"""
    if value.op is not Op.CALL:
        return False
    found = names(value.args[0])
    return any(one.startswith("numpy.") for one in found) if found else effect_of(value.args[0]) is Effect.NEEDS_HOST
