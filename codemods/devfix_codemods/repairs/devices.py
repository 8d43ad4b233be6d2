"""Which expression names the device at a place in the program.

In this order: what the sibling's move says, where all of its names mean the same; a device in scope; the device of a
tensor at hand.
"""

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_optional
from devfix_codemods.placement.graph import MADE, Birth, Turn
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.conditions import (
    condition,
    conditional,
    is_denied,
    moving,
    needs_accelerator,
    test_around,
    way_to,
)
from devfix_codemods.repairs.declared_devices import CUDA_OR_HOST, for_choice
from devfix_codemods.repairs.named_devices import named
from devfix_codemods.repairs.nearby_modules import of_called
from devfix_codemods.repairs.nearby_tensors import of_tensors
from devfix_codemods.repairs.overlapping import overlapping
from devfix_codemods.repairs.points import Point, means_same, names_in
from devfix_codemods.repairs.spelling import device_of_given_module, spelled, spelled_test
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.repairs.unnamed_values import device_side


def suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The ways to write the move at `point`, the best first; those that may fail without an accelerator last."""
    doubtful: list[Suffix] = []
    for one in _suffixes(analysis, conflict, point):
        one = one.of_encoding if conflict.birth.birth is Birth.ENCODING else one
        if not _is_bound(analysis, one, point):
            continue
        written = conditional(analysis, conflict, point, one)
        if written is None or is_denied(written[0], point):
            continue
        if written[1]:
            doubtful.append(written[0])
        else:
            yield overlapping(analysis, conflict, written[0])
    yield from (overlapping(analysis, conflict, one) for one in doubtful)


def _is_bound(analysis: Analysis, suffix: Suffix, point: Point) -> bool:
    """Whether the names of the device have values on every path to a point."""
    named = names_in(suffix.device or "")
    return suffix.test is not None or all(
        point.binds_surely(one) and not _is_bound_by_running(analysis, one, point) for one in named
    )


def _is_bound_by_running(analysis: Analysis, name: str, point: Point) -> bool:
    """Whether a name around a function gets its value by what runs this: `policy = fit()`, for what `fit` calls."""
    value = point.binds(name) if name not in point.environment else None
    statement = value.statement if value is not None else None
    if statement is None or point.node.function.parent is None:
        return False
    running = [called for call, called in analysis.calls.items() if call.statement is statement]
    for one in running:  # grows
        running += (each for call, each in analysis.calls.items() if call.function is one and each not in running)
    return point.node.function in running


def _suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    if _is_placed_outside(analysis, conflict, point):
        yield from (one for one in of_tensors(analysis, conflict, point) if one.follows)
        for other in _given_here(analysis, conflict, point):
            yield from (one for one in of_tensors(analysis, other, point) if one.follows)
    yield from _of_sibling(analysis, conflict, point)
    yield from _in_scope(analysis, conflict, point)
    if conflict.end.place.where is Where.CALLER:  # who gave it knows where it is, better than the object
        yield from (one for one in of_tensors(analysis, conflict, point) if one.follows)
    yield from _kept(analysis, point)
    yield from of_tensors(analysis, conflict, point)
    yield from named(analysis, conflict, point)
    if conflict.end.links == ("collective",):
        yield Suffix(f".to({CUDA_OR_HOST})", CUDA_OR_HOST)
    yield from _as_chosen(analysis, conflict, point)
    yield from _of_given(analysis, conflict, point)
    yield from _of_asked(analysis, conflict, point)
    if conflict.end.place.where is Where.DEVICE:
        yield from of_called(analysis, conflict, point)


def _of_given(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    text = device_of_given_module(analysis, conflict, point)
    if text is not None:
        yield Suffix(f".to({text})", text)


def _of_asked(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`.to(net.device)`, of what the program asks for its device in this way, whatever it is."""
    if conflict.end.links != ("asked-for-device",):
        return
    itself = takewhile(lambda step: step.edge.turn is not Turn.MEET, reversed(conflict.path))
    asked = (one for one in (conflict.end.node, *(step.node for step in itself)) if one.op is Op.PARAM)
    text = next((text for one in asked if (text := spelled(analysis, one, point)) is not None), None)
    if text is not None:
        yield Suffix(f".to({text}.device)", f"{text}.device")


def _is_placed_outside(analysis: Analysis, conflict: Conflict, point: Point) -> bool:
    """Whether another function moves what the value meets, and hands no device over: tensors say where that is."""
    function, end = point.node.function, conflict.end
    if (
        conflict.birth.birth not in MADE
        or isinstance(function.syntax, ast.Module)
        or (end.node.function is function and end.place.where is Where.DEVICE)
    ):
        return False
    own = ((one, node) for one, node in point.environment.items() if isinstance(one, str) and "device" in one)
    return not any(_is_device(analysis, one, node) or _followed(analysis, node) is not None for one, node in own)


