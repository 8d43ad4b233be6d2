"""Evidence of what sort of thing values are, from all that the file does with them."""

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, computes, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.elements import VALUE
from devfix_codemods.ir.guards import asks_type
from devfix_codemods.ir.items import is_slice
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.arguments import is_encoding, is_none
from devfix_codemods.placement.calls import bound, returned_at
from devfix_codemods.placement.calls import method as method_of
from devfix_codemods.placement.evidence import UNKNOWN, gives_tensor, gives_weights
from devfix_codemods.placement.indices import compared, indices, slices_columns
from devfix_codemods.placement.looked_up import makes_object
from devfix_codemods.placement.naming import sounds_like_pipeline

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def given_weights(kinds: "Kinds") -> None:
    """The elements of a parameter that all callers give the weights of a module: `EMA(model.parameters())`."""
    for node in (*kinds.module.of(Op.ITER), *kinds.module.of(Op.ITEM)):
        each = node.args[0] if node.op is Op.ITER else node.args[0].args[0] if node.args[0].op is Op.ITER else None
        given = kinds.given.get(each, ()) if each is not None else ()
        if given and all(gives_weights(kinds, one, node.extra) for one in given):
            kinds.say(node, Kind.TENSOR)


def sliced(kinds: "Kinds") -> None:
    """`batch["x"]` of `batch["x"][:, 0]`, where that is used as a tensor."""
    for node in reversed(list(kinds.module.of(Op.ITEM))):
        base = node.args[0]
        if kinds.of(node) is Kind.TENSOR and base.op is Op.ITEM and any(map(slices_columns, node.args[1:])):
            kinds.say(base, Kind.TENSOR, 1)


def made_of_one(kinds: "Kinds") -> None:
    """`torch.log(p + 1e-6)`, `torch.sum(x.view(-1))`: what is used as a tensor, and made of one other value."""
    for node in reversed(list(kinds.module.nodes())):
        if node.op in _COMPUTED and kinds.of(node) is Kind.TENSOR:
            rest = _sources_of(node)
            if len(rest) == 1 and kinds.of(rest[0]) is None:
                kinds.say(rest[0], Kind.TENSOR, 1)


def _sources_of(node: Node) -> list[Node]:
    """What arithmetic computes with beside numbers, what is compared, and what a method or an index of several
    dimensions shows in another shape."""
    if node.op in {Op.OPERATION, Op.COMPARE}:
        return [one for one in node.args if one.op is not Op.CONST]
    if node.op is Op.ITEM:
        is_shown = any(map(slices_columns, node.args[1:])) and not asks_type(node.guard, node.args[0])
        return [node.args[0]] if is_shown else []
    callee = node.args[0]
    shown = callee.op is Op.ATTR and callee.extra in rows.SHAPING and not names(callee)
    return [callee.args[0]] if shown else []


def parts_of_displays(kinds: "Kinds") -> None:
    """Any part of `{"train": DataLoader(…), "test": DataLoader(…)}` is one of these loaders, of `[Net(), Net()]` a
    module, of `[x.numpy(), y.numpy()]` an array, and of `[p.clone() for p in weights]` a tensor."""
    displays = {
        kinds.find(display): display.args
        for op, sorts in _SORTS.items()
        for display in kinds.module.of(op)
        if display.args and len(found := {kinds.of(one) for one in display.args}) == 1 and found <= sorts
    }
    parts = (*kinds.module.of(Op.ITEM), *kinds.module.of(Op.ITER)) if displays else ()
    for part in parts:
        whole = resolved(part.args[0])
        is_key = part.op is Op.ITER and part.extra != VALUE and kinds.of(whole) is Kind.MAPPING
        for one in displays.get(kinds.find(whole), ()) if not is_key else ():
            if kinds.of(one) is Kind.LOADER:
                kinds.unify(part, one)
            elif not is_slice(part):
                kinds.say(part, kinds.of(one) or Kind.MODULE, 1)


_OF_ONE_SORT = frozenset({Kind.LOADER, Kind.MODULE, Kind.ARRAY})
_SORTS = {
    Op.SEQUENCE: _OF_ONE_SORT,
    Op.MAPPING: _OF_ONE_SORT,
    Op.COMPREHENSION: _OF_ONE_SORT | {Kind.TENSOR},
}


