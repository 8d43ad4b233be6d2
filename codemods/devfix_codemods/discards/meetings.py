"""What a tensor would meet if its move were kept: what is made on the host would be left behind."""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.index import Index
from devfix_codemods.discards.discarded import Discard
from devfix_codemods.ir import Node
from devfix_codemods.ir.items import reads_of
from devfix_codemods.placement.graph import MADE, Turn
from devfix_codemods.repairs.cut import operands


def meets_made(index: Index, discard: Discard) -> bool:
    """Whether a tensor, or what the object keeps under its name, meets one that is made on the host, and not moved."""
    graph = index.analysis.graph
    for value in _as_read(discard):
        for edge in graph.edges.get(value, ()):
            if edge.turn is Turn.MEET and not edge.link.startswith("family"):
                beside = (one for one in operands(edge.other) if one is not value)
                if any(_is_made_on_host(index, one) for one in beside):
                    return True
    return False


def _as_read(discard: Discard) -> Iterator[Node]:
    """A moved value behind its move, or the attribute of the object that keeps it, in all methods."""
    yield discard.receiver
    function, owner = discard.call.function, discard.call.function.owner
    match discard.moved:
        case ast.Attribute(value=ast.Name(id=base), attr=kept) if owner is not None and function.self_node is not None:
            yield from reads_of(owner, kept) if base == function.self_node.extra else ()


def _is_made_on_host(index: Index, value: Node) -> bool:
    births, sources = index.analysis.births, index.analysis.graph.sources
    made = (one for root in births.roots(value) for one in sources.get(root, ()) if not births.moves_of(root))
    return any(one.birth in MADE and one.is_on_host and not one.scalar for one in made)
