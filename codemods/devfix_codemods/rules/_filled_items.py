"""Mappings of which some items are moved and one, made by the same call, is left behind. By syntax alone."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import given_to, walk
from devfix_codemods.program import Program
from devfix_codemods.rules._one_branch import Forgotten

_COLLATED = re.compile(rb"\b(?:pad_sequence|stack)\(")
_PUT = re.compile(rb"\w\[[^\]\n]+\] = (?:[\w.]*\.)?(?:pad_sequence|stack)\(")
_COLLATES = frozenset({"torch.nn.utils.rnn.pad_sequence", "torch.stack"})


def fills_mappings(data: bytes) -> bool:
    """Whether sequences are collated into the items of something."""
    return _PUT.search(data) is not None and len(_COLLATED.findall(data)) > 1


def forgotten_items(program: Program) -> Iterator[Forgotten]:
    """`x = {"ids": pad_sequence(a)}; x["mask"] = pad_sequence(b).to(device); model(**x)`."""
    for function in (one for one in walk(program.tree) if isinstance(one, scope.Function)):
        held: dict[str, list[ast.expr]] = {}
        for name, value in _items(function):
            held.setdefault(name, []).append(value)
        for name, values in held.items():
            moves = [(one, device) for one in values if (device := _device(program, one)) is not None]
            devices = {device for _, device in moves}
            if len(devices) != 1 or not _is_handed_on(function, name) or _is_moved(function, name):
                continue
            for one in values:
                yield from _left(program, name, one, moves[0][0], devices)


def _items(function: scope.Function) -> Iterator[tuple[str, ast.expr]]:
    """What a function puts into each mapping, with the name of that."""
    for one in walk(function):
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(values=values)):
                yield from ((name, value) for value in values)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
                yield name, value


def _device(program: Program, value: ast.expr) -> str | None:
    """`device` of `pad_sequence(…).to(device)`."""
    match value:
        case ast.Call(func=ast.Attribute(value=made, attr="to"), args=[device], keywords=[]) if _collates(
            program, made
        ):
            text = dotted(device)
            return text if text is not None and text.endswith("device") else None
    return None


def _collates(program: Program, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and program.names.qualified(node.func) in _COLLATES


def _left(program: Program, name: str, value: ast.expr, move: ast.expr, devices: set[str]) -> Iterator[Forgotten]:
    """The item, made as the moved one is, where the device is known."""
    (device,) = devices
    made = move.func.value if isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute) else None
    if not isinstance(value, ast.Call) or not isinstance(made, ast.Call) or not isinstance(move, ast.Call):
        return
    alike = program.names.qualified(value.func) == program.names.qualified(made.func)
    bound = {*scope.bound_at(program, program.names.statement(value)), "self"}
    if alike and _shape(value) == _shape(made) and device.partition(".")[0] in bound:
        edit = ReplaceExpression(program.source.span(value), f"__node__.to({device})")
        yield Forgotten(f"{name}[…]", device, value, move, (edit,), ("for one item", "for this one"))


def _shape(call: ast.Call) -> str:
    """What a call is given, whatever it is called: a list of things, a name."""
    return " ".join(type(one).__name__ for one in call.args)


def _is_handed_on(function: scope.Function, name: str) -> bool:
    """`model(**x)`, `self.run(x)`."""
    calls = (one for one in walk(function) if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Name) and one.id == name for call in calls for one in given_to(call))


def _is_moved(function: scope.Function, name: str) -> bool:
    """Whether the function moves the mapping, goes over what it holds, or makes another one of it."""
    for one in walk(function):
        if (
            isinstance(one, ast.Attribute)
            and one.attr in {"to", "items", "values", "cuda"}
            and dotted(one.value) == name
        ):
            return True
    return len(list(scope.changes(function, name))) > 1
