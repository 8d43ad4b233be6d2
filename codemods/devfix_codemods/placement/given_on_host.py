"""Parameters that every call of their function fills from the host: what lives where the caller put it, lives there."""

from collections.abc import Iterable, Iterator

from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.members import Enum, auto
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import bound, left_to_default
from devfix_codemods.placement.graph import MADE, Birth, Edge, Graph, Turn
from devfix_codemods.placement.imported_calls import stays_on_host
from devfix_codemods.placement.kinds import PLACELESS, Kinds
from devfix_codemods.placement.places import Where

DEEPEST = 30
"""Through so many steps it is asked what a value is made of."""
MOST_STEPS = 400
"""How many values are looked at for one answer."""


_BESIDE = "read-together"
"""The link between what numpy reads side by side, of which neither is made of the other."""


class _State(Enum):
    """What is known of where a value is."""

    __hash__ = object.__hash__

    HOST = auto()
    PLAIN = auto()
    """It is no tensor, and nowhere."""
    OPEN = auto()
    """Nothing says where it is."""
    ELSEWHERE = auto()
    """On a device, or where a caller that is not seen put it."""
    AGAIN = auto()
    """It is what is asked for, once more: what a loop, or an attribute, carries on."""


class GivenOnHost:
    """Which values of one file, parameters above all, are filled from the host."""

    def __init__(self, graph: Graph, kinds: Kinds) -> None:
        self._graph = graph
        self._kinds = kinds
        self._module = kinds.module
        self._entered: set[Node] = set()
        self._known: dict[Node, _State] = {}
        self._steps = 0

    def is_on_host(self, value: Node) -> bool:
        """Whether a value is a tensor of the host, whatever way it came: made there, copied there, or computed of one
        that was. If something else in that computation were elsewhere, it would fail there, and not where it is used.

        Of a parameter, all calls that give it something must be seen.
        """
        return self._asked(value) is _State.HOST

    def is_plain(self, parameter: Node) -> bool:
        """Whether all calls are seen that give a parameter something, and each gives a number, or a text."""
        return self._asked(parameter) is _State.PLAIN

    def _asked(self, value: Node) -> _State:
        if value not in self._known:
            self._steps = 0
            self._known[value] = self._of(value, 0)
        return self._known[value]

    def _of(self, node: Node, depth: int) -> _State:
        if node.op is Op.CONST or self._kinds.of(node) in PLACELESS:
            return _State.PLAIN
        self._steps += 1
        if node in self._entered:
            return _State.AGAIN
        if depth > DEEPEST or self._steps > MOST_STEPS:
            return _State.OPEN
        self._entered.add(node)
        try:
            return self._of_parameter(node, depth) if node.op is Op.PARAM else self._of_made(node, depth)
        finally:
            self._entered.discard(node)

    def _of_parameter(self, parameter: Node, depth: int) -> _State:
        calls = self._calls(parameter.function)
        if not calls:
            return _State.ELSEWHERE
        return _one_of(self._argument(call, parameter, depth) for call in calls)

    def _calls(self, function: Function) -> list[Node]:
        """All calls of a function, here and in files that import this one; none where others may call it as well."""
        if function.name == "forward" or function.name.startswith("__") or self._kinds.is_handed_on(function):
            return []
        here = self._kinds.all_calls(function)
        elsewhere = list(self._speaking(function))
        return [*here, *elsewhere] if here or not self._is_named_here(function) else []

    def _is_named_here(self, function: Function) -> bool:
        module = self._module
        return any(one.extra == function.name for one in (*module.of(Op.ATTR), *module.of(Op.GLOBAL)))

    def _speaking(self, function: Function) -> Iterator[Node]:
        """What other files do with a function: calls of it, and values that may be it, which nothing follows."""
        for module in self._kinds.imported.importing(function.name):
            callees = {call.args[0]: call for call in module.of(Op.CALL)}
            for node in (*module.of(Op.REF), *module.of(Op.ATTR), *module.of(Op.GLOBAL)):
                if (name(node) or str(node.extra)).rpartition(".")[2] != function.name:
                    continue
                if self._kinds.imported.definition(node) in {None, function}:
                    yield callees.get(node, node)

    def _argument(self, call: Node, parameter: Node, depth: int) -> _State:
        function = parameter.function
        if call.op is not Op.CALL or not isinstance(call.extra, tuple) or not {"*", "**"}.isdisjoint(call.extra):
            return _State.OPEN
        own = call.function.module is self._module
        if not own and self._kinds.imported.definition(call.args[0]) is not function:
            return _State.OPEN
        given = [*bound(call, function), *((default, one) for one, default in left_to_default(call, function))]
        argument = next((one for one, each in given if each is parameter), None)
        if argument is None:
            return _State.OPEN
        if own or is_none(argument) or argument.op is Op.CONST:
            return self._of(argument, depth + 1)
        return _State.HOST if stays_on_host(argument) else _State.OPEN

    def _of_made(self, node: Node, depth: int) -> _State:
        sources = self._graph.sources.get(node, ())
        if any(one.place.where is not Where.HOST and one.birth is not Birth.COPIED for one in sources):
            return _State.ELSEWHERE
        if any(one.birth in MADE or one.birth is Birth.CHOSEN_HOST for one in sources):
            return _State.HOST
        if node.op is Op.GLOBAL:
            made = self._module.top.finals.get(str(node.extra))
            return self._of(made, depth + 1) if made is not None else _State.OPEN
        if node.op is Op.FIELD:
            return self._of_attribute(node, depth)
        edges = [one for one in self._graph.edges.get(node, ()) if _leads_back(one, node)]
        meetings = [one for one in edges if one.turn is Turn.MEET]
        if meetings:
            return self._of_operation(meetings, depth)
        return _one_of(self._of(one.other, depth + 1) for one in edges)

    def _of_attribute(self, field: Node, depth: int) -> _State:
        """What all objects of a class keep in an attribute, which nothing else is seen to fill."""
        attribute = str(field.extra)
        others = self._kinds.imported.importing(attribute)
        if any(store.is_attribute and store.key == attribute for module in others for store in module.stores):
            return _State.OPEN
        edges = self._graph.edges.get(field, ())
        if any(one.turn is Turn.SAME and one.other.op is not Op.ATTR for one in edges):
            return _State.OPEN  # it goes where its module goes
        return _one_of(self._of(one.other, depth + 1) for one in edges if one.turn is Turn.DOWN)

    def _of_operation(self, meetings: list[Edge], depth: int) -> _State:
        """Where an operation is that surely needs its operands in one place, and of those one that is on the host."""
        states = {one.other: self._of(one.other, depth + 1) for one in meetings}
        if _State.ELSEWHERE in states.values():
            return _State.ELSEWHERE
        sure = {one.other for one in meetings if one.link.startswith("operation")}
        hosts = [one for one, state in states.items() if state is _State.HOST and not self._is_scalar(one)]
        if not sure.isdisjoint(hosts):
            return _State.HOST
        return _one_of(states.values()) if {*states.values()} <= {_State.PLAIN, _State.AGAIN} else _State.OPEN

    def _is_scalar(self, node: Node) -> bool:
        """Whether a value is a 0-dim tensor, which may meet others that are elsewhere."""
        return node in self._graph.scalars or any(one.scalar for one in self._graph.sources.get(node, ()))


def _leads_back(edge: Edge, node: Node) -> bool:
    """Whether an edge leads to what a value is made of."""
    if (edge.turn is Turn.DOWN and edge.link in {"call", "element"}) or edge.other.op is Op.FIELD:
        return True  # what a function returns, or what is put into a list, which may stand anywhere in the file
    made_of = edge.turn in {Turn.SAME, Turn.DOWN, Turn.MEET} and edge.link != _BESIDE
    return made_of and edge.other.index < node.index


def _one_of(states: Iterable[_State]) -> _State:
    """Where a value is that is one of several."""
    found = set(states)
    for state in (_State.ELSEWHERE, _State.OPEN, _State.HOST, _State.PLAIN, _State.AGAIN):
        if state in found:
            return state
    return _State.OPEN
