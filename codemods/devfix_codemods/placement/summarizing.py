"""How the summary of an analysed file is made."""

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect, kind
from devfix_codemods.ir import Function, Guard, Module, Node, Op
from devfix_codemods.ir.guards import joined, literal
from devfix_codemods.ir.keys import key, name, resolved
from devfix_codemods.placement.calls import local_calls
from devfix_codemods.placement.graph import Birth, Source, Turn
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import Place, Where, place_of, sounds_like_device
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.summaries import (
    Argument,
    Call,
    Condition,
    Outline,
    Plain,
    Site,
    Summary,
    Wanted,
    qualified,
)
from devfix_codemods.placement.views import chain

if TYPE_CHECKING:
    from devfix_codemods.placement.analysis import Analysis

LEAST = 0.6
"""How sure it must be that a parameter belongs where another one says."""


def summarize(analysis: "Analysis", is_of_project: Callable[[str], bool]) -> Summary:
    """The summary of the file that has been analysed.

    `is_of_project` says of a qualified name whether a file of the project may define it: others ask for no more.
    """
    taking = (one for one in analysis.module.functions if takes_place(one, analysis.kinds))
    told = ((qualified(one), dict(_wanted(analysis, one))) for one in taking)
    return Summary({name: wanted for name, wanted in told if wanted}, tuple(_calls(analysis, is_of_project)))


def takes_device(function: Function) -> bool:
    return any(map(sounds_like_device, function.parameters))


def takes_place(function: Function, kinds: Kinds) -> bool:
    """Whether a function is given a device, or a module: then it matters where its callers have what they give."""
    given = (one for one in function.parameters.values() if one is not function.self_node)
    return takes_device(function) or any(
        kinds.says(one, Kind.DEVICE) or kinds.is_module(one) or kinds.is_trained(one) for one in given
    )


# Functions


def _wanted(analysis: "Analysis", function: Function) -> Iterator[tuple[str, Wanted]]:
    for parameter, node in function.parameters.items():
        if sounds_like_device(parameter) or analysis.file is None:
            continue
        if node is function.self_node and not _is_module(analysis, function):
            continue
        for site, beside, at, called in (*_called_with(analysis, node), *_met(analysis, node)):
            if isinstance(at.syntax, ast.expr):
                note = "it is called here" if called else "it meets others here"
                yield parameter, Wanted(site, beside, analysis.file.path, analysis.file.span(at.syntax), note, called)
                break


def _is_module(analysis: "Analysis", method: Function) -> bool:
    """Whether the object that a method is called on is a module."""
    return method.object_node is not None and method.owner in analysis.kinds.module_classes


_Found = tuple[Site | None, str | None, Node, bool]
"""Where a parameter belongs, or beside which other one, what says so, and whether it is called there."""


def _called_with(analysis: "Analysis", parameter: Node) -> Iterator[_Found]:
    """The devices of what a parameter is called with: if it is a module, it belongs there."""
    moves = analysis.births.moves
    for call in parameter.function.nodes:
        for one in call.args[1:] if call.op is Op.CALL and call.args[0] is parameter else ():
            place = next((moves[shown] for shown in chain(one) if shown in moves), None)
            device = _parameter(place.node, parameter.function) if place is not None and place.node else None
            if device is None or place is None or not one.guard <= call.guard:
                continue
            if place.where is Where.DEVICE:
                yield Site(device, None, frozenset()), None, call, True
            elif device != parameter.extra:
                yield None, device, call, True


def _met(analysis: "Analysis", parameter: Node) -> Iterator[_Found]:
    """The device of what a parameter surely meets, or another parameter that it meets."""
    found = analysis.ends(Source(parameter, Place(Where.CALLER), Birth.PARAMETER, ("certain",)))
    near = [one for one in found if one.end.birth is not Birth.COPIED]  # that was on a device; only readers believe it
    open_ = {Where.CALLER, Where.MODULE} if parameter is parameter.function.self_node else {Where.CALLER}
    placed = next((one for one in near if one.end.place.where not in open_), None)
    beside = (one for one in near if one.end.node.op is Op.PARAM and one.end.node.function is parameter.function)
    for one in (*filter(None, (placed,)), *beside):
        at = one.meeting.node if one.meeting is not None else None
        if at is None or one.together < LEAST or one.is_supported:
            continue
        first = one.path[0].node
        called = first.op is Op.CALL and first.args[0] is parameter
        if one is not placed and one.guard <= at.guard:
            yield None, str(one.end.node.extra), at, called
        elif one is placed and one.end.place.where is Where.DEVICE:
            site = _site(analysis, one, at.guard, parameter.function)
            if site is not None:
                yield site, None, at, called


def _site(analysis: "Analysis", found: Conflict, here: Guard, function: Function) -> Site | None:
    """Where something is that a function meets, in words of what the function is given."""
    given = {key(node): str(node.extra) for node in function.parameters.values()}
    when = _condition(analysis, found, here, given)
    device = found.end.place.node
    if when is None:
        return None
    if device is not None and (named := _parameter(device, function)) is not None:
        return Site(named, None, when)
    return _spelled_out(device, when)


