"""Ownership: modules that move with another one, parts of containers and attributes of modules."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.kinds import PLAIN_BASES, Kinds


def owned(module: Module, kinds: Kinds, calls: dict[Node, Function]) -> set[Node]:
    """The values that modules of one file own."""
    found: set[Node] = set()
    for function in module.functions:
        for value in _taken_over(function, kinds):
            _own(value, calls, found)
    return found


def _taken_over(function: Function, kinds: Kinds) -> Iterator[Node]:
    """What a function gives to modules."""
    for store in function.stores:
        owner = kinds.class_of(store.base)
        if store.is_attribute and (_may_be_module(owner, kinds) or kinds.is_module(store.base)):
            yield store.value
    for node in function.nodes:
        if node.op is Op.CALL and _takes_over(node):
            yield from node.args[1:]
    if function.owner in kinds.module_classes:
        yield from (value for value, _ in function.returns)


def _may_be_module(owner: Class | None, kinds: Kinds) -> bool:
    """Whether a class is one of modules, or has a base elsewhere that may be one."""
    if owner is None or owner in kinds.module_classes:
        return owner is not None
    bases = [one for each in owner.lineage() for one in each.bases]
    return any(names(one) and names(one)[0].rpartition(".")[2] not in PLAIN_BASES for one in bases)


def _takes_over(call: Node) -> bool:
    """Whether what a call gets becomes a part of its result, or of its receiver."""
    callee = call.args[0]
    found = name(callee)
    if found is not None:
        row = effect(canonical(found))
        return row in {Effect.MODULE, Effect.BARE} or (row is None and found.rpartition(".")[2][:1].isupper())
    if callee.op is Op.ATTR:
        return callee.extra in {"append", "add_module", "register_module", "extend", "insert", "__init__"}
    return callee.op is Op.CLASS


def _own(value: Node, calls: dict[Node, Function], found: set[Node]) -> None:
    pending = [value]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        if one.op in {Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.PHI, Op.ITER}:
            pending += one.args
        elif one.op is Op.CALL and calls.get(one) is None:
            pending += one.args[1:]
