"""Modules and parameters that a module keeps in plain lists, tuples and dicts: `.to()` does not reach them.

The repair makes a container of `torch.nn` of the plain one. So an attribute is looked at as a whole: a module
container must be able to stand wherever it is assigned and used, and nothing may register or move its parts otherwise.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.arguments import calls_builtin, has_device
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.naming import sounds_kept_out
from devfix_codemods.placement.places import HOST
from devfix_codemods.placement.plain_containers import (
    DICT,
    arms,
    index_of,
    is_expression,
    is_key,
    keys,
    may_be_key,
    shape_of,
    with_operands,
)

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

UNREGISTERED = "unregistered"
MODULE = "Module"
PARAMETER = "Parameter"


@dataclass(slots=True)
class Holder:
    """An attribute that keeps modules, or parameters, in plain containers."""

    attribute: str
    stores: list[Store]
    shape: str
    """Whether the plain ones are lists or mappings."""
    sort: str = MODULE
    """What they hold."""
    has_sure_keys: bool = True
    """Whether all keys of mappings are known to be strings, as they have to be then."""
    made: list[tuple[Store, Node]] = field(default_factory=list)
    """The plain containers that are assigned to it, each with its assignment; there may be several, by branches."""
    inner: list[Node] = field(default_factory=list)
    """The containers inside of those, which hold modules as well."""
    parts: list[Node] = field(default_factory=list)
    """The modules or parameters, by where they are made."""

    @property
    def container(self) -> str:
        """The container of `torch.nn` that is to replace the plain ones: `ModuleList`, `ParameterDict`."""
        return f"{self.sort}{self.shape}"


class _NotReplaceableError(Exception):
    """No module container could stand here, or none is needed."""


def unregistered(births: "Births", parts: dict[Node, Source]) -> dict[Node, Holder]:
    """Adds a source to the graph for one module of each plain container, and returns these modules with their holders.

    `parts` are the sources of modules that other modules own. One module stands for all of its container.
    """
    found: dict[Node, Holder] = {}
    if births.defaults.managed:
        return found
    for owner in births.module.classes:
        if not births.kinds.derives_from_module(owner):
            continue
        family = [one for one in births.module.classes if owner in one.lineage() or one in owner.lineage()]
        if any(map(_answers_for_parts, family)):
            continue
        for attribute in sorted(owner.stored):
            try:
                holder = _Containers(births, parts, owner, attribute).holder()
            except _NotReplaceableError:
                continue
            if holder.sort == PARAMETER:
                part: Node | None = next(iter(holder.parts), None)
            else:
                part = next((one for one in holder.parts if one in parts or births.graph.sources.get(one)), None)
            if part is None or part in found:
                continue
            made = parts.get(part) or next(iter(births.graph.sources[part]), _parameter(part))
            links = (*made.links, UNREGISTERED, *(() if holder.has_sure_keys else ("keys-unproven",)))
            births.graph.sources[part] = [replace(made, links=links)]
            link = "kept-out" if sounds_kept_out(attribute) else "kept-plainly"
            births.graph.supports(part, births.place_of_module(owner), link, part.guard)
            found[part] = holder
    return found


class _Containers:
    """What one attribute of a class of modules holds, and what is done with it."""

    def __init__(self, births: "Births", parts: dict[Node, Source], owner: Class, attribute: str) -> None:
        self._births = births
        self._parts = parts
        self._owner = owner
        self._functions = [one for one in births.module.functions if one.owner is not None and self._is_kin(one.owner)]
        stores = [
            store
            for function in self._functions
            for store in function.stores
            if store.is_attribute and store.base is function.self_node and store.key == attribute
        ]
        self._holder = Holder(attribute, stores, "")
        self._aliases: set[Node] = set()
        """All values that are the container, under whatever name."""
        self._added: list[Node] = []
        """What is added to it at once: `self.layers += [layer]`."""

    def _is_kin(self, other: Class) -> bool:
        return self._owner in other.lineage() or other in self._owner.lineage()

    def holder(self) -> Holder:
        """What is found of the attribute; raises where no module container could stand there, or none is needed."""
        holder = self._holder
        for store in holder.stores:
            self._stored(store)
        kinds = {shape_of(one) for _, one in holder.made}
        if len(kinds) != 1:
            raise _NotReplaceableError
        holder.shape = str(kinds.pop())
        self._aliases |= set(self._births.attributes.reads.get(self._owner.field_of(holder.attribute), ()))
        self._aliases |= {inner for _, one in holder.made for inner in with_operands(one)}
        for one in (*(made for _, made in holder.made), *self._added):
            self._elements(one)
        if self._hides_one():
            raise _NotReplaceableError
        for function in self._functions:
            self._check_uses(function)
        return holder

    # What is assigned to the attribute

    def _stored(self, store: Store) -> None:
        """One assignment: a container that is made there, one that grows (`+=`), or None."""
        function = store.value.function
        if function.name == "forward" or not isinstance(function.owner, Class):
            raise _NotReplaceableError
        grown = store.value.op is Op.OPERATION and not is_expression(store.value)
        if grown and len(store.value.args) == 2:
            self._aliases.add(store.value)
            self._added.append(store.value.args[1])
            return
        for one in arms(store.value):
            if shape_of(one) is not None:
                # Before `super().__init__()`, a module takes no module.
                if any(_starts_module(node) and node.index > one.index for node in function.nodes):
                    raise _NotReplaceableError
                self._holder.made.append((store, one))
            elif one.op is not Op.CONST or one.extra is not None:
                raise _NotReplaceableError

    def _elements(self, container: Node) -> None:
        """What a container is made with."""
        match container.op:
            case Op.SEQUENCE:
                given: tuple[Node, ...] = container.args
            case Op.MAPPING | Op.COMPREHENSION:
                for key in keys(container.syntax):
                    self._key(key, container.function)
                given = container.args
            case Op.CALL | Op.OPERATION if shape_of(container) is not None:
                for one in with_operands(container):
                    if one is not container:
                        self._elements(one)
                return
            case _:
                raise _NotReplaceableError
        for one in given:
            self._element(one)

    def _key(self, key: ast.expr | None, function: Function) -> None:
        """A key of a mapping, which has to be a string there."""
        if not is_key(key):
            if not may_be_key(key, function.syntax):
                raise _NotReplaceableError
            self._holder.has_sure_keys = False

    def _element(self, element: Node) -> None:
        """A module, or a container of modules, which then has to become one too."""
        for one in arms(element):
            if one.op is Op.ITER:  # `layers.extend(others)`
                self._elements(one.args[0])
            elif shape_of(one) is not None:
                before = len(self._holder.parts)
                self._elements(one)
                if len(self._holder.parts) > before:
                    if self._holder.sort == PARAMETER:
                        raise _NotReplaceableError  # its containers hold parameters alone
                    self._holder.inner.append(one)
            elif one.op is not Op.CONST or one.extra is not None:
                self._module(one)

    def _module(self, value: Node) -> None:
        """An element that is no container: surely a module, which nothing else holds."""
        births = self._births
        if value.op is Op.CALL and value.args[0].op is Op.ATTR and value.args[0].extra in _FREEZING:
            raise _NotReplaceableError  # `[net.eval()]`: it is kept from the optimizer on purpose
        for root in self._made_as(value):
            if root.op is not Op.CALL or self._is_held(root):
                raise _NotReplaceableError
            sort = PARAMETER if _is_parameter(root) else MODULE
            if self._holder.parts and sort != self._holder.sort:
                raise _NotReplaceableError
            self._holder.sort = sort
            if sort == PARAMETER:
                if self._is_placed(root):
                    raise _NotReplaceableError
                self._holder.parts.append(root)
                continue
            made = root in self._parts or births.graph.is_born(root, {Birth.MODULE})
            if not made and not _is_of_torch(root) and births.kinds.class_of(root) not in births.kinds.module_classes:
                raise _NotReplaceableError
            if made:
                self._holder.parts.append(root)

    def _is_placed(self, made: Node | None) -> bool:
        """Whether the class itself says where a parameter is: `nn.Parameter(torch.zeros(3, device=device))`."""
        while made is not None and made.op is Op.CALL:
            if self._births.is_move(made) or has_device(made):
                return True
            callee = made.args[0]
            of_value = callee.op is Op.ATTR and not names(callee)
            made = callee.args[0] if of_value else next(iter(made.args[1:]), None)
        return False

    def _made_as(self, value: Node) -> Iterator[Node]:
        """What makes a module: also what the functions of this file return."""
        for root in self._births.roots(value):
            called = self._births.calls.get(root)
            if called is None or root.args[0].op is Op.CLASS:
                yield root
            else:
                for given, _ in called.returns:
                    yield from (self._births.roots(given))

    def _is_held(self, module: Node) -> bool:
        """Whether something else has the module as well."""
        function = module.function
        if any(one.value is module and one.is_attribute for one in function.stores):
            return True
        takers = [one for one in function.nodes if one.op is Op.CALL and module in one.args[1:]]
        return any(not _grows(one) or one.args[0].args[0] not in self._aliases for one in takers)

    # What is done with it

    def _check_uses(self, function: Function) -> None:
        for node in function.nodes:
            if any(one in self._aliases for one in node.args):
                self._check_use(node)
            elif self._handles(node) or self._is_called_with_moved(node) or self._is_unpacked(node):
                raise _NotReplaceableError
        for store in function.stores:
            if not store.is_attribute and store.base in self._aliases:
                if store.index is not None and self._holder.shape == DICT:
                    self._key(index_of(store), function)
                self._element(store.value)
            elif store.is_attribute and store not in self._holder.stores and self._is_of_container(store.value):
                raise _NotReplaceableError
        # `forward` returns what the elements compute, which cannot be told from an element.
        is_given_away = self._aliases.__contains__ if function.name == "forward" else self._is_of_container
        if any(is_given_away(value) for value, _ in function.returns):
            raise _NotReplaceableError

    def _check_use(self, node: Node) -> None:
        """One use of the container: raises where a module container could not be used so."""
        allowed = _METHODS[self._holder.container]
        match node.op:
            case Op.ITER | Op.ITEM | Op.PHI | Op.AFTER:
                return
            case Op.ATTR if node.extra in allowed:
                return
            case Op.CALL if node.args[0] in self._aliases:
                raise _NotReplaceableError
            case Op.CALL if calls_builtin(node, *_READERS) and "*" not in node.extras:
                return
            case Op.COMPARE if isinstance(node.extra, tuple) and set(node.extra) <= {"Is", "IsNot", "In", "NotIn"}:
                return
        if node not in self._aliases and not any(node is one for _, one in self._holder.made):
            raise _NotReplaceableError

    def _is_of_container(self, node: Node) -> bool:
        """Whether a value is one of those that the container holds, or the container."""
        pending = [node]
        for one in pending:  # grows
            if one in self._aliases:
                return True
            if one.op in {Op.ITER, Op.ITEM, Op.ATTR}:
                pending.append(one.args[0])
            elif one.op is Op.PHI:  # what it is behind a loop in which it grows
                pending += (each for each in one.args if each not in pending)
            elif one.op is Op.CALL and calls_builtin(one, *_READERS):
                pending += one.args[1:]
            elif one.op is Op.CALL and one.args[0].op is Op.ATTR:
                pending.append(one.args[0].args[0])
        return False

    def _is_called_with_moved(self, call: Node) -> bool:
        """`self.nets[0](x.to(self.place))`: the class decides where these modules work."""
        births = self._births
        moved = call.op is Op.CALL and any(births.is_move(one) for one in call.args[1:])
        return moved and self._is_of_container(call.args[0])

    def _handles(self, node: Node) -> bool:
        """Whether the class takes care of what the container holds, one by one."""
        return node.op is Op.ATTR and node.extra in _HANDLING and self._is_of_container(node.args[0])

    def _is_unpacked(self, call: Node) -> bool:
        """`nn.Sequential(*parts)`, `nn.ModuleList(parts)`, which register what the container holds."""
        keeps = call.op is Op.CALL and any(canonical(one) in rows.CONTAINERS for one in names(call.args[0]))
        given = zip(call.args[1:], call.extras) if call.op is Op.CALL else ()
        return any((keeps or word == "*") and self._is_of_container(one) for one, word in given)

    def _hides_one(self) -> bool:
        """`[net]`, of which only `[0]` is read: a known way to keep a module out of the parameters on purpose."""
        displays = [one for _, one in self._holder.made if one.op is Op.SEQUENCE and len(one.args) == 1]
        uses = (node for one in self._functions for node in one.nodes if not self._aliases.isdisjoint(node.args))
        return bool(displays) and all(node.op is Op.ITEM and node.extra == 0 for node in uses)


def _answers_for_parts(owner: Class) -> bool:
    """Whether a class registers parts by name, or answers for its parameters itself."""
    if not _PART_METHODS.isdisjoint(owner.methods):
        return True
    return any(
        (node.op is Op.ATTR and node.extra in _REGISTERING) or calls_builtin(node, "setattr")
        for function in owner.methods.values()
        for node in function.nodes
    )


def _is_parameter(call: Node) -> bool:
    """`nn.Parameter(torch.zeros(3))`"""
    return canonical(name(call.args[0]) or "") in _PARAMETERS


def _parameter(made: Node) -> Source:
    return Source(made, HOST, Birth.MODULE, ("module-made",))


def _is_of_torch(call: Node) -> bool:
    """`nn.Linear(3, 3)`, `nn.ReLU()`: also a module without parameters, which is never on the wrong device."""
    return any(effect(canonical(one)) in {Effect.BARE, Effect.MODULE} for one in names(call.args[0]))


def _grows(call: Node) -> bool:
    """`layers.append(layer)`"""
    return call.args[0].op is Op.ATTR and call.args[0].extra in {"append", "insert", "extend", "update"}


def _starts_module(node: Node) -> bool:
    """`super().__init__()`"""
    return node.op is Op.CALL and node.args[0].op is Op.ATTR and node.args[0].extra == "__init__"


_FREEZING = frozenset({"eval", "requires_grad_"})
_REGISTERING = frozenset({"add_module", "register_module", "__setattr__", "_modules"})
_PART_METHODS = frozenset(
    {"parameters", "named_parameters", "state_dict", "to", "cuda", "_apply", "children", "train", "eval"}
)
"""A class that defines one of these methods may reach its parts by it, wherever they are kept."""
_HANDLING = (rows.STATES | {"load_state_dict", "requires_grad_", "train", "eval"}) - {"buffers"}
"""Methods of a part. Code that calls one of them takes care of its parts one by one."""
_READERS = (  # builtins that take a module container as they take a list
    *("len", "enumerate", "zip", "reversed", "range", "iter", "sum", "any", "all", "print", "str", "map"),
    *("list", "tuple", "sorted", "set"),
)
_METHODS = {
    "ModuleList": frozenset({"append", "insert", "extend", "pop"}),
    "ModuleDict": frozenset({"keys", "values", "items", "update", "clear"}),
    "ParameterList": frozenset({"append", "extend"}),
    "ParameterDict": frozenset({"keys", "values", "items", "update", "clear", "pop"}),
}
"""Methods that the container shares with the plain one."""
_PARAMETERS = rows.PARAMETERS - rows.BUFFERS
