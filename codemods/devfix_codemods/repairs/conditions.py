"""Moves that need an accelerator, and the conditions under which the program makes them."""

import ast
import re
from collections.abc import Hashable
from dataclasses import replace

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point, means_same
from devfix_codemods.repairs.suffix import Suffix


def way_to(conflict: Conflict) -> list[Node]:
    """The move that a conflict ends at, and the calls through which the path came to it."""
    nodes = [conflict.birth.node, *(step.node for step in conflict.path)]
    calls = [nodes[at] for at, step in enumerate(conflict.path) if step.edge.site and nodes[at].op is Op.CALL]
    return [conflict.end.node, *calls]


def _ways(analysis: Analysis, conflict: Conflict, point: Point) -> list[Node]:
    """Of the way to a conflict, what stands under a condition that does not hold at a point; of a function that moves
    what it is given, the moves that it makes."""
    births = analysis.births
    called = births.calls.get(conflict.end.node)
    inner = [value for value, _ in called.returns if births.is_move(value)] if called is not None else []
    return [one for one in (*way_to(conflict), *inner) if not condition(analysis, one) <= point.guard]


def needs_accelerator(analysis: Analysis, call: Node) -> bool:
    """Whether a move fails on a machine without accelerator: the device is one, and is not chosen."""
    return call.args[0].extra != "to" or any(is_always_accelerator(analysis, one) for one in call.args[1:])


def is_always_accelerator(analysis: Analysis, device: Node) -> bool:
    """Whether all that a name, an attribute or a parameter may be is an accelerator."""
    return all(is_accelerator(analysis, one) for one in _origins(analysis, device))


def may_need_accelerator(analysis: Analysis, device: Node, way: Node, point: Point) -> bool:
    """Whether a device works where a move was made, and not everywhere: it is an accelerator, or it is not known, and
    the move asked for one."""
    if is_always_accelerator(analysis, device):
        return True
    asked = (
        (atom, not holds) in analysis.graph.host_only and isinstance(atom, tuple) and atom[0] not in _OF_DEVICES
        for atom, holds in condition(analysis, way) - point.guard
    )
    return any(one.op in _UNKNOWN for one in _origins(analysis, device)) and any(asked)


def _origins(analysis: Analysis, device: Node) -> list[Node]:
    """What a device may be, where it is made; of an attribute, all that it is set to."""
    births = analysis.births
    values = births.attributes.stored.get(device, []) if device.op is Op.FIELD else [device]
    return [each for one in values for each in births.origins.of(one)] or [device]


def is_accelerator(analysis: Analysis, device: Node) -> bool:
    """`"cuda"`, `0`, `torch.device("cuda")`, by whatever name."""
    device = resolved(device)
    if device.op is Op.CALL and name(device.args[0]) == "torch.device" and len(device.args) > 1:
        device = device.args[1]
    place = place_of(device, analysis.kinds) if device.op is Op.CONST else None
    return place is not None and place.where is Where.DEVICE


def condition(analysis: Analysis, move: Node) -> Guard:
    """Under which condition a move is made of what is there: in `if main: for x in xs: x.cuda()`, under none."""
    births = analysis.births
    origins = [root for one in _moved(analysis, move) for root in births.roots(one)]
    return move.guard - frozenset[Literal]().union(*(_whole(analysis, one).guard for one in origins))


def _moved(analysis: Analysis, move: Node) -> tuple[Node, ...]:
    """What a move is made of: what its method is called on, or what a function of this file is given."""
    if move.op is Op.AFTER:
        return move.args[:1]
    if move.op is not Op.CALL:
        return ()
    return move.args[0].args[:1] if move.args[0].op is Op.ATTR else move.args[1:2]


def _whole(analysis: Analysis, part: Node) -> Node:
    """What a part was taken from; of a loader's batches, that is the batch."""
    while part.op in {Op.ITEM, Op.ATTR, Op.ITER} or (part.op is Op.CALL and part.args[0].op is Op.ATTR):
        if part.op is Op.ITER and analysis.kinds.of(part.args[0]) is Kind.LOADER:
            break
        part = part.args[0]
    return part


def test_around(analysis: Analysis, move: Node, point: Point) -> ast.expr | None:
    """The one test under which a move is made, where it is all of its condition that does not hold at a point."""
    missing = condition(analysis, move) - point.guard
    if len(missing) != 1:
        return None
    around = (one for one, said in move.function.choices.items() if missing <= said and _is_taken(one, move))
    tests = [one.test for one in around if not _is_taken(one, point.node)]
    return tests[0] if len(tests) == 1 else None


