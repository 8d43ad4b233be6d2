"""Modules in classes: what a class keeps where its caller left it, and classes that stay behind their family."""

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.calls import method, moved_by
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Objects:
    """Adds to the graph of a file the modules that its classes should have moved."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._kinds = births.kinds
        self.moved_as: dict[Node, Node] = {}
        """For the place of a class, how another one of its family moves itself."""

    def all(self) -> None:
        if self._births.defaults.managed or self._births.defaults.are_set:
            return
        for owner in self._births.module.classes:
            made = method(owner, "__init__")
            if made is None or made.owner is not owner or self._births.imported.is_managed(owner):
                continue
            if owner in self._kinds.module_classes:
                self._of_family(owner, made)
            else:
                self._kept(owner, made)

    def _say(self, node: Node, link: str) -> None:
        self._births.graph.add(Source(node, HOST, Birth.MODULE, (link,)))

    # What is kept

    def _kept(self, owner: Class, made: Function) -> None:
        """An object that chooses its device by itself cannot leave it to its caller to move what it gets."""
        devices = list(self._devices(owner))
        if not devices or not all(self._is_chosen(one, made) for one in devices):
            return
        for store in made.stores:
            kept = store.value
            if (
                store.is_attribute
                and store.base is made.self_node
                and kept in made.parameters.values()
                and not self._kinds.given.get(kept)
                and self._is_called_as_module(kept, owner, str(store.key))
            ):
                self._kinds.say(kept, Kind.MODULE, 1)
                made_here = any(one.op is Op.ATTR and self._kinds.class_of(one.args[0]) is owner for one in devices)
                self._say(kept, "kept-by-chooser" if made_here else "kept-beside-constant")

    def _devices(self, owner: Class) -> Iterator[Node]:
        """What the methods of a class move to, and tell others to move to."""
        births = self._births
        for function in owner.methods.values():
            for node in function.nodes:
                place = births.place_of_move(node) if node.op is Op.CALL else None
                if place is not None and place.node is not None and place.where is Where.DEVICE:
                    yield place.node
                elif place is not None and births.is_moving_call(node):
                    yield from (one for one in node.args[1:] if self._kinds.says(one, Kind.DEVICE))

    def _is_chosen(self, device: Node, made: Function) -> bool:
        """Whether a device does not come from the caller: a name of a module, `torch.device(…)` of no parameter."""
        if device.op is Op.CONST:
            return False
        pending, seen = [device], set[Node]()
        while pending and len(seen) < MOST_VALUES:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            if one.op is Op.PARAM and one is not made.self_node:
                return False
            if one.op is Op.GLOBAL and one.extra not in self._births.module.top.finals:
                return False
            if one.op is Op.PHI and _asks_caller(one.extra):
                return False
            if one.op is Op.ATTR and self._kinds.class_of(one.args[0]) is made.owner:
                stored = [each.value for each in made.stores if each.is_attribute and each.key == one.extra]
                if not stored:
                    return False
                pending += stored
            else:
                pending += one.args
        return True

    def _is_called_as_module(self, kept: Node, owner: Class, attribute: str) -> bool:
        """Whether what is kept is a module: one by its use, or what is called with one value that was moved."""
        if self._kinds.is_module(kept):
            return True
        return self._kinds.of(kept) is None and any(
            node.op is Op.CALL
            and node.args[0].op is Op.ATTR
            and node.args[0].extra == attribute
            and self._kinds.class_of(node.args[0].args[0]) is owner
            and node.extras.count(None) == 1
            for function in owner.methods.values()
            for node in function.nodes
        )

    # Families of classes

    def _of_family(self, owner: Class, made: Function) -> None:
        """A class that moves its inputs as others of its family move themselves, and not itself."""
        moves = {_move(move): move for other in self._relatives(owner) for move in _own_moves(other)}
        if len(moves) != 1 or any(_own_moves(owner)) or not self._births.holds_tensors(owner):
            return
        if any(self._births.is_move(store.value) for store in made.stores):
            return
        others = (node for one in owner.methods.values() if one is not made for node in one.nodes)
        if any(_move(node) in moves for node in others if node.op is Op.CALL):
            node = self._births.place_of_module(owner)
            self._say(node, "moved-in-family")
            self.moved_as[node] = next(iter(moves.values()))

    def _relatives(self, owner: Class) -> Iterator[Class]:
        bases = _ancestors(owner)
        return (one for one in self._births.module.classes if one is not owner and _ancestors(one) & bases)


def _ancestors(owner: Class) -> set[Hashable]:
    """What a class is derived from, of this file and of others; torch's own are no family."""
    bases = [base for one in owner.lineage() for base in one.bases]
    found = {base.extra if base.op is Op.CLASS else name(base) for base in bases}
    return {one for one in found if one is not None and not (isinstance(one, str) and one.startswith("torch."))}


def _asks_caller(part: Hashable) -> bool:
    """Whether a guard, or a key in it, speaks of a parameter."""
    if isinstance(part, tuple) and part[:1] == ("param",):
        return True
    return isinstance(part, tuple | frozenset) and any(map(_asks_caller, part))


def _own_moves(owner: Class) -> Iterator[Node]:
    """How the constructor of a class moves the object itself: not by what the object knows of devices."""
    made = owner.methods.get("__init__")
    for call in made.nodes if made is not None else ():
        moved = moved_by(call)
        if moved is not None and moved is call.function.self_node:
            yield call


def _move(call: Node) -> Hashable:
    """A move, whatever it moves: the method and what it is told."""
    callee = call.args[0]
    return (callee.extra, *(key(one) for one in call.args[1:])) if callee.op is Op.ATTR else None


MOST_VALUES = 40
