"""Calls of a file's own classes that leave out `device`, where those around them pass it on."""

from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST, Place, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

PASSED_ON = 2
"""How many calls of a function must be given its `device`, for one that is not to be an oversight."""


def omitted_devices(births: "Births") -> None:
    """Add objects that take a device and are not given the one that their neighbours get to the graph."""
    for function, calls in _constructions(births).items():
        device = function.parameters.get("device")
        if (
            device is None
            or sum(keyword(one, "device") is device for one in function.nodes if one.op is Op.CALL) < PASSED_ON
        ):
            continue
        bare = [one for one in calls if _leaves_out(births, one)] if not _is_moved(births, function) else []
        if bare:
            births.graph.add(Source(device, Place(Where.DEVICE, device), Birth.MOVE, ("certain",)))
        for one in bare:
            births.graph.add(Source(one, HOST, Birth.FACTORY, ("module-made",)))
            births.graph.supports(one, device, "twin-made", one.guard)


def _constructions(births: "Births") -> dict[Function, list[Node]]:
    found: dict[Function, list[Node]] = defaultdict(list)
    for call, called in births.calls.items():
        if called.name == "__init__" and call.args[0].op is Op.CLASS:
            found[call.function].append(call)
    return found


def _leaves_out(births: "Births", call: Node) -> bool:
    called = births.calls[call]
    default = called.defaults.get("device")
    if default is None or not is_none(default) or births.moves_of(call):
        return False
    stars = isinstance(call.extra, tuple) and not {"*", "**"}.isdisjoint(call.extra)
    return not stars and all(parameter.extra != "device" for _, parameter in bound(call, called))


def _is_moved(births: "Births", function: Function) -> bool:
    """Whether a constructor moves all that it builds."""
    itself = function.self_node
    return itself is not None and bool(births.moves_of(itself))
