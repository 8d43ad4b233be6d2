"""Models that a function is given, and whose results it copies to the host: they are elsewhere, and what a loop feeds
them comes from the host."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.naming import sounds_like_model
from devfix_codemods.placement.places import Place, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

COPIED_RESULT, FED = "result-copied", "fed-beside-copy"
MOST_STEPS = 12
"""Through how many values a result is followed to a copy."""


def fed_models(births: "Births") -> None:
    """`kept.append(net(x).cpu())`, where nothing moves `x`, nor anything else."""
    for function in births.module.functions:
        if function in births.host_functions or any(map(births.is_elsewhere, filter(births.is_move, function.nodes))):
            continue
        for call in function.nodes:
            model = _model(births, call)
            fed = [*_fed(births, call)] if model is not None else []
            if model is not None and fed and _is_copied(births, call):
                _belongs(births, model, fed)


def _model(births: "Births", call: Node) -> Node | None:
    """A model that is given to a function, and computes something by a call of it, or of a method that is not read."""
    if call.op is not Op.CALL or len(call.args) < 2 or call in births.calls:
        return None
    callee = call.args[0]
    model = callee.args[0] if callee.op is Op.ATTR and callee.args[0].op is Op.PARAM else callee
    known = births.kinds.is_module(model) or sounds_like_model(str(model.extra))
    if model.op is not Op.PARAM or model is model.function.self_node or births.kinds.is_loss(model) or not known:
        return None
    return model


def _fed(births: "Births", call: Node) -> Iterator[Node]:
    """What a loop over a loader gives, and what is taken out of that, as far as nothing has moved it."""
    for root in births.roots(call.args[1]) or {call.args[1]}:
        batch = whole(root)
        if batch.op is Op.ITER and births.kinds.of(batch.args[0]) is Kind.LOADER and not births.moves_of(root):
            yield root


def _is_copied(births: "Births", call: Node) -> bool:
    """`net(x).softmax(-1).detach().cpu()`, and `out = net(x)`, of which `out.cpu()` is kept."""
    found = [call]
    for one in found:  # grows
        if one.op is Op.ATTR and one.extra == "cpu":
            return True
        users = births.module.users.get(one, ()) if len(found) < MOST_STEPS else ()
        found += (each for each in users if each not in found and _goes_on(each, one))
    return False


def _goes_on(user: Node, value: Node) -> bool:
    """Whether a user is computed of a value, and lives where that does."""
    if user.op in {Op.ITEM, Op.OPERATION, Op.AFTER}:
        return user.args[0] is value or user.op is Op.OPERATION
    if user.op is Op.ATTR:
        return user.args[0] is value
    if user.op is not Op.CALL:
        return False
    found = names(user.args[0])
    of_method = user.args[0] is value and method_effect(str(value.extra)) is not None
    return of_method or (value in user.args[1:] and bool(found) and effect(canonical(found[0])) in _COMPUTING)


def _belongs(births: "Births", model: Node, fed: list[Node]) -> None:
    births.kinds.say(model, Kind.MODULE, 1)
    if all(one.place.where is Where.CALLER for one in births.graph.sources.get(model, ())):
        births.graph.sources[model] = [Source(model, Place(Where.CALLER), Birth.PARAMETER, ("module-parameter",))]
    for one in fed:
        births.beside_moved(one, None, COPIED_RESULT)
        births.graph.supports(one, model, FED, one.guard)


_COMPUTING = frozenset({Effect.SAME, Effect.LIKE, Effect.MEET, Effect.ARITHMETIC})
