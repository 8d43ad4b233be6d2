"""Tensors that code gives which is not read, and losses that are added to others: wherever that put them."""

import ast
import re
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect, libraries, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import before_methods, name, names
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.imported_calls import is_of_host
from devfix_codemods.placement.places import HOST, Place, Where, place_of

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 40
"""How many values are looked at to see what a result is made of."""


def results_of_opaque_calls(births: "Births") -> None:
    """Add what is used as a tensor, and comes out of an object or a call that is not read, to the graph."""
    for function in births.module.functions:
        if function in births.host_functions or births.defaults.is_test:
            continue
        for node in function.nodes:
            if node.op not in _GIVING or births.graph.sources.get(node) or node in births.told_elsewhere:
                continue
            if node.op is Op.CALL and node not in births.calls and is_of_host(births, node):
                births.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("documented",)))
            elif not _is_unread(node, births):
                continue
            elif _is_made_of_picture(node, births):
                births.graph.add(Source(node, HOST, Birth.ARRAY, ("made-of-picture",)))
            elif not _is_of_host(node, births):
                births.graph.add(Source(node, _ANYWHERE, Birth.PARAMETER, (births.expecting.link(node, "unread"),)))


def _is_unread(node: Node, births: "Births") -> bool:
    kinds = births.kinds
    if node in births.callees or kinds.of(node) is not Kind.TENSOR:
        return False
    base = node.args[0]
    if node.op is Op.CALL:
        return node not in births.calls and not _is_known(node) and kinds.of(base) is not Kind.MODULE
    owner = kinds.class_of(base)
    if node.op is Op.ATTR and (name(node) is not None or (owner is not None and owner.sets(str(node.extra)))):
        return False
    if node.op is Op.ITEM and _gives_parts(base, births):
        return False
    unpacked = node.op is Op.ITEM and base.op is Op.PARAM and kinds.of(base) is Kind.SEQUENCE
    return unpacked or kinds.of(base) is None


def _gives_parts(call: Node, births: "Births") -> bool:
    """Whether a function that is read gives several values at once, be it on some path alone: these are the parts."""
    called = births.calls.get(call)
    return called is not None and any(value.op is Op.SEQUENCE for value, _ in called.returns)


def _is_made_of_picture(node: Node, births: "Births") -> bool:
    """`preprocess(Image.open(path))`: what makes a tensor of a picture, and is told no device."""
    if node.op is not Op.CALL or births.is_moving_call(node):
        return False
    return any(map(_is_picture, node.args[1:])) and all(births.kinds.of(one) in _PLAIN for one in node.args[1:])


def _is_picture(node: Node) -> bool:
    """`Image.open(path).convert("RGB")`"""
    node = before_methods(node)
    return node.op is Op.CALL and not libraries.PICTURES.isdisjoint(names(node.args[0]))


def _is_known(call: Node) -> bool:
    """Whether the catalogue says what a call does, or a class makes its result."""
    callee = call.args[0]
    if found := names(callee):
        return effect(canonical(found[0])) is not None or found[0].rpartition(".")[2][:1].isupper()
    return callee.op is Op.CLASS or (callee.op is Op.ATTR and method_effect(str(callee.extra)) is not None)


def _is_of_host(node: Node, births: "Births") -> bool:
    """Whether any of what a value is made of was born on the host, or is wanted there."""
    pending, seen = list(node.args), set[Node]()
    while pending and len(seen) < MOST_STEPS:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.op is Op.CONST and place_of(one, births.kinds) == HOST:
            return True
        if any(source.place.where is Where.HOST for source in births.graph.sources.get(one, ())):
            return True
        pending += one.args
    return False


_PLAIN = frozenset({None, Kind.ARRAY, Kind.NUMBER, Kind.TEXT, Kind.OTHER})
_GIVING = frozenset({Op.CALL, Op.ATTR, Op.ITEM})
_ANYWHERE = Place(Where.CALLER)


def loss_sums(births: "Births") -> None:
    """Add the losses that are added to a tensor, and of which nothing else is known, to the graph."""
    for function in births.module.functions:
        if function in births.host_functions or births.defaults.is_test:
            continue
        for node in function.nodes:
            if _adds_loss(node) and births.kinds.of(node.args[0]) is Kind.TENSOR:
                added = node.args[1]
                if births.kinds.of(added) in {Kind.TENSOR, None} and not births.graph.sources.get(added):
                    births.graph.add(Source(added, Place(Where.CALLER), Birth.PARAMETER, ("summed-loss",)))


def _adds_loss(node: Node) -> bool:
    """`total += loss`"""
    syntax = node.syntax
    if node.op is not Op.OPERATION or not isinstance(syntax, ast.AugAssign) or not isinstance(syntax.op, ast.Add):
        return False
    read = [one for one in ast.walk(syntax.value) if isinstance(one, ast.Name | ast.Attribute)]
    words = [one.id if isinstance(one, ast.Name) else one.attr for one in read]
    return any(map(_LOSS.search, words)) and not isinstance(syntax.value, ast.Subscript)


_LOSS = re.compile(r"(?i)loss|cross_entropy$")
