"""Tensors that a class keeps on the host, taken in one branch where another makes its own on a device."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, is_carried_along, own_attribute
from devfix_codemods.rules._buffers import is_tensor
from devfix_codemods.rules._one_branch import asks_for_place
from devfix_codemods.rules._tensor_words import PLACES

_TAKEN = re.compile(rb"(?:= |else |return |\()self\.\w+[ \t]*(?:[#)\n]| if )")
"""An attribute as it is, all of a value or one way of it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """`node` reads the attribute where `made` is made on `device`. `sure`: it never is anything but a tensor."""

    kept: Kept
    node: ast.Attribute
    made: ast.Call
    device: str
    sure: bool


def takes_beside_placed(data: bytes) -> bool:
    """Whether a branch of the file may take an attribute, and another give a device."""
    return b"device=" in data and (b"else:" in data or b" else " in data) and _TAKEN.search(data) is not None


def beside_placed(program: Program) -> Iterator[Beside]:
    """The attributes that one branch gives a name as they are, where the others give it what is made on one device."""
    for node in ast.walk(program.tree):
        if isinstance(node, ast.IfExp):
            yield from _of_ways(program, node, [node.body, node.orelse])
        elif isinstance(node, ast.If) and node.orelse and not _continues(program, node):
            given: dict[str, list[ast.expr]] = {}
            for name, value in _given(node):
                given.setdefault(name, []).append(value)
            for name, values in given.items():
                found = list(_of_ways(program, node, values))
                if found and not _is_moved_below(program, node, name):
                    yield from found


def _continues(program: Program, node: ast.If) -> bool:
    """`elif`: what stands above it is looked at together with it."""
    outer = program.names.parent(node)
    return isinstance(outer, ast.If) and outer.orelse == [node]


def _given(branch: ast.If) -> Iterator[tuple[str, ast.expr]]:
    """What the last statements of all branches, and of those in them, give plain names."""
    for block in (branch.body, branch.orelse):
        for last in block[-1:]:
            match last:
                case ast.If():
                    yield from _given(last)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield name, value


def _of_ways(program: Program, branch: ast.If | ast.IfExp, ways: list[ast.expr]) -> Iterator[Beside]:
    """The attributes among the values that a name has by one branch or another."""
    held = [one for one in ways if isinstance(one, ast.Attribute) and own_attribute(one) is not None]
    placed = [(one, device) for one in ways if (device := _device(program, one)) is not None] if held else []
    devices = {device for _, device in placed}
    if len(devices) != 1 or len(placed) + len(held) < len(ways) or _asks(program, branch):
        return
    (device,) = devices
    for one in held:
        owner, name = scope.class_around(program, one), own_attribute(one)
        known = device.partition(".")[0] in scope.bound_at(program, program.names.statement(one))
        kept = Kept(owner, name) if owner is not None and name is not None and known else None
        values = [value for value in _values(program, kept) if not _is_constant(value)] if kept is not None else []
        made = [_is_made_on_host(program, value) for value in values]
        if kept is None or not any(made) or _may_be_missing(program, kept, branch) or is_carried_along(program, kept):
            continue
        call = next(value for value, _ in placed if isinstance(value, ast.Call))
        yield Beside(kept, one, call, device, all(made))


def _device(program: Program, value: ast.expr) -> str | None:
    """`self.device` of `torch.ones(3, device=self.device)`."""
    if not isinstance(value, ast.Call) or tables.canonical(program.names.qualified(value.func) or "") not in _FACTORIES:
        return None
    told = [one.value for one in value.keywords if one.arg == "device"]
    return dotted(told[0]) if told else None


_FACTORIES = tables.FACTORIES | tables.LIKE_FACTORIES


def _asks(program: Program, branch: ast.If | ast.IfExp) -> bool:
    """Whether one of the conditions is about the place, or the function is a constructor, where all is on the host."""
    function = scope.function_around(program, branch)
    inner = (one for one in ast.walk(branch) if isinstance(one, (ast.If, ast.IfExp)))
    return function is None or function.name == "__init__" or any(asks_for_place(one.test) for one in inner)


def _values(program: Program, kept: Kept) -> list[ast.expr | None]:
    """What the statements give that set the attribute; None for those that only change it."""
    given = assignments(program, kept)
    return [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in given]


def _is_made_on_host(program: Program, value: ast.expr | None) -> bool:
    return value is not None and is_tensor(program, value) and not PLACES.search(ast.unparse(value))


def _is_constant(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant)


def _may_be_missing(program: Program, kept: Kept, branch: ast.If | ast.IfExp) -> bool:
    """Whether the attribute may be None or a number where it is taken: no condition asks for it."""
    if not any(map(_is_constant, _values(program, kept))):
        return False
    tests = [one.test for one in ast.walk(branch) if isinstance(one, (ast.If, ast.IfExp))]
    return not any(own_attribute(one) == kept.name for test in tests for one in ast.walk(test))


def _is_moved_below(program: Program, branch: ast.If, name: str) -> bool:
    function = scope.function_around(program, branch)
    return function is not None and any(
        isinstance(one, ast.Attribute) and one.attr in {"to", "cuda", "type_as"} and dotted(one.value) == name
        for one in ast.walk(function)
    )
