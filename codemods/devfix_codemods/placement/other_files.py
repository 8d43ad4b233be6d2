"""What the summaries of other files say of the values of one: what callers have placed, and what is wanted there."""

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.guards import joined, literal
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.calls import bound, method
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import Place, Where, place_of
from devfix_codemods.placement.summaries import Argument, Call, Site, Wanted, qualified
from devfix_codemods.placement.summarizing import takes_device, takes_place

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def from_other_files(births: "Births") -> None:
    """Add what callers and callees in other files say to the graph."""
    for function in births.module.functions:
        if takes_place(function, births.kinds):
            _given_by_callers(births, function)
    for call in births.module.of(Op.CALL):
        if call not in births.calls:
            _wanted_by_callee(births, call)


def _given_by_callers(births: "Births", function: Function) -> None:
    """All calls of a function put a parameter on the device that they name."""
    calls = [_by_parameter(call, function) for call in _calls(births, function)]
    for parameter, node in function.parameters.items() if calls else ():
        sites = {one.get(parameter) for one in calls}
        site = sites.pop() if len(sites) == 1 else None
        if site is not None:
            device = function.parameters[str(site.device)] if site.device is not None else _spelled(site, node)
            under = _under(site, function.parameters)
            place = Place(Where.DEVICE, device)
            births.graph.add(Source(node, place, Birth.MOVE, ("placed-by-caller",), under=under))


def _spelled(site: Site, near: Node) -> Node:
    """The device that another file spells out, or keeps to itself."""
    if site.spelled is None:
        return Node(Op.UNKNOWN, None, (), None, near.guard, near.function, near.statement)
    return Node(Op.CONST, ast.Constant(site.spelled), (), site.spelled, near.guard, near.function, near.statement)


def _under(site: Site, given: Mapping[str, Node]) -> Guard:
    """A condition in terms of what is given here."""
    named = ((given.get(flag) if isinstance(flag, str) else None, flag, holds) for flag, holds in site.when)
    return frozenset((flag, holds) if node is None else _literal(node, holds) for node, flag, holds in named)


def _literal(flag: Node, holds: bool) -> Literal:
    atom, positive = literal(flag)
    return atom, positive is holds


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
    called = _name(function)
    given = [call.arguments for named, call in births.imported.plain(called) if named == called] if called else []
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
    called = _name(function)
    return [call for named, call in births.imported.calls(called) if named == called] if called is not None else []


def _name(function: Function) -> str | None:
    """What other files call a function by, `Net` for `Net.__init__`: of other methods, they call those of objects."""
    named = qualified(function).removesuffix(".__init__")
    return named if "." not in named else None


def _by_parameter(call: Call, function: Function) -> dict[str, Site]:
    """Which parameter a call has placed where, in terms of the parameters."""
    found: dict[str, Site] = {}
    for argument, site in call.placed.items():
        parameter = _parameter(argument, function)
        device = _parameter(site.device, function) if site.device is not None else None
        when = {(_parameter(flag, function) if isinstance(flag, int | str) else flag, yes) for flag, yes in site.when}
        if parameter is not None and (device is not None or site.device is None) and (None not in dict(when)):
            found[parameter] = Site(device, site.spelled, frozenset(when))
    return found


def _parameter(argument: Argument, function: Function) -> str | None:
    """The parameter that gets an argument."""
    if isinstance(argument, str):
        return argument if argument in function.parameters else None
    names = list(function.parameters)[1 if function.self_node is not None else 0 :]
    return names[argument] if argument < len(names) else None


def _wanted_by_callee(births: "Births", call: Node) -> None:
    """What a function of another file is given belongs where that wants it: on a device, or with what else it gets."""
    called = births.imported.definition(call.args[0])
    if isinstance(called, Class):
        called = method(called, "__init__")
    called = called or _method(births, call.args[0])
    if called is None or called.module is births.module:
        return
    wanted = births.imported.wanted(called)
    given = {str(parameter.extra): argument for argument, parameter in bound(call, called)} if wanted else {}
    if called.name != "__init__" and called.object_node is not None and call.args[0].op is Op.ATTR:
        given[str(called.object_node.extra)] = call.args[0].args[0]
    for parameter, one in wanted.items():
        argument = given.get(parameter)
        if argument is None or (one.of_module and not births.kinds.is_module(argument)):
            continue
        if one.site is not None:
            _belongs(births, call, argument, one, given)
        elif one.beside in given:
            there = _inside(call)
            for each in (argument, given[str(one.beside)]):
                births.graph.meets(each, there, "wanted-by-callee", call.guard)
                births.wanted[each, there] = one


def _method(births: "Births", callee: Node) -> Function | None:
    """The method of an object of another file's class that is called."""
    owner = births.kinds.imported_class_of(callee.args[0]) if callee.op is Op.ATTR else None
    return method(owner, str(callee.extra)) if owner is not None else None


def _inside(call: Node) -> Node:
    """What stands for the inside of a function that is called: its result may be elsewhere."""
    return Node(Op.UNKNOWN, call.syntax, call.args, "inside", call.guard, call.function, call.statement)


def _belongs(births: "Births", call: Node, argument: Node, wanted: Wanted, given: dict[str, Node]) -> None:
    site = wanted.site
    assert site is not None
    device = given.get(str(site.device)) if site.device is not None else _spelled(site, call)
    place = place_of(device, births.kinds) if device is not None else None
    if device is None or place is None or place.where is not Where.DEVICE:
        return
    end, under = device, _under(site, given)
    if under or site.device is None:  # as if it were moved where the call stands
        end = _inside(call)
    births.graph.add(Source(end, place, Birth.MOVE, ("certain",), under=under))
    births.graph.supports(argument, end, "wanted-by-callee", joined(call.guard, under))
    births.wanted[argument, end] = wanted
