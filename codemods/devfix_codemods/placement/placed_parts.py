"""Containers of modules whose parts were placed before they got them."""

from collections.abc import Iterator, Mapping, Sequence

from devfix_codemods.catalogue import Effect, canonical, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import has_device, keyword
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import HOST, place_of
from devfix_codemods.placement.stateless_modules import is_stateless

Users = Mapping[Node, Sequence[Node]]
"""The values that each value is used by."""


def needs_no_move(kinds: Kinds, users: Users, made: Node) -> bool:
    """`nn.Sequential(nn.Softmax(1), net.to(device), nn.Linear(2, 2, device=device))`: parts that hold no tensors, are
    placed, or come from a caller, and nothing else."""
    if not _is_container(made):
        return False
    parts = list(_parts(users, made))
    return bool(parts) and all(is_stateless(one) or _is_placed(kinds, one) for one in parts)


def _is_container(node: Node) -> bool:
    found = canonical(name(node.args[0]) or "") if node.op is Op.CALL else ""
    return found in rows.CONTAINERS or found == "torchmetrics.MetricCollection"


def _parts(users: Users, container: Node) -> Iterator[Node]:
    """What a container, or one in it, is given: out of a display, a comprehension, or a list that is filled before."""
    seen, pending = {container}, [container]
    for one in pending:  # grows
        if _is_container(one):
            inner = one.args[1:]
        elif one.op in _ROWS:
            inner = (*(one.args[:1] if one.op is Op.COMPREHENSION else one.args), *_put(users, one))
        else:
            yield one
            continue
        pending += (each for each in dict.fromkeys(inner) if each not in seen)
        seen.update(inner)


def _put(users: Users, row: Node) -> Iterator[Node]:
    """What `parts.append(…)` puts into a list."""
    for method in users.get(row, ()):
        if method.op is Op.ATTR and method.extra in {"append", "extend", "insert"}:
            for call in users.get(method, ()):
                yield from call.args[-1:]


def _is_placed(kinds: Kinds, part: Node) -> bool:
    if part.op is not Op.CALL:
        return part.op is Op.PARAM
    callee, device = part.args[0], keyword(part, "device")
    moved = callee.op is Op.ATTR and method_effect(str(callee.extra)) in {Effect.MOVE, Effect.CUDA}
    return moved or (has_device(part) and (device is None or place_of(device, kinds) != HOST))


_ROWS = frozenset({Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.PHI})
