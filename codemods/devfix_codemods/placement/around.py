"""What the summaries of other files say of the values of one: what callers have placed, and what is wanted there."""

from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.calls import bound, method
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import Place, Where, place_of
from devfix_codemods.placement.summaries import Argument, Call, qualified
from devfix_codemods.placement.summarizing import takes_device

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def around(births: "Births") -> None:
    """Add what callers and callees in other files say to the graph."""
    taking = [one for one in births.module.functions if takes_device(one)]
    for function in taking:
        _given_by_callers(births, function)
    for call in births.module.of(Op.CALL):
        if call not in births.calls:
            _wanted_by_callee(births, call)


def _given_by_callers(births: "Births", function: Function) -> None:
    """All calls of a function put a parameter on the device that they name."""
    calls = [_by_parameter(call, function) for call in _calls(births, function)]
    for parameter, node in function.parameters.items() if calls else ():
        devices = {one.get(parameter) for one in calls}
        device = devices.pop() if len(devices) == 1 else None
        if device is not None:
            place = Place(Where.DEVICE, function.parameters[device])
            births.graph.add(Source(node, place, Birth.MOVE, ("placed-by-caller",)))


def wrapped_by_callers(births: "Births") -> set[Node]:
    """The parameters for which some caller gives what something makes that is not read."""
    return {
        function.parameters[parameter]
        for function in births.module.functions
        if takes_device(function)
        for call in _calls(births, function)
        for one in call.wrapped
        if (parameter := _parameter(one, function)) is not None
    }


def is_plain(births: "Births", parameter: Node) -> bool:
    """Whether a call in another file gives a parameter what is no tensor, or a class like this one expects that."""
    function = parameter.function
    called = _names(function)
    last = min(called, key=len).rpartition(".")[2]
    given = [call.arguments for named, call in births.outside.plain(last) if named in called]
    if any(_parameter(one, function) == parameter.extra for arguments in given for one in arguments):
        return True
    twins = (one for one in births.module.functions if one is not function and _are_twins(one, function))
    return any(_makes_tensor_of(twin.parameters.get(str(parameter.extra))) for twin in twins)


def _are_twins(one: Function, other: Function) -> bool:
    """Whether two classes have a method of that name, for callers that know no difference."""
    own = one.owner is not None and other.owner is not None and one.name == other.name
    return own and not one.name.startswith("__") and one.name != "forward"


def _makes_tensor_of(parameter: Node | None) -> bool:
    """`torch.tensor(rows)`: of numbers, as only what is no tensor has to be made one."""
    return parameter is not None and any(
        node.op is Op.CALL and node.args[1:2] == (parameter,) and name(node.args[0]) in _OF_NUMBERS
        for node in parameter.function.nodes
    )


_OF_NUMBERS = frozenset({"torch.tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor"})


def _calls(births: "Births", function: Function) -> list[Call]:
    called = _names(function)
    return [call for named, call in births.outside.calls if named in called]


def _names(function: Function) -> set[str]:
    """What other files call a function by: `Net.fit`, and `Net` for `Net.__init__`."""
    return {qualified(function), qualified(function).removesuffix(".__init__")}


def _by_parameter(call: Call, function: Function) -> dict[str, str]:
    """Which parameter a call has placed on the device that is given as which parameter."""
    pairs = ((_parameter(one, function), _parameter(device, function)) for one, device in call.placed.items())
    return {one: device for one, device in pairs if one is not None and device is not None}


def _parameter(argument: Argument, function: Function) -> str | None:
    """The parameter that gets an argument."""
    if isinstance(argument, str):
        return argument if argument in function.parameters else None
    names = list(function.parameters)[1 if function.self_node is not None else 0 :]
    return names[argument] if argument < len(names) else None


def _wanted_by_callee(births: "Births", call: Node) -> None:
    """What a function of another file is given belongs on the device that it is given."""
    called = births.outside.definition(call.args[0])
    if isinstance(called, Class):
        called = method(called, "__init__")
    if called is None or called.module is births.module or not takes_device(called):
        return
    wanted = births.outside.wanted(called)
    given = {str(parameter.extra): argument for argument, parameter in bound(call, called)} if wanted else {}
    for parameter, one in wanted.items():
        argument, device = given.get(parameter), given.get(one.device)
        place = place_of(device, births.kinds) if device is not None else None
        if argument is None or (one.of_module and not births.kinds.is_module(argument)):
            continue
        if device is not None and place is not None and place.where is Where.DEVICE:
            births.graph.add(Source(device, place, Birth.MOVE, ("certain",)))
            births.graph.supports(argument, device, "wanted-by-callee", call.guard)
            births.wanted[argument, device] = one
