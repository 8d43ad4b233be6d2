"""Containers of modules whose parts were placed before they got them."""

from collections.abc import Iterator, Mapping, Sequence

from devfix_codemods.catalogue import canonical
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import calls_builtin, has_device, keyword
from devfix_codemods.placement.calls import moved_by
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import HOST, place_of
from devfix_codemods.placement.roots import Roots
from devfix_codemods.placement.stateless_modules import is_stateless

Users = Mapping[Node, Sequence[Node]]
"""The values that each value is used by."""


def needs_no_move(kinds: Kinds, users: Users, roots: Roots, made: Node) -> bool:
    """`nn.Sequential(nn.Softmax(1), net.to(device), nn.Linear(2, 2, device=device))`: parts that hold no tensors, are
    placed, or come from a caller, and nothing else; what is filled later, with parts that are moved, is moved so.
    An empty `nn.Sequential()` that nothing is done with passes on what it gets."""
    if not _is_container(made):
        return False
    filled = any(one.op is Op.CALL and moved_by(one) is not None for one in _put(users, made))
    parts = list(_parts(users, made))
    placed = all(_is_placed(kinds, roots, one) for one in parts) if parts else _stays_empty(users, made)
    return filled or placed


def _stays_empty(users: Users, made: Node) -> bool:
    is_chain = len(made.args) == 1 and name(made.args[0]) == "torch.nn.Sequential"
    return is_chain and all(one.op is not Op.ATTR for one in users.get(made, ()))


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


def _is_placed(kinds: Kinds, roots: Roots, part: Node, depth: int = 0) -> bool:
    """Whether a part is moved, is made on a device, is a caller's, is taken out of such a module, or holds nothing."""
    if depth > DEEPEST:
        return False
    if part.op is Op.AFTER:
        return moved_by(part.args[1]) is not None or _is_placed(kinds, roots, part.args[0], depth + 1)
    if part.op is Op.PHI:
        return all(_is_placed(kinds, roots, one, depth + 1) for one in part.args)
    if part.op in _TAKEN and part.args[0] is not part.function.self_node:
        return _is_placed(kinds, roots, part.args[0], depth + 1)
    if part.op is not Op.CALL:
        return part.op is Op.PARAM
    if is_stateless(part) or moved_by(part) is not None or _is_told_device(kinds, part):
        return True
    whole = _whole(roots, part)
    return whole is not None and _is_placed(kinds, roots, whole, depth + 1)


def _is_told_device(kinds: Kinds, call: Node) -> bool:
    given = keyword(call, "device") or keyword(call, "map_location")
    told = has_device(call) or given is not None
    return told and (given is None or place_of(given, kinds) != HOST)


def _whole(roots: Roots, call: Node) -> Node | None:
    """The module that a call gives again, or gives the parts of: `net.eval()`, `list(net.children())`."""
    if calls_builtin(call, "list", "tuple"):
        return call.args[1]
    if call.args[0].op is Op.ATTR and call.args[0].extra in _GIVING_PARTS:
        return call.args[0].args[0]
    return roots.same_module(call)


DEEPEST = 6
_ROWS = frozenset({Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.PHI})
_TAKEN = frozenset({Op.ATTR, Op.ITEM, Op.ITER})
_GIVING_PARTS = frozenset({"children", "modules", "eval", "train", "requires_grad_"})
