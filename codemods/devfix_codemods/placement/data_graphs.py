"""Graphs that the data sets and loaders of PyTorch Geometric give: on the host, as they were read from files.

https://pytorch-geometric.readthedocs.io/en/latest/get_started/introduction.html: `data = dataset[0].to(device)`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import libraries
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name, resolved

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds

DEEPEST = 6
_HELD = frozenset({"data", "_data"})
"""The attributes of a data set that hold all of its graphs as one."""


def data_graphs(kinds: "Kinds") -> Iterator[Node]:
    """The graphs: `dataset[0]`, `dataset.data`, and what a loop over a set or a loader gives."""
    for node in kinds.module.of(Op.ITEM):
        if len(node.args) == 1 and isinstance(node.extra, int) and _gives_graphs(kinds, node.args[0]):
            yield node
    for node in kinds.module.of(Op.ATTR):
        if node.extra in _HELD and _gives_graphs(kinds, node.args[0]):
            yield node
    for node in kinds.module.of(Op.ITER):
        if _gives_graphs(kinds, node.args[-1]):
            yield node


def moves_graphs(module: Module) -> bool:
    """Whether a file makes the transform that moves graphs as they are read."""
    return any((name(one.args[0]) or "").endswith(libraries.MOVES_GRAPHS) for one in module.of(Op.CALL))


def _gives_graphs(kinds: "Kinds", node: Node, depth: int = 0) -> bool:
    """Whether a value is surely one of the data sets, or of the loaders, that the package brings."""
    node = resolved(node)
    if depth > DEEPEST:
        return False
    if node.op in {Op.PHI, Op.PARAM}:
        values = node.args if node.op is Op.PHI else kinds.given.get(node, ())
        return bool(values) and all(_gives_graphs(kinds, one, depth + 1) for one in values)
    if node.op is not Op.CALL:
        return False
    called = kinds.calls.get(node)
    if called is not None:
        return bool(called.returns) and all(_gives_graphs(kinds, one, depth + 1) for one, _ in called.returns)
    qualified = name(node.args[0]) or ""
    return qualified.startswith(libraries.DATASETS_OF_GRAPHS) or qualified in libraries.GRAPH_LOADERS
