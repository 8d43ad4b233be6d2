"""Tables that the program copied to the host: an index into one is wanted there as well.

A table on the host takes no index of a device (torch 2.x, `aten/src/ATen/TensorIndexing.h`), unless that is 0-dim: then
it is a number.
"""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.indices import indices, slices, slices_columns
from devfix_codemods.placement.places import HOST
from devfix_codemods.placement.views import chain

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def indices_of_host_tables(births: "Births") -> None:
    """Add to the graph that what picks from a copy on the host is read there."""
    for item in births.module.of(Op.ITEM):
        if any(births.place_given(one) == HOST for one in chain(item.args[0]) if one.op is Op.CALL):
            for index in indices(item):
                is_tensor = births.kinds.of(index) is Kind.TENSOR and index not in births.graph.scalars
                link = _link(index) if is_tensor else None
                if link is not None:
                    births.graph.add(Source(index, HOST, Birth.READER, (link,), by=item))


def _link(index: Node) -> str | None:
    """How surely an index has a dimension: `order[i]` may be a number, and `order[0]` probably is one."""
    if index.op is not Op.ITEM:
        return "index"
    parts = list(indices(index))  # none of a constant
    if any(map(slices, parts)) or (len(parts) < 2 and _has_rows(index.args[0])):
        return "index"
    return "index-maybe-scalar" if any(one.op is not Op.CONST for one in parts) else None


def _has_rows(tensor: Node) -> bool:
    """`order[:, 1:]`, on whichever branch: one of it is a row."""
    values = tensor.args if tensor.op is Op.PHI else (tensor,)
    return any(one.op is Op.ITEM and any(map(slices_columns, one.args[1:])) for one in values)
