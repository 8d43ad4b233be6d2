"""`x.to(y.device.type)`: the type of a device names no card, so `x` goes to the current one."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import FACTORIES
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices

_GIVEN = re.compile(rb"(?:\.to\(|device\s*=)\s*[\w.]*device\.type\s*[,)]")
_NAMED = re.compile(rb"device\w*\s*=\s*[^\n#]*\.device\.type[ \t)]*(?:\r?\n|#|$)")
_MAKERS = FACTORIES | {"torch.Generator"}
_ONE_CARD = (b"set_device(", b"DTensor", b"device_mesh", b"DeviceMesh")
"""What makes the current card that of the process."""


def gives_types(data: bytes) -> bool:
    """The type of a device is given where a device is wanted."""
    found = _GIVEN.search(data) is not None or _NAMED.search(data) is not None
    return found and not any(one in data for one in _ONE_CARD)


def types_as_devices(program: Program) -> Iterator[ast.Attribute]:
    """`y.device.type` as the device of a move, or of a tensor that is made."""
    if not gives_types(program.source.data):
        return
    devices = Devices(program)
    for call in program.names.calls:
        for given in _places(program, call):
            if isinstance(given, ast.Attribute) and given.attr == "type" and _is_device(devices, given.value):
                yield given


def names_of_types(program: Program) -> Iterator[tuple[ast.Attribute, bool]]:
    """`device = y.device.type`, given as a device and used for nothing else; whether torch alone gets it."""
    if not gives_types(program.source.data):
        return
    for node in ast.walk(program.tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Attribute(attr="type", value=ast.Attribute(attr="device")) as given,
            ):
                function = scope.function_around(program, node)
                uses = list(_uses(program, function, name)) if function is not None else []
                if uses and None not in uses:
                    yield given, all(uses)


def _uses(program: Program, function: scope.Function, name: str) -> Iterator[bool | None]:
    """For each read of a name whether it is the device of torch's own, or of some function; None for another use."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        keyword = program.names.parent(node)
        call = program.names.parent(keyword) if isinstance(keyword, ast.keyword) else keyword
        if isinstance(call, ast.Call) and node in _places(program, call):
            yield True
        else:
            yield False if isinstance(keyword, ast.keyword) and keyword.arg == "device" else None


def _places(program: Program, call: ast.Call) -> Iterator[ast.expr]:
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    if moves and call.args:
        yield call.args[0]
    if moves or program.names.qualified(call.func) in _MAKERS:
        yield from (one.value for one in call.keywords if one.arg == "device")


def _is_device(devices: Devices, node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "device" and dotted(node) is not None) or (
        devices.is_torch_device(node)
    )