def given_and_got(kinds: "Kinds") -> None:
    """What modules and functions get, and what is taken out of what they give."""
    of_torch = {kinds.find(one) for one in kinds.module.of(Op.CALL) if gives_tensor(one)}
    for node in kinds.module.nodes():
        if node.op is Op.CALL:
            _call_of_module(kinds, node, of_torch)
        elif node.op is Op.ITEM and isinstance(node.syntax, ast.Name):
            _named_as(kinds, node, node.syntax.id)
    for node in kinds.module.of(Op.ITEM):
        _unpacked(kinds, node)


def parts_of_one(kinds: "Kinds") -> None:
    """What two loops take from the same place in the elements of one value, a loader or under one name: `for x, y in
    rows`, twice."""
    found: dict[tuple[Node, object, object], Node] = {}
    for node in kinds.module.of(Op.ITEM):
        base = node.args[0]
        if base.op is Op.ITER and len(node.args) == 1:
            named = node.syntax.id if isinstance(node.syntax, ast.Name) else None
            alike = None if isinstance(node.extra, str) or kinds.of(base.args[0]) is Kind.LOADER else named
            kinds.unify(found.setdefault((kinds.find(base.args[0]), node.extra, alike), node), node)


def _named_as(kinds: "Kinds", node: Node, word: str) -> None:
    """What is unpacked under a name that annotations of parameters elsewhere in the file speak of."""
    said = {kinds.of(one) for one in kinds.named.get(word, ())}
    found = said.pop() if len(said) == 1 else None
    if found is not None and kinds.of(node) is None:
        kinds.say(node, found, 1)


def _unpacked(kinds: "Kinds", part: Node) -> None:
    """What a function of this file returns at a position is what is unpacked there."""
    called = kinds.calls.get(part.args[0])
    for value, _ in (returned_at(part, called) or ()) if called is not None else ():
        if not is_none(value):
            kinds.unify(part, value)


def _call_of_module(kinds: "Kinds", call: Node, of_torch: set[Node]) -> None:
    """A module gives what it gets to its `forward`."""
    owner = kinds.class_of(call.args[0])
    forward = method_of(owner, "forward") if owner in kinds.module_classes and owner is not None else None
    if forward is not None:
        for argument, parameter in bound(call, forward):
            if not is_none(argument):
                kinds.unify(parameter, argument)
        if any(kinds.of(value) is Kind.TENSOR for value, _ in forward.returns):
            kinds.say(call, Kind.TENSOR)
    elif kinds.find(call.args[0]) in of_torch:
        kinds.say(call, Kind.TENSOR)


def given_to_modules(kinds: "Kinds") -> None:
    """What modules of torch get first is a tensor, and what a loss compares with it."""
    made = {
        kinds.find(node)
        for node in kinds.module.of(Op.CALL)
        if (qualified := name(node.args[0])) is not None and computes(qualified)
    }
    for node in kinds.module.of(Op.CALL) if made else ():
        given = [one for one, word in zip(node.args[1:], node.extras) if word is None]
        called = kinds.find(node.args[0]) in made
        both = kinds.is_loss(node.args[0])
        for one in given[:2] if both else given[:1] if called and node.extras[:1] == (None,) else ():
            kinds.say(one, Kind.TENSOR, 1)


def computed_by_modules(kinds: "Kinds") -> None:
    """`net(x).max(1)[1]`, and `(x * y).sum(1)` in `forward`: tensors, as modules compute no arrays, of which many
    methods have the same names."""
    for node in kinds.module.of(Op.CALL):
        callee = node.args[0]
        base = callee.args[0] if callee.op is Op.ATTR and method_effect(str(callee.extra)) is Effect.SAME else None
        if base is not None and _is_computed_by_module(kinds, base):
            parts = (one for one in kinds.module.users.get(node, ()) if one.op is Op.ITEM and one.args[0] is node)
            for one in (base, node, *parts):
                kinds.say(one, Kind.TENSOR, 1)


def _is_computed_by_module(kinds: "Kinds", value: Node) -> bool:
    """Whether a module gives a value, or computes it with an operator in its `forward`."""
    if value.op is Op.OPERATION:
        return value.function.name == "forward" and value.function.owner in kinds.module_classes
    return value.op is Op.CALL and kinds.is_module(value.args[0])


