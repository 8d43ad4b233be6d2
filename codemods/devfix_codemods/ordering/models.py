"""Where a model is by the time that something is done with it: on the host, or moved before."""

import ast
from collections.abc import Iterator, Set

from devfix_codemods.assumptions.index import Index
from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.targets import moving_call
from devfix_codemods.repairs.points import block_in

_UNSURE = frozenset({"built-by-unknown", "built-beside-device", "given-options"})
"""How modules are born that may have been placed where they were made."""


class Models:
    """The models of one file, at each of their uses."""

    def __init__(self, index: Index) -> None:
        self._births = index.analysis.births
        self._stores = index.stores

    def is_on_host(self, model: Node, at: Node, depth: int = 2) -> bool:
        """Whether a model is surely made in the function of `at`, on the host, and nothing may have moved it since."""
        roots = self._births.roots(model)
        made = (one.function is at.function and self._is_born_on_host(one, depth) for one in roots)
        return bool(roots) and all(made) and not self.is_moved(model, at)

    def moves(self, model: Node) -> list[Node]:
        """The moves that a model has been through, the first one first."""
        found = (one for one in self._births.way(model) if self.is_move(one))
        return sorted(found, key=lambda one: one.index)

    def is_moved(self, model: Node, at: Node) -> bool:
        """Whether a model was moved, or may have been by what got it before `at`."""
        way = self._births.way(model)
        return any(map(self.is_move, way)) or any(self._may_move(one, way) for one in self._calls_before(at))

    def is_move(self, node: Node) -> bool:
        """Whether a value is the result of a move to a device."""
        births = self._births
        return (node in births.moved_in_place or births.is_move(node)) and births.is_elsewhere(node)

    def _calls_before(self, at: Node) -> Iterator[Node]:
        return (one for one in at.function.nodes if one.op is Op.CALL and one.index < at.index)

    def _may_move(self, call: Node, way: Set[Node]) -> bool:
        """Whether a call is given the model by code that is not known, or runs a method that moves the attribute."""
        if not way.isdisjoint(call.args[1:]):
            return all(effect(canonical(one)) is None for one in names(call.args[0]))
        called = self._births.calls.get(call)
        if called is None or called.self_node is None or call.args[0].op is not Op.ATTR:
            return False
        kept = {one.key for each in way for one in self._stores[each] if one.base is call.args[0].args[0]}
        return any(
            one.op is Op.ATTR and one.args[0] is called.self_node and one.extra in kept
            for move in called.nodes
            if self.is_move(move)
            for one in self._births.way(move)
        )

    # How they are made

    def _is_born_on_host(self, made: Node, depth: int) -> bool:
        maker = self._births.calls.get(made)
        if maker is not None and maker.name != "__init__":
            returned = [one for one, _ in maker.returns]
            return (
                depth > 0
                and bool(returned)
                and all(self.is_on_host(one, maker.nodes[-1], depth - 1) for one in returned)
            )
        part = self._births.parts.get(made)
        sources = (part,) if part is not None else self._births.graph.sources.get(made, ())
        born = any(one.birth is Birth.MODULE and _UNSURE.isdisjoint(one.links) for one in sources)
        return (born or self._is_made_by_hand(made)) and not any(map(self._places_itself, self._classes(made)))

    def _is_made_by_hand(self, made: Node) -> bool:
        """Whether code makes a module that no framework gets to see, though the file imports one which places them."""
        defaults, owner = self._births.defaults, made.function.owner
        if made.op is not Op.CALL or not defaults.managed or self._births.imported.is_managed(owner):
            return False
        if has_device(made) or defaults.are_set or defaults.is_under_device(made):
            return False
        known = any(effect(canonical(one)) is Effect.MODULE for one in names(made.args[0]))
        return known or any(one in self._births.kinds.module_classes for one in self._classes(made))

    def _classes(self, made: Node) -> Iterator[Class]:
        owner = self._births.imported.class_of(made.args[0]) if made.op is Op.CALL else None
        return self._births.imported.lineage(owner) if owner is not None else iter(())

    def _places_itself(self, owner: Class) -> bool:
        """Whether the methods of a class move anything to a device that they know, or make it there."""
        return any(
            (place := self._births.place_given(one)) is not None and place.where is Where.DEVICE
            for function in owner.methods.values()
            for one in function.nodes
            if one.op is Op.CALL
        )


def call_of(move: Node) -> Node:
    """The call that moves, where the result is a module after it."""
    return moving_call(move.args[1]) if move.op is Op.AFTER else move


def device_of(move: Node) -> tuple[Node, ast.expr] | None:
    """`device` of `net.to(device)` and `net.cuda(device)`, where a move says nothing else; and how it is written."""
    call = call_of(move)
    given = written(call) or []
    return (call.args[1], given[0]) if len(given) == 1 and call.extras[0] in {None, "device"} else None


def block_of(index: Index, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of which a statement is one."""
    return block_in(index.parents[statement], statement) or [statement]
