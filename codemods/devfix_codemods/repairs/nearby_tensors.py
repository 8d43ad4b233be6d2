"""The device of a tensor at hand: one that lives where the conflict ends, and has a name here."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.guards import covers
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import key, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.annotations import names_other_object
from devfix_codemods.placement.arguments import calls_builtin, is_none, may_be_none
from devfix_codemods.placement.graph import MADE, Turn
from devfix_codemods.placement.naming import sounds_like_class, sounds_like_count, sounds_like_factor
from devfix_codemods.placement.non_tensors import (
    is_distribution,
    is_function,
    is_joined,
    is_of_no_tensor,
    is_used_as_object,
    may_be_number,
)
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.tensors_by_use import is_treated_as_tensor
from devfix_codemods.repairs.nearby_modules import of_module
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.repairs.unnamed_values import attributes_at, device_side, items_at, parts_of_objects_at


def of_tensors(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`x.device` of a tensor here that must be where the value has to go."""
    bound_names = point.names
    for node in _beside(analysis, conflict, point):
        bound = bound_names.get(node)
        if bound is None or bound == "_" or not node.guard <= point.guard or _is_born_on_host(analysis, node):
            continue  # a name that is bound on some paths alone may mean nothing here
        if point.is_none(node) or _is_none_on_some_path(node, point):
            continue
        if node.op is Op.ITEM and may_be_none(node, point.guard | point.node.guard):
            continue
        if sounds_like_factor(bound) and may_be_factor(analysis, node):
            continue
        if _is_tensor(analysis, node) and _is_given(node, point) and not may_be_number(node, point.guard):
            tensor = analysis.kinds.of(node) is Kind.TENSOR and not _may_be_given_number(analysis, node)
            known = tensor or _has_its_device_read(node)
            yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=known)
    for chosen, called in bound_names.items():
        if _is_moved_on_condition(chosen, conflict.end.node) and not analysis.kinds.is_module(chosen):
            yield Suffix(f".to({called}.device)", f"{called}.device", follows=True)
    at_hand = (at(analysis, conflict, point) for at in (items_at, attributes_at, parts_of_objects_at))
    for text in chain.from_iterable(at_hand):
        yield Suffix(f".to({text}.device)", f"{text}.device", follows=True)
    yield from of_module(analysis, conflict, point)


def may_be_factor(analysis: Analysis, node: Node) -> bool:
    """Whether nothing is known of a value but arithmetic with it: numbers take that as well."""
    return (
        node.op in {Op.PARAM, Op.OPERATION}
        and node is not node.function.self_node
        and is_treated_as_tensor(analysis.kinds, node)
        and analysis.kinds.of(node) is None
        and not is_treated_as_tensor(analysis.kinds, node, arithmetic=False)
    )


def asks_factor(analysis: Analysis, conflict: Conflict, texts: Iterable[str]) -> bool:
    """Whether one of several texts asks such a value for its device: `bound.device`."""
    point = before(conflict.birth.node)
    asked = {one for text in texts for one in _ASKED.findall(text)}
    named = (point.binds(one) for one in asked) if point is not None else ()
    return any(one is not None and may_be_factor(analysis, one) for one in named)


def _may_be_given_number(analysis: Analysis, node: Node) -> bool:
    """`if share is not None: scale = share * x.std()`: on the other path, a parameter with which the function does
    nothing that a number would not take as well."""
    given = [one for one in choices(node) if one.op is Op.PARAM] if node.op is Op.PHI else []
    return any(
        getattr(one.syntax, "annotation", None) is None
        and not is_treated_as_tensor(analysis.kinds, one, arithmetic=False)
        for one in given
    )


def _is_none_on_some_path(node: Node, point: Point) -> bool:
    """`mask = None`, and `mask = row` in a loop, as far as nothing here asks which it is."""
    is_asked = (("none", key(node)), False) in point.guard
    return node.op is Op.PHI and not is_asked and any(map(is_none, choices(node)))


def _is_moved_on_condition(node: Node, move: Node) -> bool:
    """`x` behind `if use_cuda: x = x.cuda()`: it is where what it meets has to be, on either path."""
    if node.op is not Op.PHI or move.op is not Op.CALL or move.args[0].op is not Op.ATTR:
        return False
    return set(node.args) == {move, move.args[0].args[0]}


def _is_born_on_host(analysis: Analysis, node: Node) -> bool:
    """Whether a value that the path goes through is misplaced as well, or is there on purpose, `x.cpu()`: it tells no
    device. What it is on one path alone may be elsewhere on another."""
    births = analysis.births
    ways = [births.roots(one) or {one} for one in choices(node)]
    return bool(ways) and all(
        any(one.place.where is Where.HOST for root in roots for one in analysis.graph.sources.get(root, ()))
        for roots in ways
    )


