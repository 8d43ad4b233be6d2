"""Which calls give 0-dim tensors, which arithmetic takes from the host."""

from devfix_codemods.catalogue import Effect, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name


def is_scalar(call: Node) -> bool:
    """`x.sum()`, `torch.mean(x)`, `torch.rand(1).squeeze()`."""
    callee = call.args[0]
    qualified = name(callee)
    if qualified is not None:
        return len(call.args) == 2 and qualified.startswith("torch.") and qualified[len("torch.") :] in rows.REDUCTIONS
    if callee.op is not Op.ATTR or len(call.args) > 1:
        return False
    return callee.extra in rows.REDUCTIONS or (callee.extra == "squeeze" and _has_one_element(callee.args[0]))


def _has_one_element(node: Node) -> bool:
    """Whether a tensor is computed of one with the literal size 1, and of numbers."""
    if node.op is Op.OPERATION:
        return any(map(_has_one_element, node.args)) and all(
            _has_one_element(one) or one.op is not Op.CALL for one in node.args
        )
    if node.op is not Op.CALL:
        return False
    qualified = name(node.args[0])
    if qualified is not None:
        sizes = [one.extra for one in node.args[1:] if one.op is Op.CONST]
        return effect(canonical(qualified)) is Effect.FACTORY and len(node.args) == 2 and sizes == [1]
    callee = node.args[0]
    return callee.op is Op.ATTR and method_effect(str(callee.extra)) is Effect.SAME and _has_one_element(callee.args[0])