def conditional(analysis: Analysis, conflict: Conflict, point: Point, suffix: Suffix) -> tuple[Suffix, bool] | None:
    """A way to write a move, under the condition of what it follows where it would fail without; None where that
    cannot be said. It is doubtful where nothing is known of the device, nor of a flag under which others go there."""
    told = _told(suffix)
    ways = _ways(analysis, conflict, point) if told is not None else []
    if told is None or not ways:
        return suffix, False
    fails = any(_may_fail(analysis, told, one, point) for one in ways)
    doubtful = not fails and any(_is_doubtful(analysis, told, one, point) for one in ways)
    if not fails and not doubtful:
        return suffix, False
    moves = len(ways) == 1 and analysis.kinds.of(ways[0]) is not Kind.DEVICE
    test = test_around(analysis, ways[0], point) if moves else None
    if test is None or not means_same(analysis, test, ways[0], point):
        return (suffix, True) if doubtful else None
    return replace(suffix, device=None, test=analysis.text(test)), doubtful


def is_denied(suffix: Suffix, point: Point) -> bool:
    """Whether a point stands in the `else` of the test of a move, as the text has it: there that never runs."""
    if suffix.test is None:
        return False
    asked = ast.unparse(ast.parse(suffix.test, mode="eval"))
    choices = (one for one in point.node.function.choices if isinstance(one, ast.If))
    return any(_stands_in(one.orelse, point.node) for one in choices if ast.unparse(one.test) == asked)


def _stands_in(block: list[ast.stmt], node: Node) -> bool:
    """Whether the statement of a value stands in a block."""
    return any(node.statement is each for part in block for each in ast.walk(part))


def _may_fail(analysis: Analysis, told: ast.expr, way: Node, point: Point) -> bool:
    if isinstance(told, ast.Constant):
        return isinstance(told.value, int) or not str(told.value).startswith("cpu")
    device = _named(told, point)
    return device is not None and may_need_accelerator(analysis, device, way, point)


def _is_doubtful(analysis: Analysis, told: ast.expr, way: Node, point: Point) -> bool:
    """Whether a move is made under a flag that may be off where the device is no host."""
    device = _named(told, point)
    flags = [atom for atom, holds in condition(analysis, way) - point.guard if _is_flag(atom, holds)]
    if device is None or not flags:
        return False
    if any(one.op in _UNKNOWN for one in _origins(analysis, device)):
        return True
    asked = _asked_for(analysis, device)
    return not any(atom in asked or _OF_CUDA.search(str(atom)) for atom in flags)


def _asked_for(analysis: Analysis, device: Node) -> set[Hashable]:
    """What is asked where a device is chosen."""
    values = list(_origins(analysis, device))
    for one in values:  # grows
        values += [each for each in one.args if each not in values]
    guards = (each for one in values for each in (one.guard, *one.extras) if isinstance(each, frozenset))
    return {atom for guard in guards for atom, _ in guard}


_OF_CUDA = re.compile(r"(?i)cuda|gpu|accelerator|is_available")
"""Flags that say whether there is an accelerator."""


def _is_flag(atom: Hashable, holds: bool) -> bool:
    """Whether a literal says that a name or an attribute holds."""
    return holds and isinstance(atom, tuple) and atom[0] in {"param", "attr", "GLOBAL"}


def _told(suffix: Suffix) -> ast.expr | None:
    """What a way to write a move names as the device; None where that is declared with it, or stands under a test."""
    if suffix.test is not None or suffix.edits:
        return None
    try:
        call = ast.parse(f"_{suffix.text}", mode="eval").body
    except SyntaxError:
        return None
    match call:
        case ast.Call(args=[told, *_]) | ast.Call(keywords=[ast.keyword(arg="device", value=told), *_]):
            return told
    return None


def _named(told: ast.expr, point: Point) -> Node | None:
    match told:
        case ast.Name(id=name):
            return point.binds(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return _attribute(point, name, attribute)
    return None


def _attribute(point: Point, name: str, attribute: str) -> Node | None:
    """An attribute of the object of a method, as it is there, or as the methods of its class leave it."""
    base, itself, owner = point.binds(name), point.node.function.self_node, point.node.function.owner
    if base is None or base is not itself or owner is None:
        return None
    known = point.environment.get((base, attribute))
    return owner.field_of(attribute) if known is None and owner.sets(attribute) else known


def _is_taken(choice: ast.If | ast.IfExp, move: Node) -> bool:
    """Whether a move is made where the test of a choice holds."""
    if isinstance(choice, ast.If):
        at = move.statement.lineno if move.statement is not None else 0
        return choice.lineno <= at <= (choice.end_lineno or at) and _stands_in(choice.body, move)
    return any(move.syntax is each for each in ast.walk(choice.body))


def moving(node: Node) -> Node | None:
    """The call that moves, in a chain of methods: `x.cuda()` in `x.cuda().float()`; None where none does."""
    while node.op is Op.CALL and node.args[0].op is Op.ATTR:
        if node.args[0].extra in {"to", "cuda", "mps", "xpu", "npu", "type"}:
            return node
        node = node.args[0].args[0]
    return None


_OF_DEVICES = frozenset({"none", "compare", "isinstance"})
"""Tests of a device itself, which is as it is found where they fail: `x.to(None)` moves nothing."""
_UNKNOWN = frozenset({Op.PARAM, Op.ATTR, Op.GLOBAL, Op.FIELD, Op.ITEM})
"""Values of which nothing more is known."""
