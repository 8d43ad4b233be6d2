"""Whether what is moved by a statement of its own is a tensor: modules are moved in place."""

from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.catalogue import Kind
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.discards.discarded import Discard
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.naming import sounds_like_model


def is_tensor(index: Index, discard: Discard) -> bool:
    """Whether a value is a tensor, as far as the file tells; entries of what a model is given most likely are."""
    receiver, kinds = discard.receiver, index.analysis.kinds
    if is_no_tensor(receiver, discard.call.guard) or _is_annotated_otherwise(index, receiver):
        return False
    if discard.is_conversion or discard.owner is not None or _is_asked(discard):
        return True
    kind = kinds.of(receiver)
    return kind is Kind.TENSOR or (kind is None and (_is_input(index, discard) or _is_by_name(index, receiver)))


def is_surely(index: Index, discard: Discard) -> bool:
    """Whether more than a name says so, and not only the functions that a parameter is handed on to."""
    receiver, kinds = discard.receiver, index.analysis.kinds
    if discard.is_conversion:
        return False
    if _is_asked(discard) or discard.owner is not None:
        return True
    made = next(iter(index.analysis.constraints.births.roots(receiver)), receiver)
    handed_on = made.op is Op.PARAM and getattr(made.syntax, "annotation", None) is None and made not in kinds.given
    known = kinds.says_surely(receiver, Kind.TENSOR) and kinds.of(receiver) is Kind.TENSOR
    return known and (not handed_on or any(_says_tensor(index, made, one) for one in discard.call.function.nodes))


def _says_tensor(index: Index, value: Node, user: Node) -> bool:
    """Whether a function does with a value what is done with tensors alone."""
    kinds = index.analysis.kinds
    given = user.args[1:] if user.op is Op.CALL and (name(user.args[0]) or "").startswith("torch.") else ()
    taken = user.args if user.op is Op.OPERATION or (user.op is Op.ATTR and user.extra in _OF_TENSORS) else given
    return any(kinds.find(one) is kinds.find(value) and one.op is not Op.CONST for one in taken)


def _is_by_name(index: Index, receiver: Node) -> bool:
    """Whether a parameter is a tensor under its name in another function, and nothing else in any."""
    kinds, word = index.analysis.kinds, str(receiver.extra)
    if receiver.op is not Op.PARAM or receiver is receiver.function.self_node:
        return False
    named = [one.parameters[word] for one in index.analysis.module.functions if word in one.parameters]
    if any(kinds.says(one, other) for one in named for other in Kind if other is not Kind.TENSOR):
        return False
    return any(
        kinds.of(one) is Kind.TENSOR or any(_says_tensor(index, one, user) for user in one.function.nodes)
        for one in named
        if one is not receiver
    )


def _is_asked(discard: Discard) -> bool:
    """Whether a test has found that it is one: `if torch.is_tensor(x):`"""
    return any(
        holds and isinstance(atom, tuple) and atom[:2] == ("isinstance", key(discard.receiver)) and "Tensor" in atom[2]
        for atom, holds in discard.call.guard
    )


def _is_annotated_otherwise(index: Index, receiver: Node) -> bool:
    """Whether a parameter is told to be an object of a class that the catalogue does not know."""
    made = next(iter(index.analysis.constraints.births.roots(receiver)), receiver)
    annotation = getattr(made.syntax, "annotation", None) if made.op is Op.PARAM else None
    return annotation is not None and not index.analysis.kinds.says_surely(made, Kind.TENSOR)


def _is_input(index: Index, discard: Discard) -> bool:
    """Whether a loop moves the entries of a mapping one by one, and a model is given the mapping or an entry after."""
    entry, whole = discard.receiver, discard.container
    if whole is None or not _is_any_entry(entry) or sounds_like_model(_word(whole).removesuffix("s")):
        return False
    entries = [one for one in index.users[whole] if one.op in {Op.ITEM, Op.ITER}]
    if any(index.analysis.kinds.is_module(one) for one in entries):
        return False
    return any(
        user.op is Op.CALL and user.index > discard.call.index and one in user.args[1:] and _is_model(index, user)
        for one in (whole, *entries)
        for user in index.users[one]
    )


def _is_any_entry(entry: Node) -> bool:
    """`x` in `for k, x in d.items()`, `d[k]` in `for k in d`."""
    if entry.op is Op.ITER:
        return True
    index = entry.args[1] if len(entry.args) == 2 else entry
    keys = index.args[0] if index.op is Op.ITER else index
    return entry.args[0] in {keys, keys.args[0].args[0] if method(keys) == "keys" else keys}


def _is_model(index: Index, call: Node) -> bool:
    """`self(…)`, `model(…)`, `model.generate(…)`"""
    callee = call.args[0]
    called = [callee, *(callee.args if callee.op is Op.ATTR else ())]
    return any(index.analysis.kinds.is_module(one) or sounds_like_model(_word(one)) for one in called)


def _word(node: Node) -> str:
    return str(node.extra)


_OF_TENSORS = rows.TENSOR_ONLY | rows.OF_ARRAYS
"""Methods of what, if it is moved, is a tensor."""
