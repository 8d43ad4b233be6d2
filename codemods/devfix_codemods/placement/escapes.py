"""Modules that others may move: under another name, in another function, by a call that is not read."""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cached_property

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, name, names
from devfix_codemods.placement.arguments import takes_name
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.calls import moved_by
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.strengths import COSTS, STRENGTHS

MOST_ALIASES = 60


class Escapes:
    """Weakens the births of modules that may be moved where the search does not see it: `.to` moves a module in place,
    and so for all that know it."""

    def __init__(self, births: Births) -> None:
        self._births = births
        self._graph = births.graph
        self._users: dict[Node, list[Node]] = {}
        for node in births.module.of(Op.CALL):
            for one in (*node.args[1:], *(node.args[0].args if node.args[0].op is Op.ATTR else ())):
                self._users.setdefault(one, []).append(node)
        written = (one.base for one in births.module.stores if one.key == "data" and births.is_move(one.value))
        self._written = {module for weight in written for module in _bases(weight)}

    def all(self) -> None:
        for node, sources in list(self._graph.sources.items()):
            if node not in self._births.unregistered and any(one.birth is Birth.MODULE for one in sources):
                self._weaken(node)

    def _weaken(self, module: Node) -> None:
        """A builder makes a module for each of its calls, of which others may move some."""
        if self._births.moves_of(module):
            self._take_along(module)
        if any(one.link.startswith("arms-") for one in self._graph.edges.get(module, ())):
            return  # whoever moves what is chosen does so on each arm, and the program moves the others all the same
        left = [one for one in self._graph.edges.get(module, ()) if one.turn is Turn.UP and one.site < 0]
        ways = {one: self._escape(one.other, module) for one in left}
        link = self._escape(module, module, frozenset(one.other for one in left))
        if link is None and ways and all(ways.values()):
            link = min(filter(None, ways.values()), key=STRENGTHS.__getitem__)
        if link is not None and not (link == "moved-elsewhere" and self._is_moved_as_twins(module)):
            self._graph.sources[module] = [
                replace(one, links=(*one.links, link)) if one.birth is Birth.MODULE else one
                for one in self._graph.sources[module]
            ]
            return
        self._graph.edges[module] = [
            one._replace(link=way, cost=COSTS[way]) if (way := ways.get(one)) is not None else one
            for one in self._graph.edges[module]
        ]

    def _is_moved_as_twins(self, module: Node) -> bool:
        """Whether a module of the same class is moved beside it, and once more where this one may be: that both are
        given a device by `net.load(device)` is no reason to leave one behind."""
        twins = (one.other for one in self._graph.edges.get(module, ()) if one.link == "twin-made")
        return any(
            self._is_moved(alias, twin)
            for twin in twins
            if twin.function is module.function
            for alias in self._aliases(twin, frozenset())
            if alias is not twin
        )

    def _take_along(self, module: Node) -> None:
        """A move of a container moves its elements, also for the names that these have of their own."""
        self._graph.edges[module] = [
            one._replace(link="moved-elsewhere", cost=COSTS["moved-elsewhere"])
            if one.turn is Turn.DOWN and one.link == "element"
            else one
            for one in self._graph.edges[module]
        ]

    def _escape(self, start: Node, module: Node, without: frozenset[Node] = frozenset()) -> str | None:
        """How a module gets from where it is known as `start` to where it may be moved."""
        aliases = list(self._aliases(start, without))
        moved = [self._births.moves_of(one) for one in aliases if self._is_moved(one, module)]
        if moved:
            return (
                "moved-on-condition" if all(self._births.may_miss(one, module) for one in moved) else "moved-elsewhere"
            )
        given = any(self._is_given_away(one) for one in aliases) and not self._was_to_be_placed(module)
        return "given-away" if given else None

    def _was_to_be_placed(self, module: Node) -> bool:
        """Whether the function that makes a module is told a device, with which it does nothing."""
        return any(
            edge.link == "unused-device" and edge.other.op is Op.PARAM and edge.other.function is module.function
            for edge in self._graph.edges.get(module, ())
        )

    def _aliases(self, start: Node, without: frozenset[Node]) -> Iterator[Node]:
        """All values that may be the module, or a part of it; a function that it enters gives it back to that call."""
        seen, pending = {start, *without}, [(start, 0)]
        for one, entered in pending:  # grows
            yield one
            for edge in self._graph.edges.get(one, ()):
                other, site = edge.other, edge.site
                onward = edge.turn in {Turn.UP, Turn.OUT} or (
                    edge.turn is Turn.SAME and (edge.link in _READS or other.op is Op.AFTER)
                )
                if site < 0 < entered and -site != entered:
                    continue
                if onward and other not in seen and len(seen) < MOST_ALIASES and other.extra != "":
                    seen.add(other)
                    pending.append((other, max(site, 0) if site else entered))

    def _is_moved(self, alias: Node, module: Node) -> bool:
        births = self._births
        if alias in self._written or (alias is not module and alias in births.owned):
            return True
        if alias.op is Op.FIELD and alias.extra in self._moved_by_name | self._moved_from_outside:
            return True
        moves = births.moves_of(alias)
        return any(
            alias is not module or one.function is not module.function or _moves_wrapper(one) for one in moves
        ) or any(
            not self._is_wanted(alias)
            and births.is_moving_call(one)
            and births.kinds.of(one) is not Kind.OPTIMIZER
            and one.args[0].op is Op.ATTR
            and one.args[0].args[0] is alias
            for one in self._users.get(alias, ())
        )

    def _is_given_away(self, alias: Node) -> bool:
        """`place(net)`, `net.begin()`, `net = wrap(net)`: nothing is known of the function, which may have moved it."""
        births = self._births
        if self._is_wanted(alias):
            return False
        return any(
            (one not in births.used or births.kinds.is_module(one) or takes_name(one))
            and one not in births.calls
            and self._is_unread(one, alias)
            and key(one.args[0]) not in self._ready
            for one in self._users.get(alias, ())
        )

    def _is_wanted(self, alias: Node) -> bool:
        """Whether a function of another file wants a module where that function is told, and so does not move it."""
        return any(given is alias for given, _ in self._births.wanted)

    @cached_property
    def _ready(self) -> set[Hashable]:
        """The functions that are given modules which the program has moved, so that they move none themselves."""
        births = self._births
        return {
            key(call.args[0])
            for one, calls in self._users.items()
            if births.kinds.is_module(one) and any(map(births.moves_of, (one, *births.roots(one))))
            for call in calls
            if one in call.args[1:] and (call.args[0].op is not Op.ATTR or names(call.args[0]))
        }

    def _is_unread(self, call: Node, alias: Node) -> bool:
        callee = call.args[0]
        if names(callee):
            return effect(canonical(names(callee)[0])) is None
        if callee.op is not Op.ATTR:
            return not self._births.kinds.is_module(callee)
        if callee.args[0] is not alias or callee.extra in _KNOWN or str(callee.extra).startswith(_SETTING):
            return False
        return method_effect(str(callee.extra)) is None

    @cached_property
    def _moved_by_name(self) -> set[str]:
        """Attributes of classes that move what `getattr(self, name)` gives, for a name that is not read."""
        births = self._births
        return {
            attribute
            for moved in births.movers
            if moved.op is Op.CALL
            and name(moved.args[0]) == "builtins.getattr"
            and len(moved.args) > 1
            and (owner := births.class_of(moved.args[1])) is not None
            for attribute in owner.stored
        }

    @cached_property
    def _moved_from_outside(self) -> set[str]:
        """The attributes that files move which import this one, and speak of a class of it: `session.net.cuda()`."""
        births = self._births
        others = {one for owner in births.module.classes for one in births.imported.importing(owner.name)}
        moved = (before for one in others for node in one.of(Op.CALL) if (before := moved_by(node)) is not None)
        return {str(one.extra) for one in moved if one.op is Op.ATTR}


