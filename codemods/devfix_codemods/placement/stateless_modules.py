"""Modules that hold no tensors, and live nowhere, wherever they are moved: those of torch, and what others hold."""

import ast
from collections.abc import Iterator, Sequence

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.ir.nodes import walk
from devfix_codemods.placement.arguments import is_none


def is_stateless(call: Node) -> bool:
    """`nn.Flatten()`, `nn.CrossEntropyLoss(reduction="sum")`, `nn.Sequential(nn.ReLU(), nn.Dropout(0.1))`"""
    if call.op is not Op.CALL:
        return False
    qualified = canonical(name(call.args[0]) or "")
    if qualified in rows.CONTAINERS:
        parts = _parts(call)
        return bool(parts) and all(map(is_stateless, parts))
    return effect(qualified) is Effect.BARE and not (qualified in rows.WEIGHTED_LOSSES and _has_weights(call))


def unread_parts(container: Node) -> list[Node]:
    """The parts of a container that classes make which are not read."""
    parts = ((one, names(one.args[0])) for one in _parts(container) if one.op is Op.CALL)
    return [one for one, made in parts if made and all(effect(canonical(each)) is None for each in made)]


def _parts(container: Node) -> list[Node]:
    """What a container holds: the parts of displays that stand in its call. Those with a name may have been filled."""
    inside = set(walk(container.syntax)) if isinstance(container.syntax, ast.AST) else set[ast.AST]()
    displayed = (one.args if one.op in _ROWS and one.syntax in inside else (one,) for one in container.args[1:])
    return [part for row in displayed for part in row]


def _has_weights(loss: Node) -> bool:
    """Whether a loss is given weights, as far as that can be told."""
    words = loss.extra if isinstance(loss.extra, tuple) else ("**",)
    given = zip(loss.args[1:], words)
    return any((word in rows.WEIGHTS or word in {None, "**"}) and not is_none(one) for one, word in given)


_ROWS = frozenset({Op.SEQUENCE, Op.MAPPING})


def keeping_methods(lineage: Sequence[Class]) -> Iterator[Function]:
    """The methods of a class that keep something of what they make, or are called by others of it."""
    methods = [one for each in lineage for one in each.methods.values()]
    called = {
        node.extra for one in methods for node in one.nodes if node.op is Op.ATTR and node.args[0] is one.self_node
    }
    return (one for one in methods if one.name == "__init__" or one.name in called or one.stored_names())
