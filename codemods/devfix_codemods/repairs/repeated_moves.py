"""Cuts of parts that were put into a module after its move: the module is moved again, with all of them."""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.late_parts import Attachment
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.targets import moving_call
from devfix_codemods.repairs.cut import Cut, called
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, rest_of_block
from devfix_codemods.source import Source


def moved_again(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)` once more, behind the last of the parts that it got in a row."""
    one = analysis.births.attached.get(conflict.birth.node)
    if one is None:
        return
    last = _last_of_row(analysis, one)
    function = one.whole.function
    environment = function.after.get(last)
    if environment is None:
        return
    node = one.part if one.part.function is function else one.whole
    point = Point(environment, function.guards.get(last, one.whole.guard), node)
    name = called(analysis, one.whole, point)
    ways = suffixes(analysis, conflict, point) if name is not None else ()
    for suffix in (one.of_module for one in ways):
        move = f"{name}{suffix.text}"
        move = f"{name} = {move}" if _is_assigned(conflict.end.node, str(name)) else move
        code = move if suffix.test is None else f"if {suffix.test}:\n    {move}"
        edit = InsertStatement(source.span(last), "after", code)
        device = point.binds(suffix.device) if suffix.device is not None else None
        title = f"{suffix.title(str(name))} again, with its new part"
        yield Cut((edit, *suffix.edits), title, with_whole=device is not None and _says_where(one.whole, device))


def _says_where(whole: Node, device: Node) -> bool:
    """Whether a name stands for what the module was moved to on each path: `"cpu"` for tests, a card else."""
    moves = [moving_call(one.args[1]) if one.op is Op.AFTER else one for one in whole.args]
    return whole.op is device.op is Op.PHI and all(not set(one.args[1:2]).isdisjoint(device.args) for one in moves)


def _last_of_row(analysis: Analysis, one: Attachment) -> ast.stmt:
    """The last statement that puts a part into the same module, in the block of the first."""
    others = analysis.births.attached.values()
    row = {each.statement for each in others if each.whole is one.whole}
    behind = rest_of_block(one.whole.function, one.statement)
    return next((each for each in reversed(behind) if each in row), one.statement)


def _is_assigned(move: Node, name: str) -> bool:
    """Whether the earlier move was `net = net.to(device)`."""
    match move.statement:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(value=moved))):
            return ast.unparse(target) == ast.unparse(moved) == name
    return False