def _is_tensor(analysis: Analysis, node: Node) -> bool:
    kind = analysis.kinds.of(node)
    if node is node.function.self_node or (node.op is Op.PARAM and analysis.kinds.says_surely(node, Kind.NUMBER)):
        return False  # `float | torch.Tensor`, and the object of a method
    if node in analysis.kinds.rows or str(node.extra).startswith("*") or _is_other_object(node):
        return False
    if kind is None and (_is_container(node) or is_used_as_object(node) or is_function(node) or _is_object(node)):
        return False
    if kind is None and (sounds_like_count(node) or analysis.kinds.is_among(node, analysis.kinds.itemized)):
        return False
    if is_joined(node) or (kind is None and is_distribution(node)):
        return False
    if kind is None and node.op is Op.PARAM and not is_treated_as_tensor(analysis.kinds, node):
        return False
    given = _given(analysis, node)
    if any(calls_builtin(one, "list", "tuple") or (one.op is Op.PARAM and analysis.is_plain(one)) for one in given):
        return False
    return kind is Kind.TENSOR or (kind is None and node.op in {Op.PARAM, Op.CALL, Op.OPERATION})


def _is_other_object(node: Node) -> bool:
    """Whether a parameter is annotated as an object of some class that is no tensor's."""
    annotation = getattr(node.syntax, "annotation", None) if node.op is Op.PARAM else None
    return isinstance(annotation, ast.expr) and names_other_object(annotation)


def _is_object(node: Node) -> bool:
    """`Sampler(edges)`: what a class makes that is not known has a `device` only if the class says so."""
    return node.op is Op.CALL and sounds_like_class(node.args[0])


def _given(analysis: Analysis, node: Node) -> list[Node]:
    """What a parameter gets, also through the parameters of other functions."""
    found = [node]
    for one in found:  # grows
        found += (each for each in analysis.kinds.given.get(one, ()) if each not in found)
    return found


def _beside(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Node]:
    """The values that live where the conflict ends, also by the names that they have on either side of a call."""
    given = analysis.kinds.given
    side = device_side(conflict)
    for one in side:
        yield one
        yield from given.get(one, ())
    for one in point.node.function.parameters.values():
        if given.get(one) and all(each in side for each in given[one]):
            yield one
    for one in _operands(conflict) if conflict.birth.birth in MADE else ():
        if one not in side and one not in analysis.graph.scalars:
            yield one
            yield from (edge.other for edge in analysis.graph.edges[one] if edge.turn is Turn.SAME)


def _operands(conflict: Conflict) -> Iterator[Node]:
    """What else the operations get that the path goes through."""
    for one in conflict.path:
        if one.edge.turn is Turn.MEET:
            yield from one.node.args
            yield from one.before.node.args if one.before is not None else ()


def _is_container(node: Node) -> bool:
    """Whether nothing is done with a value but to read parts of it under constant keys, and what tensors have not."""
    users = [one for one in node.function.nodes if node in one.args]
    parts = [one for one in users if one.op is Op.ITEM and one.args[0] is node and _has_constant_key(one)]
    return bool(parts) and all(one in parts or (one.op is Op.ATTR and is_of_no_tensor(str(one.extra))) for one in users)


def _has_constant_key(item: Node) -> bool:
    """`batch["x"]`, and `state[library.X]`"""
    return item.extra is not None or any(map(names, item.args[1:]))


def _has_its_device_read(node: Node) -> bool:
    """Whether the program itself asks a value for its device."""
    return any(one.op is Op.ATTR and one.extra == "device" and one.args[0] is node for one in node.function.nodes)


def _is_given(node: Node, point: Point) -> bool:
    """Whether a parameter is a tensor at the point: where each use is under a condition, it may be None."""
    if node.op is not Op.PARAM or (str(node.extra) not in node.function.defaults and _is_annotated(node)):
        return True
    looped = [one for one in node.function.nodes if one.op is Op.PHI and node in one.args and _is_of_loop(one)]
    same = {node, *looped}  # `for block in blocks: x = block(x)`
    uses = [one.guard for one in node.function.nodes if not same.isdisjoint(one.args) and not _asks_for_none(one)]
    uses += [one.guard for one in node.function.stores if one.base is node]
    return covers([one - point.guard for one in uses])


def _is_of_loop(node: Node) -> bool:
    return isinstance(node.syntax, ast.For | ast.AsyncFor | ast.While)


def _is_annotated(parameter: Node) -> bool:
    """`x: torch.Tensor`, as against what may be None, or another thing, as well."""
    annotation = getattr(parameter.syntax, "annotation", None)
    return annotation is not None and ast.unparse(annotation).strip("'\"") in {"Tensor", "torch.Tensor"}


def _asks_for_none(user: Node) -> bool:
    return user.op is Op.PHI or (user.op is Op.COMPARE and any(one.extra is None for one in user.args[1:]))


_ASKED = re.compile(r"(?<![\w.])(\w+)\.device\b")
