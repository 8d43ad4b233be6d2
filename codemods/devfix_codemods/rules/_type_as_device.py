"""`x.to(y.device.type)`: the type of a device names no card, so `x` goes to the current one."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import FACTORIES
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices

_GIVEN = re.compile(rb"(?:\.to\(|device\s*=)\s*[\w.]*device\.type\s*[,)]")
_MAKERS = FACTORIES | {"torch.Generator"}
_ONE_CARD = (b"set_device(", b"DTensor", b"device_mesh", b"DeviceMesh")
"""What makes the current card that of the process."""


def gives_types(data: bytes) -> bool:
    """The type of a device is given where a device is wanted."""
    return _GIVEN.search(data) is not None and not any(one in data for one in _ONE_CARD)


def types_as_devices(program: Program) -> Iterator[ast.Attribute]:
    """`y.device.type` as the device of a move, or of a tensor that is made."""
    if not gives_types(program.source.data):
        return
    devices = Devices(program)
    for call in program.names.calls:
        for given in _places(program, call):
            if isinstance(given, ast.Attribute) and given.attr == "type" and _is_device(devices, given.value):
                yield given


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
