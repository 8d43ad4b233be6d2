"""Comparisons of a `torch.device` with a string, which never hold: `x.device == "cuda"`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices

_GIVE_DEVICES = frozenset(
    {"ignite.distributed.device", "ignite.distributed.utils.device", "torch.get_default_device", "torch.device"}
)
"""Functions that return a `torch.device`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`device` is a `torch.device` for certain, `text` the constant string beside it."""

    node: ast.Compare
    device: ast.expr
    text: str

    def edit(self, program: Program) -> Edit:
        """Compare the type, or with an index the text."""
        code = "str(__node__)" if ":" in self.text else "__node__.type"
        return ReplaceExpression(program.source.span(self.device), code)


def comparisons(program: Program, devices: Devices, inside: ast.AST) -> Iterator[Comparison]:
    """The comparisons inside an expression or a statement that can never hold."""
    for node in ast.walk(inside):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = (node.left, node.comparators[0])
        for device, other in (sides, sides[::-1]):
            if (
                isinstance(other, ast.Constant)
                and isinstance(other.value, str)
                and _is_device(program, devices, device)
            ):
                yield Comparison(node, device, other.value)


def _is_device(program: Program, devices: Devices, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and program.names.qualified(node.func) in _GIVE_DEVICES:
        return True
    return devices.is_torch_device(node)


def chain(program: Program, node: ast.Compare) -> Edit | None:
    """`a.device == b.device == "cuda"` as `a.device == b.device and a.is_cuda`."""
    first = node.left
    if (
        len(node.ops) < 2
        or not all(isinstance(one, ast.Eq) for one in node.ops)
        or not isinstance(first, ast.Attribute)
    ):
        return None
    devices = [program.source.segment(program.source.span(one)) for one in (first, *node.comparators[:-1])]
    code = f"{' == '.join(devices)} and {program.source.segment(program.source.span(first.value))}.is_cuda"
    return ReplaceExpression(program.source.span(node), code) if "\n" not in code else None


def _alternatives(node: ast.expr | None) -> list[object]:
    """The constants that a conditional expression gives; None for anything else."""
    if isinstance(node, ast.IfExp):
        return [*_alternatives(node.body), *_alternatives(node.orelse)]
    return [node.value if isinstance(node, ast.Constant) else None]