def _given_here(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Conflict]:
    """The conflicts of the same value with what the function is given, which it meets as surely."""
    for one in analysis.ends(conflict.birth) if conflict.end.place.where is Where.DEVICE else ():
        own = one.end.node.op is Op.PARAM and one.end.node.function is point.node.function
        if own and one is not conflict and one.end.place.where is Where.CALLER and one.together >= conflict.confidence:
            yield one


def _as_chosen(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`"cuda" if torch.cuda.is_available() else "cpu"`, as the move that placed the other value chooses it."""
    move = conflict.end.node
    call = moving(move.args[1] if move.op is Op.AFTER else move)
    given = call.args[1].syntax if call is not None and len(call.args) == 2 else None
    if (
        call is not None
        and call.args[0].extra != "type"
        and isinstance(given, ast.IfExp)
        and means_same(analysis, given, call, point)
    ):
        text = analysis.text(given)
        yield Suffix(f".to({text})", text)


def _of_sibling(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """As the move that placed the other value does it, if that means the same here, and holds here."""
    move = conflict.end.node
    if conflict.end.place.where is not Where.DEVICE:
        return
    call = moving(move.args[1] if move.op is Op.AFTER else move)
    syntax, given = (call.syntax, written(call)) if call is not None else (None, None)
    if call is None or given is None or not isinstance(syntax, ast.Call) or not isinstance(syntax.func, ast.Attribute):
        yield from _as_given(analysis, conflict, point)
        return
    if any(isinstance(each, ast.IfExp) for one in given for each in ast.walk(one)):
        yield from _of_choice(analysis, conflict, call, point)
        return
    if not all(means_same(analysis, one, call, point) for one in given):
        yield from _as_spelled_here(analysis, conflict, conflict.end.place.node, None, point)
        return
    test = None
    if needs_accelerator(analysis, call):
        guarded = [one for one in way_to(conflict) if not condition(analysis, one) <= point.guard]
        if guarded:
            test = test_around(analysis, guarded[0], point) if len(guarded) == 1 else None
            if test is None or not means_same(analysis, test, guarded[0], point):
                return
    if syntax.func.attr == "type":
        return
    arguments, device = _arguments(analysis, call, syntax)
    if test is not None:
        yield Suffix(f".{syntax.func.attr}({arguments})", None, test=analysis.text(test))
    else:
        yield Suffix(f".{syntax.func.attr}({arguments})", device)


def _arguments(analysis: Analysis, call: Node, syntax: ast.Call) -> tuple[str, str | None]:
    """What a move is told but for types, as text, and the device alone. What `.to` gets behind the device, or behind
    stars, may be a type."""
    named = [one for one in syntax.keywords if one.arg not in {"dtype", None}]
    if call.args[0].extra == "cuda":
        is_bare = not syntax.args and all(one.arg == "non_blocking" for one in syntax.keywords)
        device = '"cuda"' if is_bare else None
        given = syntax.args
    else:
        given = syntax.args[:1] if all(one.arg != "device" for one in named) else []
        chosen = next(iter(given), None) or next((one.value for one in named if one.arg == "device"), None)
        device = analysis.text(chosen) if chosen is not None else None
    if given and device is not None and analysis.kinds.of(call.args[1]) is Kind.TENSOR:
        return f"{device}.device", f"{device}.device"  # a tensor says its type as well, and is no `device=`
    parts = [*map(analysis.text, given), *(f"{one.arg}={analysis.text(one.value)}" for one in named)]
    return ", ".join(parts), device


def _of_choice(analysis: Analysis, conflict: Conflict, move: Node, point: Point) -> Iterator[Suffix]:
    """A name for what a move chooses on the spot; another function that has the module asks that first."""
    ways = [_declared(analysis, move, point), of_called(analysis, conflict, point)]
    for way in ways if move.function is point.node.function else reversed(ways):
        yield from way


def _declared(analysis: Analysis, move: Node, point: Point) -> Iterator[Suffix]:
    choice = move.args[1].syntax if len(move.args) == 2 else None
    edits = for_choice(analysis.file, choice, point.node.line) if analysis.file and choice is not None else None
    if edits is not None:
        yield Suffix(".to(device)", "device", edits=edits)


def _as_given(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The device of an end that is no call of `.to`: it was given to a factory, or to a function."""
    placed = conflict.end.place.node
    if placed is conflict.end.node and placed.op not in {Op.PARAM, Op.CALL}:  # a device that is declared
        yield from _as_spelled_here(analysis, conflict, placed, None, point)
        return
    named = placed.syntax if placed is not None else None
    named = ast.Name(named.arg) if isinstance(named, ast.arg) else named
    test = spelled_test(conflict.end.under - point.guard, point)
    if conflict.end.under <= point.guard or test is not None:
        yield from _as_given_under(analysis, conflict, named, test, point)


def _as_given_under(
    analysis: Analysis, conflict: Conflict, named: ast.AST | None, test: str | None, point: Point
) -> Iterator[Suffix]:
    placed = conflict.end.place.node
    if (
        isinstance(named, ast.expr)
        and _may_be_repeated(named)
        and means_same(analysis, named, conflict.end.node, point)
    ):
        text = analysis.text(named).replace("'", '"') if isinstance(named, ast.Constant) else analysis.text(named)
        yield Suffix(f".to({text})", text if test is None else None, test=test)
    else:
        yield from _as_spelled_here(analysis, conflict, placed, test, point)


def _may_be_repeated(device: ast.expr) -> bool:
    """Whether an expression gives the same once more: a name, or what by its own tells every caller the same,
    `get_device()`."""
    match device:
        case ast.Call(func=ast.Name(id=word) | ast.Attribute(attr=word, value=ast.Name()), args=[], keywords=[]):
            return _TELLING.search(word) is not None
    return isinstance(device, _NAMES)


def _as_spelled_here(
    analysis: Analysis, conflict: Conflict, device: Node | None, test: str | None, point: Point
) -> Iterator[Suffix]:
    """The device that the other value is moved to, under the name that it has here, and the test that it is moved
    under."""
    if device is None or not _is_device(analysis, "device", device):
        return
    text = spelled(analysis, device, point)
    if text is not None:
        yield Suffix(f".to({text})", text if test is None else None, test=test)


def _in_scope(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """A name bound here to a device."""
    side = device_side(conflict)
    names = point.visible
    for text in sorted(names, key=lambda one: (one != "device", "device" not in one, len(one))):
        if is_optional(names[text]):
            continue
        if "device" in text and "devices" not in text and _is_device(analysis, text, names[text]):
            yield Suffix(f".to({text})", text)
        elif _followed(analysis, names[text]) in side:
            yield Suffix(f".to({text})", text, follows=True)


def _kept(analysis: Analysis, point: Point) -> Iterator[Suffix]:
    """`self.device`, where the class sets it, and not to a tensor that only says where the object is."""
    itself = point.node.function.object_node
    owner = point.node.function.owner
    if itself is not None and owner is not None and point.binds(str(itself.extra)) is itself:
        for attribute in ("device", "_device"):
            kind = analysis.kinds.of(owner.field_of(attribute)) if owner.sets(attribute) else Kind.NONE
            if kind in {Kind.DEVICE, Kind.TEXT, Kind.NUMBER, None} and (
                point.node.function.name != "__init__" or (itself, attribute) in point.environment
            ):
                text = f"{itself.extra}.{attribute}"
                yield Suffix(f".to({text})", text)
            elif kind is Kind.TENSOR and _has_property(owner, "device") and point.node.function.name != "__init__":
                yield Suffix(f".to({itself.extra}.device)", f"{itself.extra}.device")


def _has_property(owner: Class, name: str) -> bool:
    """Whether a class, or one that it is derived from here, computes an attribute."""
    found = next((one.methods[name] for one in owner.lineage() if name in one.methods), None)
    return found is not None and found.is_property


def may_name_device(text: str, node: Node) -> bool:
    """Whether a name is no function: what is imported is a device where it is called just that."""
    return node.op not in {Op.FUNCTION, Op.CLASS} and (node.op is not Op.REF or text == "device")


def _is_device(analysis: Analysis, text: str, node: Node) -> bool:
    if not may_name_device(text, node):
        return False
    place = place_of(node, analysis.kinds)
    return place is not None and place.where is Where.DEVICE and analysis.kinds.of(node) in _OF_DEVICES


def _followed(analysis: Analysis, node: Node) -> Node | None:
    """The tensor of which a value is the device: `x` of `device = x.device`."""
    asked = node.op is Op.ATTR and node.extra == "device"
    place = place_of(node, analysis.kinds) if asked else None
    return place.node if place is not None and place.where is Where.FOLLOWS else None


_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
_TELLING = re.compile(r"^(?:get_|current_|default_)*(?:torch_|my_)?device(?:_id|_name)?$")
_OF_DEVICES = frozenset({Kind.DEVICE, Kind.TEXT, None})
