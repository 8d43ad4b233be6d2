"""Graphs that the data sets and loaders of PyTorch Geometric give: on the host, as they were read from files.

https://pytorch-geometric.readthedocs.io/en/latest/get_started/introduction.html: `data = dataset[0].to(device)`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from devfix_codemods.catalogue import libraries
from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.placement.calls import bound

DEEPEST = 6
_HELD = frozenset({"data", "_data"})
"""The attributes of a data set that hold all of its graphs as one."""


def data_graphs(module: Module, calls: Mapping[Node, Function]) -> Iterator[Node]:
    """The graphs: `dataset[0]`, `dataset.data`, and what a loop over a set or a loader gives.

    `calls` are the functions of the file that its calls run.
    """
    sources = _Sources(calls)
    for node in module.of(Op.ITEM):
        if len(node.args) == 1 and isinstance(node.extra, int) and sources.give_graphs(node.args[0]):
            yield node
    for node in module.of(Op.ATTR):
        if node.extra in _HELD and sources.give_graphs(node.args[0]):
            yield node
    for node in module.of(Op.ITER):
        if sources.give_graphs(node.args[-1]):
            yield node


def moves_graphs(module: Module) -> bool:
    """Whether a file makes the transform that moves graphs as they are read."""
    return any((name(one.args[0]) or "").endswith(libraries.MOVES_GRAPHS) for one in module.of(Op.CALL))


class _Sources:
    """What graphs come from, through the functions of one file."""

    def __init__(self, calls: Mapping[Node, Function]) -> None:
        self._calls = calls
        self._given: dict[Node, list[Node]] = defaultdict(list)
        for call, called in calls.items():
            for argument, parameter in bound(call, called):
                self._given[parameter].append(argument)

    def give_graphs(self, node: Node, depth: int = 0) -> bool:
        """Whether a value is surely one of the data sets, or of the loaders, that the package brings."""
        node = resolved(node)
        if depth > DEEPEST:
            return False
        if node.op in {Op.PHI, Op.PARAM}:
            values = node.args if node.op is Op.PHI else self._given.get(node, ())
            return bool(values) and all(self.give_graphs(one, depth + 1) for one in values)
        if node.op is not Op.CALL:
            return False
        called = self._calls.get(node)
        if called is not None:
            return bool(called.returns) and all(self.give_graphs(one, depth + 1) for one, _ in called.returns)
        qualified = name(node.args[0]) or ""
        return qualified.startswith(libraries.DATASETS_OF_GRAPHS) or qualified in libraries.GRAPH_LOADERS
