"""What functions of other files give, part by part: made there on the host, moved there, or what they were given."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import MOVES, TO_DEVICE, Effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import part_of, whole
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import has_device, keyword
from devfix_codemods.placement.calls import bound, effect_of, function_of, returned_at
from devfix_codemods.placement.defaults import changes_default
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.imported_calls import place_of_move
from devfix_codemods.placement.indices import slices
from devfix_codemods.placement.places import HOST, Place, Where, sounds_like_device

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

DEEPEST = 8
"""Through so many values it is asked whether something is a list."""
_VIEWS = frozenset({"T", "mT", "data"})
_HELD = frozenset({Op.ITEM, Op.ITER, Op.ATTR, Op.AFTER})
"""What a part, an attribute or an element is of."""


@dataclass(frozen=True, slots=True)
class _Root:
    """What a value is computed of alone: a parameter, a move, or without a node what was made on the host."""

    node: Node | None


_MADE = _Root(None)


def results_elsewhere(births: "Births") -> None:
    """Add what functions of other files give, and the parts of it that are unpacked, to the graph."""
    if births.defaults.is_test:
        return
    for call in births.module.of(Op.CALL):
        called = births.imported.definition(call.args[0]) if call not in births.calls else None
        if isinstance(called, Function) and called.module is not births.module and not called.yields:
            _add(births, call, called)


def _add(births: "Births", call: Node, called: Function) -> None:
    whole = _common(_root(value) for value, _ in called.returns)
    parts = dict(_parts(births, call, called))
    told = {value: root for value, root in (parts or {call: whole}).items() if root is not None}
    if not told and whole is None:
        return
    places = _places(births, call, called, told)
    if len(told) == len(parts or {call: whole}) and places is not None:
        births.read_elsewhere.add(call)  # then it does to what it gets what it does to its parts, and no more
    given = {parameter: argument for argument, parameter in bound(call, called)}
    for value, root in {**told, **({call: whole} if whole is not None else {})}.items():
        if root.node is None and _leaves_place(births, call, called):
            births.graph.add(Source(value, HOST, Birth.ARRAY, ("made-elsewhere",)))
        elif call in births.read_elsewhere and places is not None and root.node in places:
            births.graph.add(Source(value, places[root.node], Birth.MOVE, ("moved-by-call",)))
        elif call in births.read_elsewhere and root.node in given:
            births.graph.same(given[root.node], value, "call", call.guard)
        else:
            continue
        births.told_elsewhere |= {value, call}


def _parts(births: "Births", call: Node, called: Function) -> Iterator[tuple[Node, _Root | None]]:
    for part in births.module.users.get(call, ()):
        if (values := returned_at(part, called)) is not None:
            yield part, _common(_root(value) for value, _ in values)


def _places(births: "Births", call: Node, called: Function, told: Mapping[Node, _Root]) -> dict[Node, Place] | None:
    """Where all moves of a function take its parts; None where that is not known, or where it moves all of them."""
    moves = [root.node for root in told.values() if root.node is not None and root.node.op is not Op.PARAM]
    places = {move: place_of_move(births.kinds, call, called, move) for move in moves}
    known = {move: place for move, place in places.items() if place is not None and place.where is Where.DEVICE}
    return known if len(known) == len(places) and len(moves) < len(told) else None


def _leaves_place(births: "Births", call: Node, called: Function) -> bool:
    """Whether a function can only make things where its file does, and that on the host."""
    words = (one for one in (*called.parameters, *call.extras) if isinstance(one, str))
    is_told = births.is_told_place(call) or has_device(call) or any(map(sounds_like_device, words))
    return not is_told and not changes_default(called.module)


def _common(roots: Iterable[_Root | None]) -> _Root | None:
    """The one root of all; None where there are several, or one is not known."""
    found = set(roots)
    return found.pop() if len(found) == 1 else None


def _root(node: Node, known: dict[Node, _Root | None] | None = None) -> _Root | None:
    """What a tensor with dimensions is made of; None where that is more than one thing, or not known.

    `known` are the values that were asked before: what a loop computes of itself is not known.
    """
    known = {} if known is None else known
    if node not in known:
        known[node] = None
        known[node] = _found(node, known)
    return known[node]


def _found(node: Node, known: dict[Node, _Root | None]) -> _Root | None:
    match node.op:
        case Op.PARAM:
            return None if str(node.extra).startswith("*") or _may_change(node) else _Root(node)
        case Op.PHI:
            return _common(_root(one, known) for one in node.args if one is not node)
        case Op.ITEM:
            return _root_of_item(node, known)
        case Op.OPERATION:
            return _common(_root(one, known) for one in node.args if one.op is not Op.CONST)
        case Op.ATTR if node.extra in _VIEWS:
            return _root(node.args[0], known)
        case Op.CALL:
            return _root_of_call(node, known)
    return None


def _may_change(parameter: Node) -> bool:
    """Whether a function may move what a parameter holds in place: `batch["x"] = batch["x"].cuda()`, `send(batch)`."""
    function = parameter.function
    if any(whole(one.base, _HELD) is parameter for one in function.stores):
        return True
    for call in function.nodes:
        if call.op is Op.CALL and any(whole(one, _HELD) is parameter for one in call.args):
            is_statement = isinstance(call.statement, ast.Expr) and call.statement.value is call.syntax
            if is_statement or (not names(call.args[0]) and method_effect(str(call.args[0].extra)) in MOVES):
                return True
    return False


def _root_of_item(node: Node, known: dict[Node, _Root | None]) -> _Root | None:
    base = node.args[0]
    if (part := part_of(base, node.extra)) is not None:
        return _root(part, known)
    return _root(base, known) if any(map(slices, node.args[1:])) else None


def _root_of_call(call: Node, known: dict[Node, _Root | None]) -> _Root | None:
    callee = call.args[0]
    local = function_of(callee)
    if local is not None:
        return _root_of_local(call, local, known)
    found = names(callee)
    row = effect_of(callee)
    if row in TO_DEVICE and not found:
        return _Root(call)
    if has_device(call) or _is_placed_by_context(call):
        return None
    operand = (call.args[1] if len(call.args) > 1 else None) if found else callee.args[0] if callee.args else None
    called = found[0].rpartition(".")[2] if found else callee.extra
    match row:
        case Effect.FACTORY if keyword(call, "generator") is None:
            return _MADE
        case Effect.HOST:
            return _MADE
        case Effect.CONVERSION if operand is not None and _is_plain_row(operand):
            return _MADE
        case Effect.SEQUENCE if operand is not None and operand.op in {Op.SEQUENCE, Op.COMPREHENSION}:
            return _common(_root(_joined(one), known) for one in operand.args)
        case Effect.SAME if operand is not None and called not in rows.REDUCTIONS:
            return _root(operand, known)
    return None


def _root_of_local(call: Node, called: Function, known: dict[Node, _Root | None]) -> _Root | None:
    """What another function of the same file gives, made of its own or of what it gets."""
    root = _common(_root(value, known) for value, _ in called.returns) if not called.yields else None
    if root is None or root.node is None:
        return root if not any(map(sounds_like_device, called.parameters)) else None
    given = {parameter: argument for argument, parameter in bound(call, called)}
    return _root(given[root.node], known) if root.node in given else None


def _joined(node: Node) -> Node:
    """`x` for an element `x[0]` that is joined with others: it may be a number, but it is where `x` is."""
    return node.args[0] if node.op is Op.ITEM and node.args[0].op is not Op.SEQUENCE else node


def _is_plain_row(node: Node, depth: int = 0) -> bool:
    """Whether a value is a display, an array, or what a function gives for a list: no tensor, and not one number."""
    if depth > DEEPEST:
        return False
    match node.op:
        case Op.SEQUENCE | Op.COMPREHENSION:
            return not any(_root(one) is _MADE for one in node.args)
        case Op.AFTER:  # a list that is filled
            return _is_plain_row(node.args[0], depth + 1)
        case Op.PHI:
            return all(_is_plain_row(one, depth + 1) for one in node.args if one is not node)
        case Op.CALL:
            called = names(node.args[0])[:1]
            local = function_of(node.args[0])
            returned = [value for value, _ in local.returns] if local is not None else []
            is_of_numpy = any(one.startswith("numpy.") and one not in libraries.REDUCTIONS for one in called)
            return is_of_numpy or (bool(returned) and all(_is_plain_row(one, depth + 1) for one in returned))
    return False


def _is_placed_by_context(call: Node) -> bool:
    """`with torch.device("cuda"): …`"""
    around = call.function.module.managed.get(call, ())
    return any(one.op is not Op.CALL or sounds_like_device(name(one.args[0]) or "") for one in around)
