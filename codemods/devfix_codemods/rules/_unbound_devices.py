"""Devices that a function reads under a name which nothing binds: a NameError, wherever its tensors are."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.program import Program
from devfix_codemods.rules._device_values import sounds_like_device
from devfix_codemods.rules._devices import Devices

_BOUND_UNSEEN = (b"exec(", b"globals(", b"builtins", b"get_ipython")
"""What may bind a name at the top level without an assignment."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """The reads of one name in one function, and the device that all of them can name instead."""

    reads: tuple[ast.Name | ast.Attribute, ...]
    device: str | None
    edits: tuple[Edit, ...]


def unbound_devices(program: Program) -> Iterator[Unbound]:
    """The devices that calls of a function are given under a name that is bound nowhere."""
    if program.names.starred or any(one in program.source.data for one in _BOUND_UNSEEN):
        return
    found: dict[tuple[scope.Function, str], list[ast.Name]] = {}
    for call in program.names.calls:
        for node in _devices_given(call):
            function = scope.function_around(program, node) if _is_unbound(program, node) else None
            if function is not None:
                found.setdefault((function, node.id), []).append(node)
    for reads in found.values():
        yield _unbound(program, sorted(reads, key=lambda one: (one.lineno, one.col_offset)))


def _devices_given(call: ast.Call) -> Iterator[ast.Name]:
    """The plain names in `device=…` and `x.to(…)`."""
    given = [one.value for one in call.keywords if one.arg == "device"]
    given += call.args[:1] if isinstance(call.func, ast.Attribute) and call.func.attr == "to" else []
    yield from (one for one in given if isinstance(one, ast.Name) and sounds_like_device(one.id))


def _is_unbound(program: Program, node: ast.Name) -> bool:
    return not program.names.is_bound(node) and not hasattr(builtins, node.id)


def _unbound(program: Program, reads: list[ast.Name]) -> Unbound:
    devices = Devices(program)
    known = [known_at(program, devices, one) for one in reads]
    device = next((one for one in known[0] if all(one in each for each in known)), None)
    spans = [program.source.span(one) for one in reads]
    edits = tuple(ReplaceExpression(span, device) for span in spans) if device is not None else ()
    return Unbound(tuple(reads), device, edits)


def known_at(program: Program, devices: Devices, node: ast.expr) -> list[str]:
    """What names a device where another is read: expressions for one first, then the tensors that are given."""
    statement, function = program.names.statement(node), scope.function_around(program, node)
    named = [one.text for one in devices.at(statement) if not one.optional]
    given = _tensors_by_use(program, function) if function is not None else []
    return list(dict.fromkeys([*named, *devices.of_values(statement), *(f"{one}.device" for one in given)]))


def _tensors_by_use(program: Program, function: scope.Function) -> list[str]:
    """The parameters that are asked for their device; else, those that have a shape, where arrays of numpy are none."""
    evidence = program.unit.evidence[function]
    others = {"self", *evidence.stores, *evidence.modules}
    given = [one for one in scope.parameters(function) if one not in others]
    placed = [one for one in given if one in evidence.placed]
    if placed or b"numpy" in program.source.data:
        return placed
    return [one for one in given if one in evidence.shaped]
