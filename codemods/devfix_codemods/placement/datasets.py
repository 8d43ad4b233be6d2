"""Data sets whose items are on a device: a loader over them yields what needs no move.

What is asked is where the values come from that a loader's data set is made of, or gives: back through calls that are
read, attributes and containers, in this file and in those that it imports.
"""

from collections.abc import Iterable, Mapping

from devfix_codemods.catalogue import Effect, Kind, kind, method_effect
from devfix_codemods.ir import Class, Module, Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.arguments import argument
from devfix_codemods.placement.calls import bound, local_calls, method
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.places import Where, place_of

DEEPEST = 14
MOST_STEPS = 600
"""How many values are looked at for one answer; what is left then is not known."""
Bindings = Mapping[Node, Node]
"""What the parameters of a constructor are given."""


class Datasets:
    """What the loaders of one file yield, as far as it can be read."""

    def __init__(self, kinds: Kinds, imported: ImportedDefinitions, origins: Origins, nodes: Iterable[Node]) -> None:
        self._imported = imported
        self._own = kinds
        self._origins = origins
        self._others: dict[Module, Kinds] = {}
        self._steps = 0
        known = list(nodes)
        given = {argument for one in known if _moves_item(one) for argument in one.args[1:]}
        asked = (one for one in known if one.op is Op.ATTR and one.extra == "device" and one not in given)
        self._devices = {key(one.args[0]) for one in asked}

    def stays(self, loader: Node, part: object) -> bool:
        """Whether a part of what a loader yields is not on the host, or is no tensor."""
        if self._says_device(loader):
            return True
        self._steps = 0
        made = self._made(loader)
        return bool(made) and any(self._stays_in(one, part) for one in made)

    def gives_dictionaries(self, loader: Node) -> bool:
        """Whether all that a loader's data set gives are dictionaries: collated, they are one, which has no `.to`."""
        made = [each for one in self._made(loader) if (data := _data_of(one)) is not None for each in self._made(data)]
        classes = [self._imported.definition(one.args[0]) for one in made]
        items = [method(one, "__getitem__") if isinstance(one, Class) else None for one in classes]
        given = [value for one in items if one is not None for value, _ in one.returns]
        return bool(given) and None not in items and all(one.op is Op.MAPPING for one in given)

    def _says_device(self, loader: Node) -> bool:
        """`loader.dataset.device`"""
        return any(
            isinstance(one, tuple) and one[0] == "attr" and one[2] == "dataset" and one[1] == key(loader)
            for one in self._devices
        )

    def _stays_in(self, loader: Node, part: object) -> bool:
        data = _data_of(loader)
        if data is None:
            return False
        if key(data) in self._devices:
            return True
        return any(self._gives(one, part) for one in self._made(data))

    def _made(self, node: Node) -> list[Node]:
        """The calls that make a value."""
        return [one for one in self._origins.of(node) if one.op is Op.CALL]

    def _gives(self, made: Node, part: object) -> bool:
        """Whether a data set gives a placed part, or a text."""
        found = self._imported.definition(made.args[0])
        if not isinstance(found, Class):
            return any(self._is_placed(one, {}, 0) for one in made.args[1:])
        item, bindings = method(found, "__getitem__"), _bindings(made, found)
        is_starred = "*" in made.extras and method(found, "__init__") is not None
        if is_starred and any(self._is_placed(one, {}, 0) for one in made.args[1:]):
            return True
        if item is None or not item.returns:
            return False
        return all(self._stays_at(value, part, bindings) for value, _ in item.returns)

    def _stays_at(self, value: Node, part: object, bindings: Bindings) -> bool:
        value = part_of(value, part) or value
        if value.op in {Op.SEQUENCE, Op.MAPPING}:
            return bool(value.args) and all(self._is_placed(one, bindings, 0) for one in value.args)
        return _is_text(value) or self._is_placed(value, bindings, 0)

    def _is_too_far(self, depth: int) -> bool:
        self._steps += 1
        return depth > DEEPEST or self._steps > MOST_STEPS

    # Places

    def _is_placed(self, node: Node, bindings: Bindings, depth: int) -> bool:
        """Whether a value, or what it holds or is made of, was moved to a device."""
        if self._is_too_far(depth):
            return False
        if node in bindings:
            return self._is_placed(bindings[node], {}, depth + 1)
        if node.op is Op.CALL:
            return self._call_places(node, bindings, depth)
        if node.op in {Op.ITEM, Op.ITER}:
            known = list(self._origins.before(node))
            return any(self._is_placed(one, bindings, depth + 1) for one in known or node.args[:1])
        if node.op in {Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.OPERATION}:
            return any(self._is_placed(one, bindings, depth + 1) for one in node.args)
        return any(self._is_placed(one, bindings, depth + 1) for one in self._origins.before(node))

    def _call_places(self, call: Node, bindings: Bindings, depth: int) -> bool:
        moves = self._moves(call)
        if moves is not None:
            return moves
        callee = call.args[0]
        if callee.op is Op.ATTR and name(callee) is None and self._is_placed(callee.args[0], bindings, depth + 1):
            return method_effect(str(callee.extra)) is not Effect.TO_HOST
        called = self._origins.called(call)
        if called is not None and called.returns:
            inner = {parameter: argument for argument, parameter in bound(call, called)}
            return any(self._is_placed(value, {**bindings, **inner}, depth + 1) for value, _ in called.returns)
        return any(self._is_placed(one, bindings, depth + 1) for one in call.args[1:])

    def _moves(self, call: Node) -> bool | None:
        """Whether a call places its result on a device; None where it says nothing of a place."""
        row = _effect_of_method(call)
        if row in {Effect.CUDA, Effect.TO_HOST}:
            return row is Effect.CUDA
        kinds = self._kinds_of(call)
        for given, word in zip(call.args[1:], call.extras):
            asked = word == "device" or row is Effect.MOVE
            if asked or (given.op is not Op.CONST and kinds.of(given) in {None, Kind.DEVICE}):
                place = place_of(given, kinds)
                if place is not None:
                    return place.where is not Where.HOST
        return None

    def _kinds_of(self, node: Node) -> Kinds:
        """The kinds of the values of the file that a value is in."""
        module = node.function.module
        if module is self._own.module:
            return self._own
        found = self._others.get(module)
        if found is None:
            found = self._others[module] = Kinds(module, local_calls(module))
        return found


def _data_of(loader: Node) -> Node | None:
    """The data set that a call of `DataLoader` is given."""
    return argument(loader, 0, "dataset") if kind(name(loader.args[0]) or "") is Kind.LOADER else None


def _bindings(made: Node, owner: Class) -> Bindings:
    """What a call that makes an object of a class gives the parameters of its constructor."""
    given = method(owner, "__init__")
    return {parameter: argument for argument, parameter in bound(made, given)} if given is not None else {}


def _effect_of_method(call: Node) -> Effect | None:
    callee = call.args[0] if call.op is Op.CALL else call
    return method_effect(str(callee.extra)) if callee.op is Op.ATTR and name(callee) is None else None


def _moves_item(call: Node) -> bool:
    """`x.to(data.device)`: an item of a batch was elsewhere."""
    return (
        call.op is Op.CALL
        and call.args[0].op is Op.ATTR
        and call.args[0].extra == "to"
        and call.args[0].args[0].op in {Op.ITEM, Op.ITER}
    )


def _is_text(node: Node) -> bool:
    return node.op is Op.CONST and isinstance(node.extra, str)