def _moves_wrapper(move: Node) -> bool:
    """`DataParallel(net).to(device)`, which moves `net`, by whatever name it is called."""
    moved = move.args[0] if move.op is Op.AFTER or not move.args[0].args else move.args[0].args[0]
    return moved.op is Op.CALL and any(effect(canonical(one)) is Effect.WRAP for one in names(moved.args[0]))


def _bases(node: Node) -> Iterator[Node]:
    """The modules whose parameters a value is one of: `net` of `net.weight`, and of `for p in net.parameters()`."""
    while node.op in {Op.ATTR, Op.ITER, Op.ITEM, Op.CALL}:
        node = node.args[0]
        yield node


_READS = frozenset({"field", "field-of-constructor", "global"})
_KNOWN = rows.MODULE_ONLY | frozenset(
    {"load_state_dict", "zero_grad", "apply", "eval", "forward", "load_weights", "update", "reset"}
    | {"append", "extend", "insert", "add_module", "register_module"}
)
"""Methods of modules that move nothing."""
_SETTING = (
    "set_",
    "init",
    "_init",
    "load_",
    "save",
    "freeze",
    "unfreeze",
    "reset_",
    "add_",
    "resize_",
    "print_",
    "enable_",
)
"""How the names of methods begin that set something in a module, and leave it where it is."""
