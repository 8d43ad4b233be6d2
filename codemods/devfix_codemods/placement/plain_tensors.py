"""Tensors that modules keep in plain attributes: what they are made of, and how surely they belong with the module."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.calls import maker
from devfix_codemods.placement.graph import MADE, Birth, Source
from devfix_codemods.placement.places import HOST, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_VALUES = 60


class PlainAttributes:
    """Adds the tensors that modules of one file keep to its graph, and those that they register."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._kinds = births.kinds
        self._attributes = births.attributes

    def all(self) -> None:
        for field, owner in self._attributes.registered.items():
            if owner in self._kinds.module_classes:
                self._graph.same(field, self._births.place_of_module(owner), "certain", field.guard)
        for owner in self._kinds.module_classes:
            made = owner.methods.get("__init__")
            for key, value in made.finals.items() if made is not None else ():
                if not isinstance(key, str) and made is not None and key[0] is made.self_node:
                    self._kept(owner, made, key[1], value)

    def _kept(self, owner: Class, made: Function, attribute: str, value: Node) -> None:
        """A tensor made in the constructor, that no `.to` of the module moves."""
        if not self._is_plain_tensor(value) or not self._attributes.is_plain(owner, attribute):
            return
        field = owner.field_of(attribute)
        if field in self._attributes.registered:
            return
        if not self._is_born(value) and (link := self._made_of(value)) is not None:
            self._graph.add(Source(value, HOST, Birth.ARRAY, (link,)))
        link = self._belongs(owner, made, field, value)
        if link is not None:
            self._graph.supports(field, self._births.place_of_module(owner), link, field.guard)

    def _is_plain_tensor(self, value: Node) -> bool:
        if whole(value).op not in {Op.CALL, Op.OPERATION} or self._kinds.of(value) is not Kind.TENSOR:
            return False
        told = value.op is Op.CALL and has_device(value)
        return not told and not self._births.is_registered(value) and not self._births.is_move(value)

    # What it is made of

    def _is_born(self, value: Node) -> bool:
        """Whether a value is one that is known to be on the host, or a view of one."""
        while not self._graph.sources.get(value):
            callee = value.args[0] if value.op is Op.CALL else None
            if value.op is Op.ITEM:
                value = value.args[0]
            elif callee is not None and callee.op is Op.ATTR and name(callee) is None and _keeps_place(callee):
                value = callee.args[0]
            else:
                return False
        return True

    def _made_of(self, value: Node) -> str | None:
        """How surely a value is computed of what is on the host alone; None where it is not."""
        known, seen, pending = False, {value}, [value]
        for one in pending:  # grows
            sources = self._graph.sources.get(one, ())
            if any(each.place.where is not Where.HOST for each in sources if each.birth is not Birth.PARAMETER):
                return None
            of_another = one.op is Op.ATTR and one.args[0] is not one.function.self_node
            if of_another and self._attributes.field(one) is not None:
                return None  # `self.norm.mean`: it is where another object of the file keeps its own
            if any(each.birth in MADE for each in sources):
                known = True
            elif one is not value and self._is_unread(one):
                return "built-by-unknown"
            else:
                for other in self._parts(one):
                    if other not in seen and len(seen) < MOST_VALUES:
                        seen.add(other)
                        pending.append(other)
        return "factory" if known else "built-by-unknown"

    def _is_unread(self, node: Node) -> bool:
        """Whether nothing is known of a tensor: what a constructor is given, what an unread function gives."""
        if self._kinds.of(node) is not Kind.TENSOR:
            return False
        if node.op is Op.PARAM:
            return node.function.name == "__init__"
        return node.op in {Op.ATTR, Op.GLOBAL}

    def _parts(self, node: Node) -> tuple[Node, ...]:
        """What a value is computed of."""
        called = self._births.calls.get(node)
        if called is not None:
            return tuple(value for value, _ in called.returns)
        if node.op is not Op.CALL:
            return node.args
        callee = node.args[0]
        method = callee.op is Op.ATTR and not names(callee)
        return (callee.args[0], *node.args[1:]) if method else node.args[1:]

    # Where it belongs

    def _belongs(self, owner: Class, made: Function, field: Node, value: Node) -> str | None:
        """By what a tensor belongs where its module is, whatever it meets; None where it is moved at its use."""
        reads = [one for one in self._attributes.reads.get(field, ()) if one.function is not made]
        if not reads and self._attributes.meets_in_bases(owner, str(field.extra), self._births.imported):
            return "met-in-base"
        if not reads or any(self._births.moves_of(one) for one in reads):
            return None
        if field in self._attributes.followed:
            return "followed-attribute"
        registered = [one.args[2] for one in made.nodes if _registers_buffer(one)]
        if any(maker(one) == maker(value) is not None for one in registered):
            return "alike-buffers"
        if registered:
            return "beside-buffers"
        if any(one.scalar for one in self._graph.sources.get(value, ())):
            return None
        meets = self._kinds.derives_from_module(owner) and any(map(self._meets, reads))
        return "plain-attribute-met" if meets else "plain-attribute"

    def _meets(self, read: Node) -> bool:
        """Whether arithmetic, or a function of torch, lets a tensor meet another value than a number."""
        return any(
            read in one.args and any(other is not read and self._kinds.of(other) is Kind.TENSOR for other in one.args)
            for one in read.function.nodes
            if one.op is Op.OPERATION or (one.op is Op.CALL and any(map(_computes, names(one.args[0]))))
        )


def _keeps_place(method: Node) -> bool:
    return method_effect(str(method.extra)) in {Effect.SAME, Effect.LIKE}


def _computes(qualified: str) -> bool:
    return effect(canonical(qualified)) in {Effect.MEET, Effect.ARITHMETIC}


def _registers_buffer(call: Node) -> bool:
    callee = call.args[0] if call.op is Op.CALL else None
    return callee is not None and callee.op is Op.ATTR and callee.extra == "register_buffer" and len(call.args) > 2