def _condition(
    analysis: "Analysis", found: Conflict, here: Guard, given: Mapping[Hashable, Argument]
) -> Condition | None:
    """Under which condition, beyond that of a place in the program, something is moved; None where others cannot say
    it."""
    literals = joined(joined(found.guard, found.end.guard), _inside(analysis, found.end.node)) - here
    named = {(given.get(atom, atom), holds) for atom, holds in literals}
    known = all(atom in given or _is_portable(atom) for atom, _ in literals)
    return frozenset(named) if known else None


def _inside(analysis: "Analysis", end: Node) -> Guard:
    """Under which tests, that mean the same everywhere, a function of the file moves what it is given."""
    called = analysis.births.calls.get(end)
    moves = [value for value, _ in called.returns if analysis.births.is_move(value)] if called is not None else []
    guards = [frozenset((atom, holds) for atom, holds in one.guard if _is_portable(atom)) for one in moves]
    return guards[0].intersection(*guards) if guards else frozenset()


def _is_portable(atom: Hashable) -> bool:
    """Whether a test means the same in every file: `torch.cuda.is_available()`."""
    if not isinstance(atom, tuple):
        return False
    if atom[0] == "REF":
        return str(atom[1]).startswith("torch.")
    return atom[0] == "const" or (atom[0] == "call" and all(map(_is_portable, atom[1:])))


def _spelled_out(device: Node | None, when: Condition) -> Site | None:
    """A device that stands in the text: `"cuda"`, `0`, `torch.device("cuda")`, or CUDA itself."""
    if device is None:
        return Site(None, "cuda", when)
    device = resolved(device)
    if device.op is Op.CALL and name(device.args[0]) == "torch.device" and len(device.args) == 2:
        device = device.args[1]
    return Site(None, device.extra, when) if device.op is Op.CONST and isinstance(device.extra, (str, int)) else None


def _parameter(device: Node, function: Function) -> str | None:
    """The parameter of a function that a device comes from, directly or by an attribute of its object."""
    if device.op is Op.PARAM:
        return str(device.extra) if device.function is function else None
    if device.op in {Op.ATTR, Op.FIELD}:
        stored = (one.value for one in function.stores if one.is_attribute and one.key == device.extra)
        return next((str(one.extra) for one in stored if one.op is Op.PARAM and one.function is function), None)
    return None


# Calls


def outline(module: Module) -> Outline:
    """What the kinds of its values tell of a file. The files that it imports are not asked, as in its summary."""
    calls = local_calls(module)
    kinds = Kinds(module, calls)
    placing = frozenset(qualified(one) for one in module.functions if takes_place(one, kinds))
    plain = [
        Plain(callee, frozenset(one for one, node in given.items() if _is_plain(node, kinds)))
        for callee, given in _given(module, calls)
    ]
    return Outline(placing, tuple(one for one in plain if one.arguments))


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


def _calls(analysis: "Analysis", is_of_project: Callable[[str], bool]) -> Iterator[Call]:
    for callee, given in _given(analysis.module, analysis.calls):
        if not is_of_project(callee):
            continue
        placed = {one: site for one, node in given.items() if (site := _placed(analysis, node, given)) is not None}
        wrapped = frozenset(one for one, node in given.items() if _is_wrapped(node))
        if placed or any(_is_device(node, analysis.kinds) for node in given.values()):
            yield Call(callee, placed, wrapped)


def _is_device(node: Node, kinds: Kinds) -> bool:
    place = place_of(node, kinds)
    return place is not None and place.where is Where.DEVICE


def _placed(analysis: "Analysis", node: Node, given: Mapping[Argument, Node]) -> Site | None:
    """Where a value was moved that a call gets, in words of what else the call gets."""
    if analysis.kinds.of(node) not in {Kind.MODULE, Kind.TENSOR, None}:
        return None
    for source in analysis.graph.sources.get(resolved(node), ()):
        if source.birth is Birth.MOVE and source.place.where is Where.DEVICE:
            return _named(source.place.node, frozenset(), given)
    moved = analysis.itself(Source(resolved(node), Place(Where.CALLER), Birth.PARAMETER, ("certain",)))
    if moved is None or moved.end.birth is not Birth.MOVE or moved.end.place.where is not Where.DEVICE:
        return None
    flags = {literal(one)[0]: at for at, one in given.items() if one.op is not Op.CONST}
    when = _condition(analysis, moved, node.guard, flags)
    chosen = any(step.edge.turn is Turn.DOWN for step in moved.path)  # of several, by a test or otherwise
    return _named(moved.end.place.node, when, given) if when or (when is not None and not chosen) else None


def _named(device: Node | None, when: Condition, given: Mapping[Argument, Node]) -> Site:
    """A device that a call gets as well, one that is spelled out, or one of which only the caller knows."""
    same = (at for at, one in given.items() if device is not None and resolved(one) is resolved(device))
    at = next(same, None)
    return Site(at, None, when) if at is not None else _spelled_out(device, when) or Site(None, None, when)


def _is_wrapped(node: Node) -> bool:
    """`Ahead(loader)`"""
    if node.op is not Op.CALL or node.args[0].op not in {Op.REF, Op.GLOBAL}:
        return False
    made = name(node.args[0]) or ""
    return effect(canonical(made)) is None and kind(made) is None
