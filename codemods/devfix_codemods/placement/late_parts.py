"""Parts that are put into a module after it was moved: these stay on the host until it is moved again."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from devfix_codemods.catalogue import Effect, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.calls import bound, chained, moved_by, parameters
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.naming import sounds_like_class

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

ATTACHED = "attached"


@dataclass(frozen=True, slots=True)
class Attachment:
    """`whole.fc = part`, where `whole`, or what holds it, is the result of a move."""

    part: Node
    whole: Node
    statement: ast.stmt
    use: Node | None = None
    """Where `whole` is used with the part on the host."""


class _Use(NamedTuple):
    node: Node
    link: str


def attached(births: "Births", parts: dict[Node, Source]) -> dict[Node, Attachment]:
    """Adds the `parts`, modules that others own, which their owner was moved without; each with its attachment."""
    found: dict[Node, Attachment] = {}
    for function in births.module.functions:
        for one in _attachments(births, function):
            roots = births.roots(one.part)
            if any(births.moves_of(root) for root in roots):
                continue
            use = _Uses(births, one).first()
            if use is None:
                continue
            births.graph.supports(one.part, one.whole, use.link, one.part.guard)
            for root in roots - found.keys():
                if root in parts:
                    births.graph.add(parts[root])
                if _note(births, root):
                    found[root] = replace(one, use=use.node)
    return found


def _note(births: "Births", root: Node) -> bool:
    """Mark what is known of where a part is born."""
    sources = births.graph.sources.get(root, [])
    for index, one in enumerate(sources):
        if one.birth is Birth.MODULE:
            sources[index] = replace(one, links=(*one.links, ATTACHED))
            return True
    return False


# What is put into modules


def _attachments(births: "Births", function: Function) -> Iterator[Attachment]:
    given = [(store.base, store.value, store.statement) for store in function.stores]
    given += [(*one, node.statement) for node in function.nodes if node.op is Op.CALL and (one := _added(node))]
    for base, part, statement in given:
        whole = _moved_whole(births, base, function)
        if whole is not None and statement is not None and births.kinds.is_module(part):
            yield Attachment(part, whole, statement)


def _added(node: Node) -> tuple[Node, Node] | None:
    """`net.add_module("fc", part)`, `net.layers.append(part)`, `setattr(net, "fc", part)`: the module and the part."""
    if calls_builtin(node, "setattr") and len(node.args) == 4:
        return node.args[1], node.args[3]
    callee = node.args[0]
    if callee.op is not Op.ATTR or callee.extra not in _ADDING or name(callee) is not None:
        return None
    return (callee.args[0], node.args[-1]) if len(node.args) > 1 else None


def _moved_whole(births: "Births", base: Node, function: Function) -> Node | None:
    """The module that was moved: what gets the part, or what holds that."""
    while not _is_moved(births, base, function):
        if base.op not in {Op.ATTR, Op.ITEM}:
            return None
        base = base.args[0]
    return base


def _is_moved(births: "Births", node: Node, function: Function) -> bool:
    """Whether a value is the result of a move to a device, on some path: in the same function, or one that it calls."""
    pending, seen = [(node, function)], set[Node]()
    while pending:
        one, within = pending.pop()
        if one in seen or one.function is not within:
            continue
        seen.add(one)
        if one in births.moved_in_place or births.is_move(one):
            if births.is_elsewhere(one):
                return True
        elif one.op is Op.AFTER:
            pending.append((one.args[0], within))
        elif one.op is Op.PHI:
            pending += ((each, within) for each in one.args)
        elif (inner := chained(one, rows.CHANGING_MODULES)) is not None:
            pending.append((inner, within))
        elif (called := births.calls.get(one)) is not None:
            pending += ((value, called) for value, _ in called.returns)
        elif one.op is Op.PARAM and len(given := set(births.kinds.given.get(one, ()))) == 1:
            pending += ((each, each.function) for each in given)
    return False


# What is done with them then


class _Uses:
    """What a function does, behind the attachment, with the module that got the part."""

    def __init__(self, births: "Births", one: Attachment, within: frozenset[Function] = frozenset()) -> None:
        self._births = births
        self._one = one
        self._function = one.whole.function
        self._within = within | {self._function}
        """This function, and those that it gave the module back to it."""
        self._roots = births.roots(one.whole)
        self._names = {one.whole}
        """All that the module is known as until it is moved again."""
        self._moved: set[Node] = set()

    def first(self) -> _Use | None:
        """Where, and how surely, the module is used before it is moved again; None where that is not seen."""
        function = self._function
        for node in function.nodes:
            self._know(node)
        for node in function.nodes:
            if not self._is_behind(node):
                continue
            if self._moves(node):
                return None
            link = self._use(node)
            if link is not None:
                return _Use(node, link)
        given = [value for value, _ in function.returns if value in self._names]
        itself = function.self_node
        if function.name == "__init__" and itself is not None and itself in self._roots:
            given.append(itself)  # a constructor gives its object to whoever calls it
        if given:
            return None if self._is_moved_by_callers() else self._by_callers(given) or _Use(given[0], "handed-on")
        return self._elsewhere() or self._by_callers(given)

    def _by_callers(self, given: list[Node]) -> _Use | None:
        """What callers in this file do with the module that they get back, or that they pass to it."""
        for call in self._births.kinds.calls_of(self._function):
            if call.statement is None or call.function in self._within:
                continue
            passed = (argument for argument, parameter in bound(call, self._function) if parameter in self._roots)
            for whole in (call, *passed) if given else passed:
                there = replace(self._one, whole=whole, statement=call.statement)
                use = _Uses(self._births, there, self._within).first()
                if use is not None and use.link == "module-call":
                    return use
        return None

    def _know(self, node: Node) -> None:
        """Note another name of the module, or that it is moved."""
        known, args = self._names, node.args
        if node.op is Op.AFTER and args[0] in known:
            (self._moved if node in self._births.moved_in_place else known).add(node)
        elif node.op is Op.PHI:
            if not self._moved.isdisjoint(args):
                self._moved.add(node)
            elif not known.isdisjoint(args):
                known.add(node)
        elif node.op is Op.CALL and (
            chained(node, rows.CHANGING_MODULES) in known or (_wraps(node) and not known.isdisjoint(args[1:]))
        ):
            known.add(node)

    def _is_behind(self, node: Node) -> bool:
        at, here = self._one.statement, node.statement
        behind = here is not None and here.lineno > at.lineno
        return behind and not contradictory(node.guard, self._one.part.guard)

    def _moves(self, node: Node) -> bool:
        """Whether a call moves the module, what is in it, or whatever it is given."""
        births = self._births
        if node.op is not Op.CALL:
            return False
        callee = node.args[0]
        elsewhere = self._read_elsewhere(node)
        if elsewhere is not None:
            return any(_moves_in(one) for argument, one in bound(node, elsewhere) if argument in self._names)
        if births.is_move(node) or (births.is_moving_call(node) and callee.op is Op.ATTR):
            return self._is_of_module(callee.args[0])
        if births.is_moving_call(node) or any(one.function is not self._function for one in self._given_moves(node)):
            return any(map(self._is_of_module, node.args[1:]))
        return False

    def _read_elsewhere(self, call: Node) -> Function | None:
        """The function of another file that a call runs."""
        found = self._births.imported.definition(call.args[0]) if call not in self._births.calls else None
        return found if isinstance(found, Function) and found.module is not self._births.module else None

    def _given_moves(self, call: Node) -> Iterator[Node]:
        """The moves that a function of this file makes of what it gets."""
        called = self._births.calls.get(call)
        for argument, parameter in bound(call, called) if called is not None else ():
            if argument in self._names:
                yield from self._births.moves_of(parameter)

    def _is_of_module(self, node: Node) -> bool:
        """Whether a value is the module, or was got from it: one of its `children()`."""
        pending = [node, *self._births.roots(node)]
        while pending:
            one = pending.pop()
            if one in self._names or one in self._roots:
                return True
            if one.op in _GOT:
                pending.append(one.args[0])
        return False

    def _use(self, node: Node) -> str | None:
        if node.op is not Op.CALL:
            return None
        callee, known = node.args[0], self._names
        if callee in known:
            return "module-call"
        if callee.op is Op.ATTR and callee.args[0] in known:
            return self._method(node, str(callee.extra))
        if known.isdisjoint(node.args[1:]) or _wraps(node):
            return None
        called = self._births.calls.get(node) or self._read_elsewhere(node)
        if called is not None:
            given = [parameter for argument, parameter in bound(node, called) if argument in known]
            if self._are_called(given):
                return "module-call"
            return "handed-on" if node in self._births.calls or any(map(_is_handed_on, given)) else None
        if names(callee) and effect(canonical(names(callee)[0])) is not None:
            return None
        return "handed-over" if sounds_like_class(callee) else "handed-on"

    def _method(self, node: Node, method: str) -> str | None:
        if method in libraries.COMPUTING:
            return "module-call"
        if node not in self._births.used or method_effect(method) is not None or method in _ASKING:
            return None
        return "handed-on"

    def _are_called(self, given: list[Node]) -> bool:
        """Whether a function of this file calls what it gets, or hands it on to one that does."""
        for one in given:  # grows
            for node in one.function.nodes:
                if node.op is Op.AFTER and node.args[0] is one and node not in self._births.moved_in_place:
                    given.append(node)
                elif node.op is Op.CALL and node.args[0] is one:
                    return True
                else:
                    inner = parameters(one, node, self._births.calls.get(node))
                    given += (each for each in inner if each not in given)
        return False

    def _is_moved_by_callers(self) -> bool:
        """Whether callers move what they get, or other methods the object that they are called on."""
        itself, owner = self._function.self_node, self._function.owner
        if itself in self._roots and owner is not None:
            others = {one.self_node for one in owner.methods.values() if one is not self._function}
            if any(one is not None and self._births.moves_of(one) for one in others):
                return True
        calls = self._births.kinds.calls_of(self._function)
        return any(self._births.moves_of(one) or self._is_moved_at(one) for one in calls)

    def _is_moved_at(self, call: Node) -> bool:
        """`adapt(net).to(device)`, of what may be the same module as it got."""
        return any(self._births.is_move(one) and one.args[0].args[:1] == (call,) for one in call.function.nodes)

    def _elsewhere(self) -> _Use | None:
        """What other functions do with it: those that are defined in this one, or have the object that keeps it."""
        births, function = self._births, self._function
        known = set(self._names)
        known |= {one for one in births.module.of(Op.GLOBAL) if resolved(one) in known}
        for key, value in function.finals.items():
            owner = births.class_of(key[0]) if value in self._names and not isinstance(key, str) else None
            if owner in births.kinds.module_classes:
                return None
            if owner is not None and not isinstance(key, str) and owner.sets(key[1]):
                known |= set(births.attributes.reads.get(owner.field_of(key[1]), ()))
        known_elsewhere = (
            [one for one in births.module.of(op) if one.function is not function and one.args[0] in known]
            for op in (Op.AFTER, Op.CALL)
        )
        moves, calls = known_elsewhere
        if not births.moved_in_place.isdisjoint(moves):
            return None
        return next((_Use(one, "module-call") for one in calls), None)


def _moves_in(parameter: Node) -> bool:
    """Whether a function moves what it is given, by whatever name it goes on with it."""
    known = {parameter}
    for node in parameter.function.nodes:
        if moved_by(node) in known:
            return True
        if node.op in {Op.AFTER, Op.PHI} and not known.isdisjoint(node.args):
            known.add(node)
    return False


def _is_handed_on(parameter: Node) -> bool:
    return any(node.op is Op.CALL and parameter in node.args[1:] for node in parameter.function.nodes)


def _wraps(call: Node) -> bool:
    """`DataParallel(net)`, `torch.compile(net)`: moved, the result takes the module along."""
    return any(effect(canonical(one)) in _WRAPPING for one in names(call.args[0]))


_WRAPPING = frozenset({Effect.MODULE, Effect.PASS, Effect.WRAP})
_GOT = frozenset({Op.ATTR, Op.ITEM, Op.ITER, Op.CALL, Op.AFTER})
_ADDING = frozenset({"add_module", "register_module", "append", "insert"})
_ASKING = rows.MODULE_ONLY | rows.STATES
"""Methods that give what a module holds, wherever it is."""
