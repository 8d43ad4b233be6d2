"""Moving averages of weights: which are kept elsewhere than the weights that they are updated with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, method_name, name, resolved
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import HOST


@dataclass(frozen=True, slots=True)
class Average:
    """`shadow.lerp_(live, …)`, or `shadow.mul_(…).add_(live)`."""

    update: Node
    shadow: Node
    live: Node

    @property
    def method(self) -> str:
        return str(self.update.args[0].extra)


def stray(analysis: Analysis) -> Iterator[Average]:
    """The averages of weights that the program places by themselves, and that take the other weights as they are."""
    births = analysis.births
    if births.defaults.managed:
        return
    for node in analysis.module.of(Op.CALL):
        found = average(node)
        if found is not None and _Homes(analysis).may_differ(found):
            yield found


def copies_beside(analysis: Analysis, average: Average) -> Iterator[Average]:
    """`shadow.copy_(live)` of the same two."""
    for node in average.update.function.nodes:
        if method_name(node) == "copy_" and node.args[0].args[0] is average.shadow and average.live in node.args:
            yield Average(node, average.shadow, average.live)


def average(node: Node) -> Average | None:
    """What a call updates, if it is one step of a moving average."""
    method = method_name(node)
    if method not in {"lerp_", "add_"} or len(node.args) < 2:
        return None
    shadow = node.args[0].args[0]
    if method == "add_":
        if method_name(shadow) == "mul_":
            shadow = shadow.args[0].args[0]
        elif not any(method_name(one) == "mul_" and one.args[0].args[0] is shadow for one in node.function.nodes):
            return None
    return Average(node, shadow, node.args[1])


class _Weights(NamedTuple):
    """What one operand of an average may be: weights of these modules, or copies that are kept on the host."""

    homes: list[Node]
    on_host: bool


class _Homes:
    """The modules whose weights are averaged, and where the program moves them."""

    def __init__(self, analysis: Analysis) -> None:
        self._births = analysis.births
        self._given = analysis.kinds.given
        self._module = analysis.module

    def may_differ(self, average: Average) -> bool:
        shadow, live = self._weights(average.shadow), self._scaled(average.live)
        if shadow is None or live is None:
            return False
        kept, given = self._places_of(shadow), self._places_of(live)
        told, known = kept | self._places_given(shadow), given | self._places_given(live)
        if told == {_HOST}:  # what callers give counts as well, where it is as plain as that
            return _HOST not in known and bool(kept or known)
        return bool(kept) and not given

    def _scaled(self, operand: Node) -> _Weights | None:
        """As `_weights`, also of a product with what is no weight: `(1 - decay) * live`."""
        if operand.op is not Op.OPERATION or operand.extra != "Mult":
            return self._weights(operand)
        factors = [found for one in operand.args if (found := self._weights(one)) is not None]
        return factors[0] if len(factors) == 1 else None

    def _weights(self, operand: Node) -> _Weights | None:
        """Whose weights an operand is of; None where it may be no weight, or was moved elsewhere on its own."""
        found = _Weights([], False)
        pending, seen = [(operand, False, False)], set[Node]()
        while pending:
            one, of_module, on_host = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            inner = self._inner(one) if not of_module else ()
            if inner:
                states = method_name(one) in rows.STATES
                on_host = on_host or self._is_copy_on_host(one)
                pending += ((each, states, on_host) for each in inner)
            elif not of_module:
                return None
            elif on_host:
                found = found._replace(on_host=True)
            else:
                found.homes.append(one)
        return found

    def _inner(self, weight: Node) -> tuple[Node, ...]:
        """What weights are taken from, or computed of one by one."""
        if weight.op is Op.CALL:
            if method_name(weight) in _GIVING or self._is_copy_on_host(weight):
                return weight.args[0].args[:1]
            return weight.args[1:2] if name(weight.args[0]) in _COPYING else ()
        if weight.op is Op.ATTR and weight.extra != "data":
            return self._kept(weight)
        if weight.op is Op.OPERATION:
            return weight.args if weight.extra == "Add" else ()
        return weight.args[:1] if weight.op in _TAKING else ()

    def _is_copy_on_host(self, weight: Node) -> bool:
        """`p.cpu()`, as against what follows another value, or a device."""
        return weight.op is Op.CALL and weight.args[0].op is Op.ATTR and self._births.place_given(weight) == HOST

    def _kept(self, attribute: Node) -> tuple[Node, ...]:
        """What an attribute of an object is set to."""
        owner = self._births.class_of(attribute.args[0])
        if owner is None or not owner.sets(str(attribute.extra)):
            return ()
        return tuple(self._births.attributes.stored.get(owner.field_of(str(attribute.extra)), ()))

    def _places_of(self, weights: _Weights) -> set[object]:
        own = {_HOST} if weights.on_host else set[object]()
        return own.union(*({*self._places(one)} for one in weights.homes))

    def _places_given(self, weights: _Weights) -> set[object]:
        """Where the callers in this file move the modules that they give."""
        return {place for home in weights.homes for one in self._given.get(home, ()) for place in self._places(one)}

    def _places(self, home: Node) -> set[object]:
        """Where the program moves a module, as far as that is seen."""
        births = self._births
        values = {home}
        owner = births.class_of(home.args[0]) if home.op is Op.ATTR else None
        if owner is not None and owner.sets(str(home.extra)):
            field = owner.field_of(str(home.extra))
            values |= {*births.attributes.stored.get(field, ()), *births.attributes.reads.get(field, ())}
        values.add(resolved(home))
        pending, seen = list(values), set[Node]()
        found: set[object] = set()
        pending += [one for one in self._module.of(Op.AFTER) if one in births.moved_in_place and one.args[0] in values]
        while pending:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            place = births.place_of_move(one) or births.place_given(one)
            if place is not None:
                found.add(_HOST if place == HOST else key(place.node) if place.node is not None else "cuda")
            if one.op is Op.PHI:
                pending += one.args
            elif one.op is Op.AFTER:
                pending.append(one.args[0])
            elif births.is_move(one) or method_name(one) in {"eval", "train", "requires_grad_"}:
                pending.append(one.args[0].args[0])
        return found


_HOST = "host"
_TAKING = frozenset({Op.ITER, Op.ITEM, Op.COMPREHENSION, Op.ATTR})
_COPYING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.sorted", "copy.deepcopy"})
"""Functions that give what they get, or its elements."""
_GIVING = rows.STATES | {"values", "items", "detach", "clone", "float"}
"""Methods that give weights of a module, or what they are called on."""
