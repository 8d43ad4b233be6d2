"""Metrics of torchmetrics: modules that another rule tells of, and those that are forced to a device."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import is_metric_class
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.graph import Birth, Source


def is_metric(birth: Source) -> bool:
    """Whether what is made is a metric."""
    return birth.birth is Birth.MODULE and any(
        map(is_metric_class, (one for each in birth.node.args[:1] for one in names(each)))
    )


def forced(analysis: Analysis) -> Iterator[Node]:
    """`Accuracy(…).to("cuda")` in a class that is placed by a framework, or that moves nothing else by name."""
    for owner in analysis.module.classes:
        nodes = [one for function in owner.methods.values() for one in function.nodes]
        named = [one for one in nodes if _names_cuda(one)]
        alone = owner not in analysis.kinds.module_classes and all(map(_makes_on_cuda, named))
        if alone or analysis.births.imported.is_managed(owner):
            yield from (one for one in named if _makes_metric(one.args[0].args[0]))


def _names_cuda(node: Node) -> bool:
    """`x.cuda()`, `x.to("cuda")`, `x.to("cuda:0")`."""
    if node.op is not Op.CALL or node.args[0].op is not Op.ATTR:
        return False
    if node.args[0].extra == "cuda":
        return len(node.args) == 1
    return node.args[0].extra == "to" and len(node.args) > 1 and str(node.args[1].extra).startswith("cuda")


def _makes_on_cuda(move: Node) -> bool:
    """Whether a move is that of what is made there, and kept."""
    return move.args[0].args[0].op is Op.CALL and isinstance(move.statement, ast.Assign)


def _makes_metric(made: Node) -> bool:
    """`torchmetrics.F1Score(…)`, or the class taken by its name: `getattr(torchmetrics, name)(…)`."""
    callee = made.args[0] if made.op is Op.CALL else made
    if calls_builtin(callee, "getattr"):
        return any(is_metric_class(f"{one}.X") for one in names(callee.args[1]))
    return any(map(is_metric_class, names(callee)))
