"""Moves that need an accelerator, and the conditions under which the program makes them."""

import ast

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point


def way_to(conflict: Conflict) -> list[Node]:
    """The move that a conflict ends at, and the calls through which the path came to it."""
    nodes = [conflict.birth.node, *(step.node for step in conflict.path)]
    calls = [nodes[at] for at, step in enumerate(conflict.path) if step.edge.site and nodes[at].op is Op.CALL]
    return [conflict.end.node, *calls]


def needs_accelerator(analysis: Analysis, call: Node) -> bool:
    """Whether a move fails on a machine without accelerator: the device is one, and is not chosen."""
    return call.args[0].extra != "to" or any(is_accelerator(analysis, one) for one in call.args[1:])


def is_accelerator(analysis: Analysis, device: Node) -> bool:
    """`"cuda"`, `0`, `torch.device("cuda")`, by whatever name."""
    device = resolved(device)
    if device.op is Op.CALL and name(device.args[0]) == "torch.device" and len(device.args) > 1:
        device = device.args[1]
    place = place_of(device, analysis.kinds) if device.op is Op.CONST else None
    return place is not None and place.where is Where.DEVICE


def condition(analysis: Analysis, move: Node) -> Guard:
    """Under which condition a move is made of what is there: in `if main: for x in xs: x.cuda()`, under none."""
    receiver = move.args[0] if move.op is Op.AFTER else move.args[0].args[0] if move.args[0].op is Op.ATTR else None
    origins = analysis.constraints.births.roots(receiver) if receiver is not None else ()
    return move.guard - frozenset[Literal]().union(*(_whole(analysis, one).guard for one in origins))


def _whole(analysis: Analysis, part: Node) -> Node:
    """What a part was taken from; of a loader's batches, that is the batch."""
    while part.op in {Op.ITEM, Op.ATTR, Op.ITER} or (part.op is Op.CALL and part.args[0].op is Op.ATTR):
        if part.op is Op.ITER and analysis.kinds.of(part.args[0]) is Kind.LOADER:
            break
        part = part.args[0]
    return part


def test_around(analysis: Analysis, move: Node, point: Point) -> ast.expr | None:
    """The one test under which a move is made, where it is all of its condition that does not hold at a point."""
    if len(condition(analysis, move) - point.guard) != 1:
        return None
    around = (one for one in move.function.choices if _is_taken(one, move))
    tests = [one.test for one in around if not _is_taken(one, point.node)]
    return tests[0] if len(tests) == 1 else None


def _is_taken(choice: ast.If | ast.IfExp, move: Node) -> bool:
    """Whether a move is made where the test of a choice holds."""
    if isinstance(choice, ast.If):
        at = move.statement.lineno if move.statement is not None else 0
        return choice.lineno <= at <= (choice.end_lineno or at) and any(
            move.statement is each for part in choice.body for each in ast.walk(part)
        )
    return any(move.syntax is each for each in ast.walk(choice.body))


def moving(node: Node) -> Node | None:
    """The call that moves, in a chain of methods: `x.cuda()` in `x.cuda().float()`; None where none does."""
    while node.op is Op.CALL and node.args[0].op is Op.ATTR:
        if node.args[0].extra in {"to", "cuda", "mps", "xpu", "npu", "type"}:
            return node
        node = node.args[0].args[0]
    return None
