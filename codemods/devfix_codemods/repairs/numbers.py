"""Tensors of whole numbers, which no cast of a module converts."""

from devfix_codemods.catalogue import canonical
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import keyword


def is_whole(value: Node, seen: set[Node] | None = None) -> bool:
    """Whether a value is a whole number, or a tensor of such, for certain.

    Those `seen` are taken to be so: what a loop computes of itself is whole if all that it begins with is.
    """
    seen = set() if seen is None else seen
    if value in seen:
        return True
    seen.add(value)
    match value.op:
        case Op.CONST:
            return isinstance(value.extra, int)
        case Op.SEQUENCE:
            return bool(value.args) and all(is_whole(one, seen) for one in value.args)
        case Op.COMPARE:
            return True
        case Op.ITEM:
            return is_whole(value.args[0], seen)
        case Op.PHI:
            return all(is_whole(one, seen) for one in value.args)
        case Op.OPERATION:
            return value.extra not in {"Div", "Pow"} and all(is_whole(one, seen) for one in value.args)
        case Op.CALL:
            return _is_whole_call(value, seen)
    return False


def _is_whole_call(call: Node, seen: set[Node]) -> bool:
    dtype = keyword(call, "dtype")
    if dtype is not None:
        return any(one.rpartition(".")[2] in _WHOLE for one in names(dtype)[:1])
    callee = call.args[0]
    for one in names(callee)[:1]:
        made = canonical(one).rpartition(".")[2]
        if made == "arange":
            return not any(map(_may_be_fraction, call.args[1:]))
        if made in {"tensor", "as_tensor"}:
            return is_whole(call.args[1], seen) if len(call.args) > 1 else False
        return made in _OF_WHOLE
    if callee.op is not Op.ATTR:
        return False
    return callee.extra in _WHOLE_METHODS or (callee.extra in _SHAPING and is_whole(callee.args[0], seen))


def _may_be_fraction(bound: Node) -> bool:
    if bound.op is Op.OPERATION:
        return bound.extra in {"Div", "Pow"} or any(map(_may_be_fraction, bound.args))
    return bound.op is Op.CONST and isinstance(bound.extra, float)


_WHOLE = frozenset({"long", "int", "int8", "int16", "int32", "int64", "uint8", "bool", "short"})
_OF_WHOLE = frozenset({"randperm", "randint", "LongTensor", "IntTensor", "BoolTensor", "ByteTensor", "len"})
_OF_WHOLE |= {"tril_indices", "triu_indices"}
_WHOLE_METHODS = frozenset({"long", "bool", "int", "byte", "eq", "ne", "argsort"})
_SHAPING = frozenset({"view", "reshape", "unsqueeze", "squeeze", "flatten", "repeat", "expand", "contiguous", "clone"})
_SHAPING |= {"transpose", "permute", "t"}
