"""Views: tensors that share the memory, and so the place, of others."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, canonical, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name, names

_VARIABLE = "torch.autograd.Variable"
"""What a tensor of torch before 0.4 was put into: it gives the tensor back."""


def chain(node: Node) -> Iterator[Node]:
    """A tensor, and those that it is a view, a slice or a conversion of."""
    while True:
        yield node
        if (node.op is Op.ITEM and len(node.args) == 2) or node.op is Op.AFTER:
            node = node.args[0]
        elif node.op is Op.CALL and node.args[0].op is Op.ATTR and not names(node.args[0]):
            if method_effect(str(node.args[0].extra)) is not Effect.SAME:
                return
            node = node.args[0].args[0]
        elif node.op is Op.ATTR and node.extra in rows.TENSOR_ATTRIBUTES:
            node = node.args[0]
        elif node.op is Op.CALL and len(node.args) > 1 and canonical(name(node.args[0]) or "") == _VARIABLE:
            node = node.args[1]
        else:
            return


def wholes(node: Node) -> Iterator[Node]:
    """A value, what it is a part of, and what that is made of one by one."""
    parts: tuple[Node, ...] = (node,)
    while parts:
        last = parts[0]
        for last in chain(parts[0]):
            yield last
        parts = last.args[:1] if last.op in {Op.ITEM, Op.COMPREHENSION} else ()


def origin(node: Node) -> Node:
    """What is read in the end: `out` of `torch.max(out, 1)[1].cpu().data`."""
    while True:
        if node.op in {Op.ATTR, Op.ITEM}:
            node = node.args[0]
        elif node.op is Op.CALL and node.args[0].op is Op.ATTR and name(node.args[0]) is None:
            if method_effect(str(node.args[0].extra)) is None:
                return node
            node = node.args[0].args[0]
        elif node.op is Op.CALL and (name(node.args[0]) or "").startswith("torch.") and len(node.args) > 1:
            node = node.args[1]
        else:
            return node