def moved_callables(kinds: "Kinds") -> None:
    """What is called, and moved, is a module."""
    calls = kinds.module.of(Op.CALL)
    called = {kinds.find(node.args[0]) for node in calls}
    for node in calls:
        callee = node.args[0]
        if callee.op is not Op.ATTR or callee.extra not in _MOVING or kinds.find(callee.args[0]) not in called:
            continue
        if not sounds_like_pipeline(callee.args[0]):
            kinds.say(callee.args[0], Kind.MODULE, 1)


def asked_for_both(kinds: "Kinds") -> None:
    """What is asked for its shape and for its device is a tensor: arrays have no place, and modules no shape.

    An object of a class of the file may have both for purposes of its own.
    """
    asked: dict[Node, set[object]] = {}
    for node in kinds.module.of(Op.ATTR):
        asked.setdefault(kinds.find(node.args[0]), set()).add(node.extra)
    for node, words in asked.items():
        own = kinds.object_class(node) is not None
        if "device" in words and not words.isdisjoint(_SHAPE) and kinds.of(node) is None and not own:
            kinds.say(node, Kind.TENSOR, 1)


def made_of_pictures(kinds: "Kinds") -> None:
    """What a transform gives that turns pictures into tensors: `Compose([Resize(8), ToTensor()])(picture)`."""
    made = kinds.module.of(Op.CALL)
    kinds.converters += (one for one in made if (name(one.args[0]) or "").startswith(_TRANSFORMS) and _converts(one))
    for node in made if kinds.converters else ():
        if kinds.is_among(node.args[0], kinds.converters):
            kinds.say(node, Kind.TENSOR)


def _converts(transform: Node) -> bool:
    pending = [transform]
    for one in pending:  # grows
        if one.op is Op.CALL and name(one.args[0]) in libraries.TO_TENSORS:
            return True
        pending += one.args if one.op in {Op.CALL, Op.SEQUENCE} else ()
    return False


def moved_operands(kinds: "Kinds") -> None:
    """What is moved, and computed with as arrays are, or indexes a tensor, or is compared with one, is one."""
    calls = (node.args[0] for node in kinds.module.nodes() if node.op is Op.CALL and not names(node.args[0]))
    methods = [one for one in calls if one.op is Op.ATTR]
    moved = {kinds.find(one.args[0]) for one in methods if one.extra in _MOVING}
    shaped = [one.args[0] for one in methods if one.extra in rows.OF_ARRAYS]
    for node in kinds.module.nodes() if moved else ():
        if node.op is Op.OPERATION and node.extra in _ARITHMETIC:
            shaped += [node, *node.args]
        elif node.op is Op.ITEM and kinds.of(node.args[0]) is Kind.TENSOR:
            shaped += indices(node)
        elif node.op is Op.COMPARE and any(kinds.of(one) is Kind.TENSOR for one in node.args):
            shaped += node.args
    for one in shaped:
        if kinds.find(one) in moved:
            kinds.say(one, Kind.TENSOR, 1)


def masked(kinds: "Kinds") -> None:
    """`labels[scores > 0.5]`: what a mask picks from is a tensor, as the mask is; lists take no masks."""
    for node in kinds.module.of(Op.ITEM):
        base = node.args[0]
        if base.op in _TAKEN and kinds.of(base) is None and any(_is_mask(kinds, one) for one in indices(node)):
            kinds.say(base, Kind.TENSOR, 1)
            kinds.say(node, Kind.TENSOR, 1)


def _is_mask(kinds: "Kinds", index: Node) -> bool:
    """Whether an index is a comparison of tensors, or computed of such."""
    if index.op is Op.OPERATION and index.extra in _LOGICAL:
        return any(_is_mask(kinds, one) for one in index.args)
    mask = compared(index)
    return mask is not None and kinds.of(mask) is Kind.TENSOR


def called_models(kinds: "Kinds") -> None:
    """What is made by a class, and computes what reaches `backward`, or is called as an attribute of a module, is a
    module."""
    called = {
        kinds.find(node.args[0])
        for node in kinds.module.of(Op.CALL)
        if node in kinds.differentiable or _is_of_module(kinds, node.args[0])
    }
    for made in kinds.module.of(Op.CALL):
        if kinds.find(made) in called and kinds.of(made) is None:
            last = made.args[0].extra if made.args[0].op in {Op.REF, Op.ATTR, Op.GLOBAL} else ""
            if str(last).rpartition(".")[2][:1].isupper() or makes_object(made):
                kinds.say(made, Kind.MODULE, 1)


