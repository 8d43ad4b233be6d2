"""Where values come from: back through choices, names, attributes, containers, parameters and functions."""

from collections.abc import Iterable, Iterator, Mapping

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue.torch import MODULE_CHAINS
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.placement.calls import chained
from devfix_codemods.placement.imported_definitions import ImportedDefinitions

DEEPEST = 6
MOST_STEPS = 200
"""How many values are looked at for one answer; what is left then is an origin as it is."""


class Origins:
    """What the values of one file are, as they are made, here or in the files that it imports."""

    def __init__(self, given: Mapping[Node, list[Node]], imported: ImportedDefinitions) -> None:
        self._given = given
        self._imported = imported
        self._inner: dict[tuple[Node, int], list[Node]] = {}

    def of(self, node: Node, depth: int = 0) -> list[Node]:
        """The values that `node` may be: calls that are not read, displays, constants, what some caller gives."""
        if depth == 0:
            self._inner.clear()
        elif (node, depth) in self._inner:
            return self._inner[node, depth]
        found: list[Node] = []
        pending, seen = [node], set[Node]()
        while pending:
            one = pending.pop(0)
            if one in seen:
                continue
            seen.add(one)
            before = list(self.before(one, depth)) if len(seen) < MOST_STEPS else []
            pending += before
            if not before:
                found.append(one)
        if depth:
            self._inner[node, depth] = found
        return found

    def made(self, node: Node) -> list[Node]:
        """As `of`; what its own methods give back, `net.to(device)`, is the value still."""
        found: list[Node] = []
        pending = [node]
        for one in pending:  # grows
            for origin in self.of(one):
                itself = _itself(origin)
                if itself is None:
                    found.append(origin)
                elif itself not in pending:
                    pending.append(itself)
        return list(dict.fromkeys(found))

    def parts(self, whole: Node, part: Node) -> list[Node]:
        """What stands at the place of `part` in what is taken apart, and what makes it."""
        return [made for one in _parts(whole, part) for made in self.made(one)]

    def before(self, node: Node, depth: int = 0) -> Iterable[Node]:
        """What a value is a copy of, a choice between, or a known element of."""
        match node.op:
            case Op.PHI:
                return node.args
            case Op.AFTER:
                return node.args[:1]
            case Op.GLOBAL:
                found = resolved(node)
                return () if found is node else (found,)
            case Op.PARAM:
                return self._given.get(node, ())
            case Op.ATTR:
                return self._stored(node)
            case Op.CALL:
                return self._results(node)
            case Op.ITEM | Op.ITER if depth < DEEPEST:
                return [part for one in self.of(node.args[0], depth + 1) for part in _parts(one, node)]
        return ()

    def _results(self, call: Node) -> Iterable[Node]:
        """What a function that is read gives; what is passed on by one of a library."""
        called = self.called(call)
        if called is not None and not called.yields:
            return (value for value, _ in called.returns)
        passes = effect(canonical(name(call.args[0]) or "")) in {Effect.PASS, Effect.WRAP}
        return call.args[1:2] if passes else ()

    def called(self, call: Node) -> Function | None:
        """The function that a call surely runs: one of this project, or the method of its own object."""
        found = self._imported.definition(call.args[0])
        if found is not None:
            return found if isinstance(found, Function) else None
        callee, owner = call.args[0], call.function.owner
        if owner is None or callee.op is not Op.ATTR or callee.args[0] is not call.function.self_node:
            return None
        methods = (one.methods.get(str(callee.extra)) for one in self._imported.lineage(owner))
        return next((one for one in methods if one is not None), None)

    def _stored(self, node: Node) -> Iterator[Node]:
        """What methods of its class, and of those that it is derived from, store in an attribute of an object."""
        owner = node.function.owner
        if owner is None or node.args[0] is not node.function.self_node:
            return
        for one in self._imported.lineage(owner):
            yield from (store.value for store in one.own_stores(str(node.extra)))


def _itself(call: Node) -> Node | None:
    """`net` of `net.to(device)`"""
    found = chained(call, MODULE_CHAINS)
    return found if found is not None and not names(call.args[0]) else None


def _parts(base: Node, node: Node) -> Iterable[Node]:
    """What an item, or any element, of a display is."""
    if node.op is Op.ITEM:
        found = part_of(base, node.extra)
        return () if found is None else (found,)
    return base.args if base.op in {Op.SEQUENCE, Op.COMPREHENSION} and base.extra != "dict" else ()
