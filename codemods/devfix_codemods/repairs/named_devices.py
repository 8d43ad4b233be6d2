"""Devices that the file names elsewhere: `self.net.device`, `package.device`, by which others are placed."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point, means_same
from devfix_codemods.repairs.suffix import Suffix


def named(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The one device that calls in this file are given as an attribute, where that means the same at the point.

    Where the conflict ends on a device that is known, that one is spelled, or none.
    """
    if conflict.end.place.where is Where.DEVICE and conflict.end.place.node is not None:
        return
    texts = {
        analysis.text(node.syntax)
        for node in analysis.module.nodes()
        if isinstance(node.syntax, ast.Attribute)
        and _is_device(analysis, node)
        and means_same(analysis, node.syntax, node, point)
    }
    if len(texts) == 1:
        text = texts.pop()
        yield Suffix(f".to({text})", text)


def _is_device(analysis: Analysis, node: Node) -> bool:
    """Whether an attribute is called a device, is none of a tensor, and is given to a call."""
    if node.op not in {Op.ATTR, Op.REF} or not str(node.extra).endswith("device") or name(node) == "torch.device":
        return False
    place = place_of(node, analysis.kinds)
    if place is None or place.where is not Where.DEVICE:
        return False
    return any(one.op is Op.CALL and node in one.args[1:] for one in node.function.nodes)
