"""`next(self.parameters()).device` in the replicas of `DataParallel`, which have no parameters."""

from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.placement.arguments import is_optional


@dataclass(frozen=True, slots=True)
class Question:
    """`next(self.parameters()).device` in code that `forward` runs, and the input that can answer instead."""

    node: Node
    tensor: str | None


def questions(index: Index) -> Iterator[Question]:
    """Every such expression of the modules of a file."""
    modules = index.analysis.kinds.module_classes
    for owner in (one for one in index.analysis.module.classes if one in modules):
        for function in _run_by_forward(index, owner):
            for node in function.nodes:
                if node.op is Op.ATTR and node.extra == "device" and _is_first_parameter(node.args[0]):
                    yield Question(node, _tensor(index, node))


def _run_by_forward(index: Index, owner: Class) -> list[Function]:
    """`forward`, and the methods of the class that it calls."""
    found = [owner.methods["forward"]] if "forward" in owner.methods else []
    for one in found:  # grows by those that each calls
        for call in one.nodes:
            run = index.analysis.calls.get(call)
            if run is not None and run.owner is owner and run not in found:
                found.append(run)
    return found


def _is_first_parameter(node: Node) -> bool:
    """`next(self.parameters())`"""
    if not called(node, "builtins.next") or len(node.args) != 2:
        return False
    given = node.args[1]
    return method(given) == "parameters" and given.args[0].args[0] is node.function.self_node


def _tensor(index: Index, question: Node) -> str | None:
    """The first parameter that is a tensor and still has its name; none where one is moved, and so may be elsewhere."""
    function, kinds = question.function, index.analysis.kinds
    given = [one for one in function.parameters.values() if one is not function.self_node]
    moves_of = index.analysis.births.moves_of
    if question.statement is None or any(map(moves_of, given)):
        return None
    bound = function.before[question.statement]
    tensors = (one for one in given if kinds.of(one) is Kind.TENSOR and not is_optional(one))
    return next((str(one.extra) for one in tensors if bound.get(str(one.extra)) is one), None)
