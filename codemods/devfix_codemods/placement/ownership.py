"""Ownership: modules that move with another one, parts of containers and attributes of modules."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.items import is_slice
from devfix_codemods.ir.keys import key, name, names
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.calls import moved_by
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.module_bases import PLAIN_BASES
from devfix_codemods.placement.same_class import moved_objects


def owned(module: Module, kinds: Kinds, calls: dict[Node, Function]) -> set[Node]:
    """The values that modules of one file own."""
    found: set[Node] = set()
    called = _called(module, kinds)
    for function in module.functions:
        for value in _taken_over(function, kinds, called):
            _own(value, kinds, calls, found)
    return found


def handed_over(module: Module, kinds: Kinds) -> set[Node]:
    """The values that are given to objects of classes that are not read, which are no modules themselves: a trainer may
    move what it gets, unless the program moves for others of its class what these get."""
    called = _called(module, kinds)
    objects = [node for node in module.of(Op.CALL) if _is_object(node, kinds, called)]
    moved = moved_objects(kinds)
    ready = {key(node.args[0]) for node in objects if any(kinds.find(one) in moved for one in node.args[1:])}
    return {one for node in objects if key(node.args[0]) not in ready for one in node.args[1:]}


def _called(module: Module, kinds: Kinds) -> set[Node]:
    """What stands for all that is called in a file."""
    return {kinds.find(node.args[0]) for node in module.of(Op.CALL)}


def _is_object(call: Node, kinds: Kinds, called: set[Node]) -> bool:
    """Whether a call makes an object of an unread class that nothing here uses as a module."""
    found = name(call.args[0])
    if found is None or effect(canonical(found)) is not None or not found.rpartition(".")[2][:1].isupper():
        return False
    return not kinds.says(call, Kind.MODULE) and kinds.find(call) not in called


def _taken_over(function: Function, kinds: Kinds, called: set[Node]) -> Iterator[Node]:
    """What a function gives to modules."""
    for store in function.stores:
        owner = kinds.class_of(store.base)
        of_module = _is_of_module(store.base, kinds) or _is_moved(store.base)
        if of_module or (store.is_attribute and _may_be_module(owner, kinds)):
            yield store.value
    for node in function.nodes:
        if node.op is not Op.CALL:
            continue
        if calls_builtin(node, "setattr") and len(node.args) == 4:
            if _is_of_module(node.args[1], kinds) or _may_be_module(kinds.class_of(node.args[1]), kinds):
                yield node.args[3]
        elif _takes_over(node) and not _is_object(node, kinds, called) and not _is_read(node, kinds):
            yield from (one for one in node.args[1:] if kinds.is_module(one) or not _takes_numbers(node))
    if function.owner in kinds.module_classes:
        yield from (value for value, _ in function.returns)


def _is_of_module(base: Node, kinds: Kinds) -> bool:
    """Whether something is a module, or kept by one: `model.classifier` of `model.classifier[4] = nn.Conv2d(…)`."""
    while not kinds.is_module(base):
        if base.op not in {Op.ATTR, Op.ITEM} or names(base):
            return False
        base = base.args[0]
    return True


def _takes_numbers(call: Node) -> bool:
    """`nn.Linear(net.size, 10)`: of what layers of torch are made that hold no others."""
    found = [canonical(one) for one in names(call.args[0])]
    return any(one.startswith("torch.nn.") and effect(one) is Effect.MODULE for one in found) and not any(
        one in rows.CONTAINERS or "Transformer" in one for one in found
    )


def _is_moved(node: Node) -> bool:
    """Whether something was just moved, of whatever kind: no tensor, if it has an attribute for a module."""
    while node.op is Op.AFTER or (node.op is Op.CALL and node.args[0].op is Op.ATTR):
        if moved_by(node) is not None:
            return True
        node = node.args[1] if node.op is Op.AFTER else node.args[0].args[0]
    return False


def _may_be_module(owner: Class | None, kinds: Kinds) -> bool:
    """Whether a class is one of modules, or has a base elsewhere that may be one."""
    if owner is None or owner in kinds.module_classes:
        return owner is not None
    bases = [one for each in owner.lineage() for one in each.bases]
    unread = any(names(one) and names(one)[0].rpartition(".")[2] not in PLAIN_BASES for one in bases)
    return unread and not any(_trains(one, kinds) for one in owner.lineage())


def _trains(owner: Class, kinds: Kinds) -> bool:
    """`self.optimizer = torch.optim.Adam(self.net.parameters())`: whether objects of a class keep optimizers of their
    parts, as trainers and agents do; a module is trained by others, or as a whole."""
    return any(
        store.is_attribute
        and store.base is method.self_node
        and kinds.of(store.value) is Kind.OPTIMIZER
        and _is_of_parts(store.value, method)
        for method in owner.methods.values()
        for store in method.stores
    )


def _is_of_parts(optimizer: Node, method: Function, depth: int = 0) -> bool:
    """Whether an optimizer gets the parameters of an attribute of the object whose method makes it."""
    for one in optimizer.args[1:] if optimizer.op is Op.CALL else optimizer.args:
        asked = one.args[0] if one.op is Op.CALL else one
        if asked.op is Op.ATTR and asked.extra in _PARAMETERS:
            return asked.args[0] is not method.self_node
        if depth < MOST_WRAPPED and _is_of_parts(one, method, depth + 1):
            return True
    return False


def _is_read(call: Node, kinds: Kinds) -> bool:
    """Whether a call makes an object of a class that is read, and no module: what it does with its parts is known."""
    made = kinds.imported.class_of(call.args[0])
    return made is not None and not _may_be_module(made, kinds)


def _takes_over(call: Node) -> bool:
    """Whether what a call gets becomes a part of its result, or of its receiver."""
    callee = call.args[0]
    found = name(callee)
    if found is not None:
        row = effect(canonical(found))
        return row in {Effect.MODULE, Effect.BARE} or (row is None and found.rpartition(".")[2][:1].isupper())
    if callee.op is Op.ATTR:
        return callee.extra in _TAKING_OVER
    return callee.op is Op.CLASS


def _own(value: Node, kinds: Kinds, calls: dict[Node, Function], found: set[Node]) -> None:
    pending = [value]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        if one.op in {Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.PHI, Op.ITER, Op.OPERATION}:
            pending += one.args
        elif one.op is Op.CALL and calls.get(one) is None:
            pending += one.args[1:]
            callee = one.args[0]
            if callee.op is Op.ATTR and name(callee) is None and (kinds.is_module(one) or callee.extra in _PARTS):
                pending.append(callee.args[0])
        elif one.op in {Op.ITEM, Op.ATTR} and (kinds.is_module(one) or is_slice(one)):
            pending.append(one.args[0])


MOST_WRAPPED = 4
"""How deep the parameters may stand in what an optimizer gets: `Adam(chain(a.parameters(), b.parameters()))`."""
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_PARTS = frozenset({"children", "named_children", "modules", "named_modules"})
"""Methods of modules that give the modules that they consist of."""
_TAKING_OVER = frozenset({"append", "add_module", "register_module", "extend", "insert", "__init__", "__setattr__"})
"""Methods whose object keeps what they get."""
