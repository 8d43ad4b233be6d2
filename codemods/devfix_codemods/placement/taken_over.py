"""Containers of modules that are made of what is elsewhere already."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import calls_builtin, keyword
from devfix_codemods.placement.roots import Roots
from devfix_codemods.placement.stateless_modules import is_stateless


def needs_no_move(node: Node, qualified: str, roots: Roots) -> bool:
    """`nn.Sequential(nn.Softmax(1), net.to(device))`: parts that hold no tensors, or are not made here on the host."""
    parts = list(_parts(node))
    return (
        (qualified in rows.CONTAINERS or qualified == "torchmetrics.MetricCollection")
        and bool(parts)
        and all(_is_elsewhere(one, roots) for one in parts)
    )


def _parts(node: Node) -> Iterator[Node]:
    for one in node.args[1:]:
        yield from one.args if one.op in _DISPLAYS else (one,)


def _is_elsewhere(part: Node, roots: Roots, depth: int = 0) -> bool:
    """Whether a part is moved, is made on a device, is a caller's, is taken out of such a module, or holds nothing."""
    if depth > DEEPEST:
        return False
    if part.op is Op.AFTER:
        return _is_moved(part.args[1]) or _is_elsewhere(part.args[0], roots, depth + 1)
    if part.op is Op.PHI:
        return all(_is_elsewhere(one, roots, depth + 1) for one in part.args)
    if part.op in {Op.ATTR, Op.ITEM} and part.args[0] is not part.function.self_node:
        return _is_elsewhere(part.args[0], roots, depth + 1)
    if part.op is not Op.CALL:
        return part.op is Op.PARAM
    if is_stateless(part) or _is_moved(part) or any(keyword(part, one) is not None for one in _WORDS):
        return True
    wrapped = roots.same_module(part)
    if wrapped is None and calls_builtin(part, "list", "tuple"):
        wrapped = part.args[1]
    if wrapped is None and part.args[0].op is Op.ATTR and part.args[0].extra in _GIVING_PARTS:
        wrapped = part.args[0].args[0]
    return wrapped is not None and _is_elsewhere(wrapped, roots, depth + 1)


def _is_moved(call: Node) -> bool:
    callee = call.args[0] if call.op is Op.CALL else None
    return (
        callee is not None and callee.op is Op.ATTR and method_effect(str(callee.extra)) in {Effect.MOVE, Effect.CUDA}
    )


DEEPEST = 6
_WORDS = ("device", "map_location")
_DISPLAYS = frozenset({Op.SEQUENCE, Op.MAPPING})
_GIVING_PARTS = frozenset({"children", "modules", "eval", "train", "requires_grad_"})
