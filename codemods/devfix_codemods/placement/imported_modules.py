"""What modules give whose classes are in other files, and what functions of other files give of what they get."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import choices, whole
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import effect_of, function_of, returned

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


def gives_argument(kinds: "Kinds", call: Node) -> bool:
    """Whether a function of another file makes nothing: it gives what it gets, part of that, or None."""
    called = kinds.imported.definition(call.args[0]) if call.op is Op.CALL else None
    if not isinstance(called, Function) or called.module is kinds.module or called.yields:
        return False
    given = [one for value, _ in called.returns for one in choices(value) if not is_none(one)]
    return bool(given) and all(_is_of_parameter(one, called) for one in given)


def _is_of_parameter(value: Node, called: Function) -> bool:
    """`x`, `x.inner`, and what the very same function gives for that."""
    if value.op is Op.CALL and function_of(value.args[0]) is called:
        return True
    return whole(value, {Op.ATTR, Op.ITEM}).op is Op.PARAM


_RUNNING = ("forward", "__call__")


def _is_array(value: Node) -> bool:
    """`x.cpu().numpy()`, `np.stack(rows)`"""
    if value.op is not Op.CALL:
        return False
    found = names(value.args[0])
    return any(one.startswith("numpy.") for one in found) if found else effect_of(value.args[0]) is Effect.NEEDS_HOST
