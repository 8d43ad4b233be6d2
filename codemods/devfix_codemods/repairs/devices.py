"""Which expression names the device at a place in the program.

In this order: what the sibling's move says, where all of its names mean the same; a device in scope; the device of a
tensor at hand.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.repairs.spelling import spelled


@dataclass(frozen=True, slots=True)
class Suffix:
    """How a move is written: `.to(device, non_blocking=True)`.

    `device` is what `device=` would say, None where nothing can. `test` is the condition under which alone it works.
    """

    text: str
    device: str | None
    follows: bool = False
    test: str | None = None

    def statement(self, name: str) -> str:
        """The statement that moves what is called `name`."""
        move = f"{name} = {name}{self.text}"
        return move if self.test is None else f"if {self.test}:\n    {move}"


def suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The ways to write the move at `point`, the best first."""
    yield from _of_sibling(analysis, conflict, point)
    yield from _in_scope(analysis, conflict, point)
    yield from _of_tensors(analysis, conflict, point)


def _of_sibling(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """As the move that placed the other value does it, if that means the same here, and holds here."""
    move = conflict.end.node
    if conflict.end.place.where is not Where.DEVICE:
        return
    call = _moving(move.args[1] if move.op is Op.AFTER else move)
    if call is None or not isinstance(call.syntax, ast.Call) or not isinstance(call.syntax.func, ast.Attribute):
        yield from _as_given(analysis, conflict, point)
        return
    syntax = call.syntax
    assert isinstance(syntax.func, ast.Attribute)
    given = [*syntax.args, *(one.value for one in syntax.keywords)]
    if any(isinstance(one, ast.IfExp) for one in given):
        return  # what chooses a device on the spot is to be declared once, which is another finding's
    if not all(_means_same(one, call, point) for one in given):
        yield from _as_spelled_here(analysis, conflict, conflict.end.place.node, point)
        return
    test = None
    if _needs_accelerator(analysis, call):
        guarded = [one for one in _way_to(conflict) if not one.guard <= point.guard]
        if guarded:
            test = _test_around(guarded[0]) if len(guarded) == 1 else None
            if test is None or not _means_same(test, guarded[0], point):
                return
    if any(analysis.kinds.of(one) is Kind.DTYPE for one in call.args[1:]):
        given = given[:1]
        arguments = analysis.text(given[0])
    else:
        parts = [analysis.text(one) for one in syntax.args]
        parts += [f"{one.arg}={analysis.text(one.value)}" for one in syntax.keywords if one.arg != "dtype"]
        arguments = ", ".join(parts)
    device = analysis.text(given[0]) if given and syntax.func.attr == "to" else None
    if syntax.func.attr == "cuda":
        device = '"cuda"' if not given else None
    if syntax.func.attr == "type":
        return
    if test is not None:
        yield Suffix(f".{syntax.func.attr}({arguments})", None, test=analysis.text(test))
    else:
        yield Suffix(f".{syntax.func.attr}({arguments})", device)


def _as_given(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The device of an end that is no call of `.to`: it was given to a factory, or to a function."""
    placed = conflict.end.place.node
    named = placed.syntax if placed is not None else None
    named = ast.Name(named.arg) if isinstance(named, ast.arg) else named
    if isinstance(named, ast.expr) and _means_same(named, conflict.end.node, point):
        text = analysis.text(named)
        yield Suffix(f".to({text})", text)
    else:
        yield from _as_spelled_here(analysis, conflict, placed, point)


def _as_spelled_here(analysis: Analysis, conflict: Conflict, device: Node | None, point: Point) -> Iterator[Suffix]:
    """The device that the other value is moved to, under the name that it has here."""
    if device is None or not _is_device(analysis, device):
        return
    guarded = any(not one.guard <= point.guard for one in _way_to(conflict))
    if guarded and is_accelerator(analysis, device):
        return  # it fails where the program moves nothing
    text = spelled(analysis, device, point)
    if text is not None:
        yield Suffix(f".to({text})", text)


def _way_to(conflict: Conflict) -> list[Node]:
    """The move that a conflict ends at, and the calls through which the path came to it."""
    nodes = [conflict.birth.node, *(step.node for step in conflict.path)]
    calls = [nodes[at] for at, step in enumerate(conflict.path) if step.edge.site and nodes[at].op is Op.CALL]
    return [conflict.end.node, *calls]


def _needs_accelerator(analysis: Analysis, call: Node) -> bool:
    """Whether a move fails on a machine without accelerator: the device is one, and is not chosen."""
    return call.args[0].extra != "to" or any(is_accelerator(analysis, one) for one in call.args[1:])


def is_accelerator(analysis: Analysis, device: Node) -> bool:
    """`"cuda"`, `0`, `torch.device("cuda")`, by whatever name."""
    if device.op is Op.GLOBAL:
        device = analysis.module.top.finals.get(str(device.extra), device)
    if device.op is Op.CALL and name(device.args[0]) == "torch.device" and len(device.args) > 1:
        device = device.args[1]
    place = place_of(device, analysis.kinds) if device.op is Op.CONST else None
    return place is not None and place.where is Where.DEVICE


def _test_around(move: Node) -> ast.expr | None:
    """The one test under which a move is made, where it is the whole condition of the move."""
    tests = [one.test for one in ast.walk(move.function.syntax) if _is_taken(one, move)]
    return tests[0] if len(tests) == 1 and len(move.guard) == 1 else None


def _is_taken(choice: ast.AST, move: Node) -> TypeGuard[ast.If | ast.IfExp]:
    """Whether a move is made where the test of a choice holds."""
    if isinstance(choice, ast.If):
        return any(move.statement is each for part in choice.body for each in ast.walk(part))
    return isinstance(choice, ast.IfExp) and any(move.syntax is each for each in ast.walk(choice.body))


def _moving(node: Node) -> Node | None:
    while node.op is Op.CALL and node.args[0].op is Op.ATTR:
        if node.args[0].extra in {"to", "cuda", "mps", "xpu", "npu", "type"}:
            return node
        node = node.args[0].args[0]
    return None


def _means_same(expression: ast.expr, there: Node, point: Point) -> bool:
    """Whether all names of an expression are bound here, to what they mean there."""
    home = before(there)
    for one in ast.walk(expression):
        if not isinstance(one, ast.Name):
            continue
        here = point.binds(one.id)
        if here is None:
            return False
        if home is None:
            continue
        elsewhere = home.binds(one.id)
        if elsewhere is not here and not _are_one(here, elsewhere):
            return False
    return True


def _are_one(here: Node, there: Node | None) -> bool:
    """Whether a name means the same in two functions: the object of both, or a parameter for the device."""
    if there is None:
        return False
    if _is_self(here) and _is_self(there):
        return here.function.owner is there.function.owner
    return here.op is there.op is Op.PARAM and here.extra == there.extra and "device" in str(here.extra)


def _is_self(node: Node) -> bool:
    return node.function.self_node is node


def _in_scope(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """A name bound here to a device; `self.device`, where the class sets it."""
    guarded = any(not one.guard <= point.guard for one in _way_to(conflict))
    names: dict[str, Node] = {}
    function = point.node.function.parent
    bound = [point.environment]
    while function is not None:
        bound.append(function.finals)
        function = function.parent
    for environment in bound:
        for one, node in environment.items():
            if isinstance(one, str):
                names.setdefault(one, node)
    for text in sorted(names, key=lambda one: (one != "device", "device" not in one, len(one))):
        if guarded and is_accelerator(analysis, names[text]):
            continue  # it fails where the program moves nothing
        if "device" in text and "devices" not in text and _is_device(analysis, names[text]):
            yield Suffix(f".to({text})", text)
    itself = point.node.function.self_node
    owner = point.node.function.owner
    if itself is not None and owner is not None and point.binds(str(itself.extra)) is itself:
        for attribute in ("device", "_device"):
            if owner.sets(attribute) and (
                point.node.function.name != "__init__" or (itself, attribute) in point.environment
            ):
                text = f"{itself.extra}.{attribute}"
                yield Suffix(f".to({text})", text)


def _is_device(analysis: Analysis, node: Node) -> bool:
    place = place_of(node, analysis.kinds)
    return place is not None and place.where is Where.DEVICE and analysis.kinds.of(node) in {Kind.DEVICE, None}


def _of_tensors(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`x.device` of a tensor here that must be where the value has to go."""
    side = device_side(conflict)
    for bound, node in point.environment.items():
        if not isinstance(bound, str) or node not in side or not bound.isidentifier():
            continue
        if _is_tensor(analysis, node) and _is_given(node, point):
            yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=analysis.kinds.of(node) is Kind.TENSOR)

    yield from _of_module(analysis, conflict, point)


def _of_module(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where the module of this method is: by its input, by a parameter of its own."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    if conflict.end.place.where is not Where.MODULE or owner is None or itself is None:
        return
    if owner not in analysis.kinds.module_classes or point.binds(str(itself.extra)) is not itself:
        return
    if function.name == "forward":
        for name, node in function.parameters.items():
            if node is not itself and point.binds(name) is node and _enters(analysis, node):
                known = analysis.kinds.of(node) is Kind.TENSOR
                yield Suffix(f".to({name}.device)", f"{name}.device", follows=known)
    elif function.name != "__init__":
        text = f"next({itself.extra}.parameters()).device"
        yield Suffix(f".to({text})", text)


def _enters(analysis: Analysis, node: Node) -> bool:
    """Whether an input is a tensor, or is given to a module as one."""
    kind = analysis.kinds.of(node)
    if kind is not None:
        return kind is Kind.TENSOR
    return any(
        one.op is Op.CALL and one.args[1:2] == (node,) and analysis.kinds.is_module(one.args[0])
        for one in node.function.nodes
    )


def _is_tensor(analysis: Analysis, node: Node) -> bool:
    kind = analysis.kinds.of(node)
    return kind is Kind.TENSOR or (kind is None and node.op in {Op.PARAM, Op.CALL, Op.OPERATION})


def _is_given(node: Node, point: Point) -> bool:
    """Whether a parameter is a tensor at the point: where each use is under a condition, it may be None."""
    if node.op is not Op.PARAM:
        return True
    uses = [one for one in node.function.nodes if node in one.args and one.op not in {Op.PHI, Op.COMPARE}]
    return any(one.guard <= point.guard for one in uses)


def device_side(conflict: Conflict) -> set[Node]:
    """The values of the path from the meeting on, which all live where the conflict ends."""
    nodes = [step.node for step in conflict.path]
    meeting = conflict.meeting
    start = nodes.index(meeting.node) + 1 if meeting is not None else 0
    return {*nodes[start:], conflict.end.node}
