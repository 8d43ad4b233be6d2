"""Values that are tensors by what the program does with them: no other sort of value takes that."""

import ast

from devfix_codemods.catalogue import Effect, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.calls import parameters
from devfix_codemods.placement.kinds import Kinds

MOST_VALUES = 20
_ARITHMETIC = frozenset({Op.OPERATION, Op.COMPARE})


def is_treated_as_tensor(kinds: Kinds, value: Node, *, arithmetic: bool = True) -> bool:
    """Whether something is done with a value, under whatever name and by whatever function of the file it is given to,
    that options, lists and mappings do not take; without `arithmetic`, nothing that numbers take either."""
    found = [value]
    for one in found:  # grows
        if _is_input(kinds, one):
            return True
        for user in kinds.module.users.get(one, ()):
            if _takes_tensor(kinds, user, one) and (arithmetic or user.op not in _ARITHMETIC):
                return True
            if len(found) < MOST_VALUES:
                found += (each for each in _names(kinds, user, one) if each not in found)
    return False


def is_no_array(kinds: Kinds, value: Node) -> bool:
    """Whether something is done with a value, under whatever name and by whatever function of the file it is given to,
    that no array of numpy takes."""
    found = [value]
    for one in found:  # grows
        for user in kinds.module.users.get(one, ()):
            asked = user.op is Op.ATTR and user.args[0] is one and user.extra in _OF_TENSORS_ALONE
            if asked or (user.op is Op.CALL and one in user.args[1:] and _computes(kinds, user)):
                return True
            if len(found) < MOST_VALUES:
                found += (each for each in _names(kinds, user, one) if each not in found)
    return False


def _is_input(kinds: Kinds, value: Node) -> bool:
    """Whether a value is what the `forward` of a module gets."""
    function = value.function
    return value.op is Op.PARAM and function.name == "forward" and function.owner in kinds.module_classes


def _names(kinds: Kinds, user: Node, value: Node) -> list[Node]:
    """What else a value is called by a user: where paths join, and in a function of the file that gets it."""
    called = kinds.calls.get(user)
    return parameters(value, user, called) if called is not None else [user] if user.op is Op.PHI else []


def _takes_tensor(kinds: Kinds, user: Node, value: Node) -> bool:
    match user.op:
        case Op.OPERATION:
            return True
        case Op.COMPARE:
            return not {"Is", "IsNot", "In", "NotIn", "Eq", "NotEq"}.intersection(user.extras)
        case Op.ATTR:
            return user.args[0] is value and _is_of_tensors(str(user.extra))
        case Op.ITEM:
            return user.args[0] is value and _is_of_rows(user)
        case Op.CALL:
            return value in user.args[1:] and _computes(kinds, user)
    return False


def _is_of_tensors(attribute: str) -> bool:
    """Whether an attribute is one of tensors, and none of the containers of Python."""
    if any(hasattr(one, attribute) for one in (list, dict, str)):
        return False
    known = attribute in _ASKED or attribute in rows.TENSOR_ATTRIBUTES | rows.TENSOR_ONLY
    return known or method_effect(attribute) is not None


def _is_of_rows(item: Node) -> bool:
    """`x[:, 0]`, `x[..., 1]`, `x[None]`: an index that lists and mappings do not take."""
    index = item.syntax.slice if isinstance(item.syntax, ast.Subscript) else None
    parts = index.elts if isinstance(index, ast.Tuple) else [index] if index is not None else []
    constants = [one.value for one in parts if isinstance(one, ast.Constant)]
    return (len(parts) > 1 and any(isinstance(one, ast.Slice) for one in parts)) or any(
        one is None or one is Ellipsis for one in constants
    )


def _computes(kinds: Kinds, call: Node) -> bool:
    """Whether a call computes with the tensors that it gets: a function of torch, or a module."""
    callee = call.args[0]
    if any(effect(canonical(one)) in _COMPUTING for one in names(callee)):
        return True
    return call in kinds.differentiable or kinds.is_module(callee) or kinds.is_loss(callee)


_ASKED = frozenset({"shape", "ndim", "dtype", "layout", "requires_grad", "is_cuda", "is_leaf", "device", "size"})
_OF_TENSORS_ALONE = rows.TENSOR_ONLY | {
    "device",
    "cpu",
    "cuda",
    "to",
    "requires_grad",
    "is_cuda",
    "grad",
    "size",
    "numpy",
}
_COMPUTING = frozenset({Effect.LIKE, Effect.MEET, Effect.ARITHMETIC, Effect.SAME, Effect.DRAW, Effect.SYNC})
