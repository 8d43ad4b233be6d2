"""Losses that are added in place to a tensor: wherever the code that computed them has put them."""

import ast
import re
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import Place, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


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
