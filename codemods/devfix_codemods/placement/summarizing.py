"""How the summary of an analysed file is made."""

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect, kind
from devfix_codemods.ir import Function, Module, Node, Op, lower
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import forget
from devfix_codemods.placement.calls import local_calls
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import Place, Where, place_of, sounds_like_device
from devfix_codemods.placement.summaries import Argument, Call, Plain, Summary, Wanted, qualified

if TYPE_CHECKING:
    from devfix_codemods.placement.analysis import Analysis

LEAST = 0.6
"""How sure it must be that a parameter belongs where another one says."""


def summarize(analysis: "Analysis") -> Summary:
    """The summary of the file that has been analysed."""
    told = ((qualified(one), dict(_wanted(analysis, one))) for one in analysis.module.functions if takes_device(one))
    return Summary({name: wanted for name, wanted in told if wanted}, tuple(_calls(analysis)))


def takes_device(function: Function) -> bool:
    return any(map(sounds_like_device, function.parameters))


# Functions


def _wanted(analysis: "Analysis", function: Function) -> Iterator[tuple[str, Wanted]]:
    for parameter, node in function.parameters.items():
        if node is function.self_node or sounds_like_device(parameter) or analysis.file is None:
            continue
        for device, at, called in (*_called_with(analysis, node), *_met(analysis, node)):
            named = _parameter(device, function)
            if named is not None and isinstance(at.syntax, ast.expr):
                note = "it is called here" if called else "it meets others here"
                yield parameter, Wanted(named, analysis.file.path, analysis.file.span(at.syntax), note, called)
                break


def _called_with(analysis: "Analysis", parameter: Node) -> Iterator[tuple[Node, Node, bool]]:
    """The devices of what a parameter is called with: if it is a module, it belongs there."""
    moves = analysis.constraints.births.moves
    for call in parameter.function.nodes:
        if call.op is Op.CALL and call.args[0] is parameter:
            places = (moves.get(one) for one in call.args[1:])
            yield from ((one.node, call, True) for one in places if one is not None and one.node is not None)


def _met(analysis: "Analysis", parameter: Node) -> Iterator[tuple[Node, Node, bool]]:
    """The device of what a parameter surely meets."""
    near = analysis.ends(Source(parameter, Place(Where.CALLER), Birth.PARAMETER, ("certain",)))
    end = next((one for one in near if one.end.place.where is not Where.CALLER), None)
    if end is None or end.end.place.where is not Where.DEVICE or end.together < LEAST or end.meeting is None:
        return
    if end.end.place.node is not None:
        yield end.end.place.node, end.meeting.node, end.path[0].node.args[:1] == (parameter,)


def _parameter(device: Node, function: Function) -> str | None:
    """The parameter of a function that a device comes from, directly or by an attribute of its object."""
    if device.op is Op.PARAM:
        return str(device.extra) if device.function is function else None
    if device.op in {Op.ATTR, Op.FIELD}:
        stored = (one.value for one in function.stores if one.is_attribute and one.key == device.extra)
        return next((str(one.extra) for one in stored if one.op is Op.PARAM and one.function is function), None)
    return None


# Calls


def plain_arguments(tree: ast.Module) -> tuple[Plain, ...]:
    """The calls in a file that give arrays, lists or numbers; its kinds alone tell, which is cheap."""
    module = lower(tree)
    calls = local_calls(module)
    kinds = Kinds(module, calls)
    found = [
        Plain(callee, frozenset(one for one, node in given.items() if _is_plain(node, kinds)))
        for callee, given in _given(module, calls)
    ]
    forget(module)
    return tuple(one for one in found if one.arguments)


def _is_plain(node: Node, kinds: Kinds, depth: int = 0) -> bool:
    """Whether a value is no tensor, whatever path it came by."""
    if kinds.of(node) not in _PLAIN or depth > DEEPEST:
        return False
    called = kinds.calls.get(node)
    ways = [one for one, _ in called.returns] if called is not None else []
    if node.op in {Op.PHI, Op.ITEM}:
        ways += node.args if node.op is Op.PHI else node.args[:1]
    return all(_is_plain(one, kinds, depth + 1) for one in ways)


DEEPEST = 6
"""How many calls and joins are followed to where a value comes from."""
_PLAIN = frozenset({Kind.ARRAY, Kind.SEQUENCE, Kind.NUMBER, Kind.TEXT})


def _given(module: Module, calls: Mapping[Node, Function]) -> Iterator[tuple[str, dict[Argument, Node]]]:
    """What calls of functions that the file does not define get."""
    for call in module.of(Op.CALL):
        callee = name(call.args[0]) if call not in calls else None
        if callee is None or not isinstance(call.extra, tuple) or {"*", "**"}.intersection(call.extra):
            continue
        yield callee, {word or at: node for at, (node, word) in enumerate(zip(call.args[1:], call.extra))}


def _calls(analysis: "Analysis") -> Iterator[Call]:
    for callee, given in _given(analysis.module, analysis.constraints.births.calls):
        devices = {one: node for one, node in given.items() if _is_device(node, analysis.kinds)}
        if devices:
            placed = {one: at for one, node in given.items() if (at := _placed(analysis, node, devices)) is not None}
            wrapped = frozenset(one for one, node in given.items() if _is_wrapped(node))
            yield Call(callee, placed, wrapped)


def _is_device(node: Node, kinds: Kinds) -> bool:
    place = place_of(node, kinds)
    return place is not None and place.where is Where.DEVICE


def _placed(analysis: "Analysis", node: Node, devices: Mapping[Argument, Node]) -> Argument | None:
    """Which of some devices a value was moved to."""
    root = resolved(node)
    for source in analysis.graph.sources.get(root, ()):
        if source.birth is Birth.MOVE and source.place.where is Where.DEVICE and source.place.node is not None:
            same = (one for one, device in devices.items() if resolved(device) is resolved(source.place.node))
            return next(same, None)
    return None


def _is_wrapped(node: Node) -> bool:
    """`Ahead(loader)`"""
    if node.op is not Op.CALL or node.args[0].op not in {Op.REF, Op.GLOBAL}:
        return False
    made = name(node.args[0]) or ""
    return effect(canonical(made)) is None and kind(made) is None