def _is_of_module(kinds: "Kinds", node: Node) -> bool:
    """`self.encoder`, in a class of modules."""
    owner = node.function.owner
    return owner in kinds.module_classes and node.op is Op.ATTR and node.args[0] is node.function.self_node


def trained_models(kinds: "Kinds") -> None:
    """What is told to train, and is trained by what it computes, has parameters; what computes of a batch what a loss
    gets may have some."""
    called = [one for one in kinds.module.of(Op.CALL) if one in kinds.differentiable]
    given = {kinds.find(each) for one in called if kinds.is_loss(one.args[0]) for each in one.args[1:]}
    by_models = {kinds.find(one) for one in called if kinds.of(one.args[0]) is Kind.MODULE}
    told = {kinds.find(one.args[0]) for one in kinds.module.of(Op.ATTR) if one.extra == "train"}
    for call in called:
        callee = call.args[0]
        if kinds.of(callee) is not Kind.MODULE:
            continue
        if kinds.find(callee) in told:
            kinds.stateful.append(callee)
        elif kinds.find(call) in given and not any(kinds.find(one) in by_models for one in call.args[1:]):
            kinds.models.append(callee)


def called_parts(kinds: "Kinds") -> None:
    """What a container of modules holds, and is called, is a module."""
    for part in [node.args[0] for node in kinds.module.of(Op.CALL)]:
        if part.op in {Op.ITER, Op.ITEM} and kinds.is_module(part.args[0]) and kinds.of(part) is None:
            kinds.say(part, Kind.MODULE, 1)


_COMPUTED = frozenset({Op.OPERATION, Op.COMPARE, Op.CALL, Op.ITEM})
_MOVING = frozenset({"to", "cuda", "cpu"})
_TAKEN = UNKNOWN | {Op.ATTR}
"""What may be a part of a batch, and of any kind."""
_LOGICAL = frozenset({"BitAnd", "BitOr", "BitXor", "Invert"})
_TRANSFORMS = "torchvision.transforms."
_SHAPE = frozenset({"shape", "size", "ndim", "dim"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mult", "Div", "MatMult"})


def called_with_encodings(kinds: "Kinds") -> None:
    """Nothing else takes the parts of an encoding by their names."""
    for call in list(kinds.module.nodes()):
        if call.op is not Op.CALL or not isinstance(call.extra, tuple) or call in kinds.calls or names(call.args[0]):
            continue
        given = (one for one, word in zip(call.args[1:], call.extra) if word == "**")
        if any(is_encoding(_before_move(one)) for one in given):
            callee = call.args[0]
            computes = callee.op is Op.ATTR and callee.extra in libraries.COMPUTING
            kinds.say(callee.args[0] if computes else callee, Kind.MODULE, 1)


def _before_move(node: Node) -> Node:
    """`tokens` of `tokens.to(device)`"""
    while node.op is Op.AFTER or (node.op is Op.CALL and node.args[0].op is Op.ATTR):
        if node.op is Op.CALL and method_effect(str(node.args[0].extra)) is not Effect.MOVE:
            return node
        node = node.args[0] if node.op is Op.AFTER else node.args[0].args[0]
    return node


def say_filled(kinds: "Kinds", function: Function) -> None:
    """Say of the parts of what a function fills with tensors alone that they are tensors."""
    filled: dict[Node, list[Store]] = defaultdict(list)
    for store in function.stores:
        if not store.is_attribute and store.base.op in _EMPTY and not store.base.args:
            filled[store.base].append(store)
    of_tensors = {
        base
        for base, stores in filled.items()
        if all(one.key is None and kinds.of(one.value) is Kind.TENSOR for one in stores)
    }
    for node in function.nodes if of_tensors else ():
        if node.op in _PARTS and node.args[0] in of_tensors and not is_slice(node):
            kinds.say(node, Kind.TENSOR, 1)


_EMPTY = frozenset({Op.MAPPING, Op.SEQUENCE})
_PARTS = frozenset({Op.ITEM, Op.ITER})
