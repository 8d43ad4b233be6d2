"""Matrix products of whole numbers, which CUDA does not compute: the factors are on the host, and so is the product."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import argument, is_none, keyword
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

DEEPEST = 8


def whole_products(module: Module) -> dict[Node, tuple[Node, ...]]:
    """The matrix products of which all factors are surely whole numbers, and these factors."""
    products = ((one, _factors(one)) for one in module.nodes() if one.op in _MULTIPLYING)
    return {one: factors for one, factors in products if factors and all(map(is_whole, factors))}


def kept_on_host(births: "Births") -> None:
    """Products are made on the host, and their factors wanted there."""
    for product, factors in births.whole_products.items():
        births.graph.add(Source(product, HOST, Birth.ARRAY, ("certain",)))
        for one in factors:
            births.graph.add(Source(one, HOST, Birth.CHOSEN_HOST, ("certain",)))


def is_whole(node: Node, depth: int = 0) -> bool:
    """Whether a value is a tensor of whole numbers, or a whole number."""
    if depth > DEEPEST:
        return False
    match node.op:
        case Op.CONST:
            return isinstance(node.extra, int)
        case Op.CALL:
            return _is_whole_call(node, depth + 1)
        case Op.ITEM:
            return is_whole(node.args[0], depth + 1)
        case Op.ATTR if node.extra in {"T", "mT"}:
            return is_whole(node.args[0], depth + 1)
        case Op.PHI:
            return all(is_whole(one, depth + 1) for one in node.args)
        case Op.OPERATION if node.extra in {"Add", "Sub", "Mult", "MatMult"}:
            return all(is_whole(one, depth + 1) for one in node.args)
    return False


def _is_whole_call(call: Node, depth: int) -> bool:
    qualified = canonical(name(call.args[0]) or "")
    given = keyword(call, "dtype")
    if given is not None:
        return name(given) in _WHOLE
    if qualified == "torch.arange":
        return len(call.args) > 1 and all(is_whole(one, depth) for one in call.args[1:])
    if qualified == "torch.bincount":
        weights = argument(call, 1, "weights")
        return (weights is None or is_none(weights)) and {"*", "**"}.isdisjoint(call.extras)
    if qualified in _GIVING_WHOLE:
        return True
    if qualified:
        like = effect(qualified) is Effect.LIKE or qualified in _PRODUCTS
        return like and len(call.args) > 1 and all(is_whole(one, depth) for one in _factors(call) or call.args[1:2])
    if call.args[0].op is not Op.ATTR:
        return False
    base, method = call.args[0].args[0], call.args[0].extra
    if method in {"long", "int", "short"}:
        return True
    if method in {"to", "type"}:
        return len(call.args) == 2 and name(call.args[1]) in _WHOLE
    return method in _SHOWING and is_whole(base, depth)


def _factors(node: Node) -> tuple[Node, ...]:
    """What a matrix product multiplies; nothing of another value."""
    if node.op is Op.OPERATION:
        return node.args if node.extra == "MatMult" else ()
    if keyword(node, "out") is not None:
        return ()
    callee = node.args[0]
    qualified = name(callee)
    if qualified is not None:
        return node.args[1:3] if canonical(qualified) in _PRODUCTS else ()
    if callee.op is Op.ATTR and f"torch.{callee.extra}" in _PRODUCTS:
        return (callee.args[0], *node.args[1:2])
    return ()


_MULTIPLYING = frozenset({Op.CALL, Op.OPERATION})
_PRODUCTS = frozenset(f"torch.{one}" for one in ("matmul", "mm", "bmm", "mv"))
_WHOLE = frozenset(f"torch.{one}" for one in ("int", "int8", "int16", "int32", "int64", "long", "short", "uint8"))
_GIVING_WHOLE = frozenset(f"torch.{one}" for one in ("randint", "randperm", "IntTensor", "LongTensor"))
_SHOWING = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "t", "transpose", "permute", "contiguous", "expand", "repeat", "clone"}
)
"""Methods that leave the numbers of a tensor as they are."""
